import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import * as v from "valibot";
import { newKey } from "../../../core/auth/token-format.ts";
import { choiceHint } from "../../../core/text/nearest.ts";
import { commandFailure, readOptions } from "../context/command-options.ts";
import { projectRoot } from "../serve/demo.ts";

const help = `Usage: causey init [node|deno|bun|workers|hono|gateway] [FOLDER] [options]

Writes a small project that serves the platform on a runtime [node] into a new folder [causey-app]. "hono" is one
capability inside a Hono app with routes of its own, on Node. "gateway" is a configuration file: OpenAI, Anthropic and
Ollama behind one address, with a budget for each of two teams. A fresh API token stands in the project's .env (on Workers
.dev.vars), which its .gitignore leaves out.

  --causey SPEC      Where the project has causey from: a version, a tarball's path … [the version of this command]
  --json             JSON, one object
`;

/** A kind of project: the example that it starts as, how it is started, and where its token stands. */
interface Kind {
  readonly example: string;
  readonly scripts: Readonly<Record<string, string>>;
  readonly install: string;
  readonly start: string;
  /** Null where nothing asks for a token. */
  readonly secrets: string | null;
  /** Further lines beside the token. @default none */
  readonly variables?: () => readonly string[];
}

const ON_NODE = { install: "npm install", start: "npm start" } as const;

const kinds: Readonly<Record<string, Kind>> = {
  node: {
    example: "node",
    scripts: { start: "node --env-file=.env server.ts" },
    ...ON_NODE,
    secrets: ".env",
  },
  deno: {
    example: "deno",
    scripts: { start: "deno serve -A --env-file=.env --host 127.0.0.1 --port 8787 main.ts" },
    install: "deno install",
    start: "deno task start",
    secrets: ".env",
  },
  bun: {
    example: "bun",
    scripts: { start: "bun server.ts" },
    install: "bun install",
    start: "bun start",
    secrets: ".env",
  },
  workers: {
    example: "workers",
    scripts: { start: "wrangler dev", deploy: "wrangler deploy" },
    ...ON_NODE,
    secrets: ".dev.vars",
  },
  gateway: {
    example: "gateway",
    scripts: {
      start: "node --env-file=.env node_modules/causey/dist/cli/main.js --config causey.json",
    },
    ...ON_NODE,
    secrets: ".env",
    variables: () => [
      "OPENAI_API_KEY=your-key-of-openai",
      "ANTHROPIC_API_KEY=your-key-of-anthropic",
      ...["ANN_KEY", "BOB_KEY"].map((name) => `${name}=${newKey((length) => randomBytes(length))}`),
    ],
  },
  hono: { example: "embed", scripts: { start: "node server.ts" }, ...ON_NODE, secrets: null },
};

/** The fields read from this package's manifest and from the example's. */
const manifestSchema = v.object({
  version: v.optional(v.string()),
  engines: v.optional(v.record(v.string(), v.string())),
  peerDependencies: v.optional(v.record(v.string(), v.string())),
  devDependencies: v.optional(v.record(v.string(), v.string())),
});

type Manifest = v.InferOutput<typeof manifestSchema>;

/** Runs `causey init`. */
export function initCommand(args: readonly string[]): void {
  const { values, positionals } = readOptions(args, {
    causey: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) return void process.stdout.write(help);
  const [name = "node", folder = "causey-app", ...more] = positionals;
  const kind = Object.entries(kinds).find(([one]) => one === name)?.[1];
  const names = Object.keys(kinds);
  if (kind === undefined)
    throw new TypeError(`Unknown kind of project "${name}"${choiceHint(name, names)}`);
  if (more.length > 0) throw new TypeError(`causey init takes one folder, got "${more[0]}" too`);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw commandFailure(`"${folder}" is not empty`, "Name another folder: nothing is overwritten");
  const files = filesOf(kind, folder, values.causey);
  mkdirSync(folder, { recursive: true });
  for (const { path, text, isSecret } of files)
    writeFileSync(join(folder, path), text, { flag: "wx", mode: isSecret ? 0o600 : 0o644 });
  const next = [`cd ${folder}`, kind.install, kind.start];
  const paths = files.map(({ path }) => path);
  process.stdout.write(
    values.json === true
      ? `${JSON.stringify({ folder, kind: name, files: paths, next })}\n`
      : `Wrote ${paths.join(", ")} to ${folder}. Next:\n\n${next.map((line) => `  ${line}\n`).join("")}`,
  );
}

interface ProjectFile {
  readonly path: string;
  readonly text: string;
  readonly isSecret: boolean;
}

function filesOf(kind: Kind, folder: string, causey: string | undefined): ProjectFile[] {
  const root = projectRoot(dirname(fileURLToPath(import.meta.url)));
  const example = join(root, "examples", kind.example);
  const own = manifestOf(root);
  const names = readdirSync(example);
  // In a folder whose program is server.ts, main.ts only checks whether a clone is built.
  const left = ["package.json", "node_modules", names.includes("server.ts") ? "main.ts" : ""];
  const others = names.filter((name) => !left.includes(name));
  const file = (path: string, text: string, isSecret = false): ProjectFile => ({
    path,
    text,
    isSecret,
  });
  const token = `causey_${randomBytes(30).toString("base64url")}`;
  const { variables = () => [] } = kind;
  const lines = [`CAUSEY_TOKEN=${token}`, ...variables()].map((line) => `${line}\n`).join("");
  const kept = ["node_modules", ".causey", ".env", ".dev.vars", ".wrangler"];
  return [
    ...others.map((name) => file(name, ofOwnProject(readFileSync(join(example, name), "utf8")))),
    file(
      "package.json",
      `${JSON.stringify(projectManifest(kind, { folder, own, example, causey }), null, 2)}\n`,
    ),
    file(".gitignore", `${kept.join("\n")}\n`),
    ...(kind.secrets === null ? [] : [file(kind.secrets, lines, true)]),
  ];
}

/** Returns an example without its first line, which says how it runs in a clone. */
function ofOwnProject(text: string): string {
  return text.replace(/^\/\/ (?:node|deno|bun|npm) .*\n/u, "");
}

interface NewProject {
  readonly folder: string;
  readonly own: Manifest;
  readonly example: string;
  readonly causey: string | undefined;
}

function projectManifest(
  { scripts, example: kind }: Kind,
  { folder, own, example, causey }: NewProject,
): object {
  const { version = "", engines, peerDependencies = {} } = own;
  const tools = kind === "workers" ? manifestOf(example).devDependencies : undefined;
  return {
    // A name that npm accepts.
    name:
      basename(resolve(folder))
        .toLowerCase()
        .replaceAll(/[^a-z0-9-]+/gu, "-")
        .replaceAll(/^-+|-+$/gu, "") || "causey-app",
    private: true,
    type: "module",
    scripts,
    dependencies: { causey: causey ?? `^${version}`, hono: peerDependencies["hono"] },
    ...(tools === undefined ? {} : { devDependencies: tools }),
    ...(["deno", "bun"].includes(kind) ? {} : { engines }),
  };
}

function manifestOf(folder: string): Manifest {
  return v.parse(manifestSchema, JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
}
