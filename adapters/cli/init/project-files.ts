import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { causeySpec, isFromRegistry } from "./causey-spec.ts";
import type { Kind } from "./kinds.ts";
import { type PackageManifest, manifestOf } from "./package-manifest.ts";
import { projectReadme } from "./project-readme.ts";

export interface ProjectFile {
  readonly path: string;
  readonly text: string;
  readonly isSecret: boolean;
}

export interface NewProject {
  readonly kind: Kind;
  readonly folder: string;
  /** The folder of this package. */
  readonly root: string;
  /** The version, tarball or address that the project installs causey from. @default as this command was installed */
  readonly causey: string | undefined;
}

/** Returns the files of a project, and the command that installs its packages. */
export function projectFiles(project: NewProject): {
  readonly files: readonly ProjectFile[];
  readonly install: string;
} {
  const { kind, folder, root } = project;
  const own = manifestOf(root);
  const causey = project.causey ?? causeySpec(root, own.version ?? "");
  // Deno installs from registries; npm puts everything else where Deno finds it.
  const isForNpm = kind.runtime === "Deno" && !isFromRegistry(causey);
  const install = isForNpm ? "npm install" : kind.install;
  const name = packageName(folder);
  const manifest = projectManifest({ ...project, causey }, name, own);
  const copied = copiedFiles(join(root, "examples", kind.example));
  const paths = copied.map(({ path }) => path);
  const isDemo = kind.isDemo === true;
  return {
    install,
    files: [
      ...copied,
      file("package.json", json(manifest)),
      file(".gitignore", "node_modules\n.causey\n.env\n.dev.vars\n.wrangler\n"),
      ...(isDemo
        ? [
            file("tsconfig.json", json(projectTsconfig(kind))),
            file("README.md", projectReadme(name, { ...kind, install }, paths)),
          ]
        : []),
      ...(kind.runtime === "Deno" ? [file("deno.json", json(DENO))] : []),
      ...secretFiles(kind),
    ],
  };
}

/** The token and the secret, for the program, and for the commands of the guide. */
function secretFiles({ secrets, isDemo, variables = () => [] }: Kind): ProjectFile[] {
  const token = `causey_${randomBytes(30).toString("base64url")}`;
  const secret = randomBytes(30).toString("base64url");
  const demo = isDemo === true ? [`WEBHOOK_SECRET=${secret}`] : [];
  const lines = [`CAUSEY_TOKEN=${token}`, ...demo, ...variables()];
  const text = lines.map((line) => `${line}\n`).join("");
  const stored = [
    { path: ".causey/token", text: `${token}\n`, isSecret: true },
    { path: ".causey/demo-webhook-secret", text: `${secret}\n`, isSecret: true },
  ];
  return [{ path: secrets, text, isSecret: true }, ...(isDemo === true ? stored : [])];
}

/** The folder of npm's packages is what `deno install` fills; signals of requests end with the answer, as elsewhere. */
const DENO = { nodeModulesDir: "manual", unstable: ["no-legacy-abort"] };

function copiedFiles(example: string): ProjectFile[] {
  return readdirSync(example, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(example, path)).isFile())
    .map((path) => file(path.replaceAll("\\", "/"), readFileSync(join(example, path), "utf8")));
}

function file(path: string, text: string): ProjectFile {
  return { path, text, isSecret: false };
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Returns a name for the project that npm accepts. */
function packageName(folder: string): string {
  return (
    basename(resolve(folder))
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/gu, "-")
      .replaceAll(/^-+|-+$/gu, "") || "causey-app"
  );
}

function projectTsconfig({ types = [], module = "preserve", runtime }: Kind): object {
  return {
    compilerOptions: {
      target: "es2024",
      // Deno's own types build on those of a browser.
      lib: runtime === "Deno" ? ["es2024", "dom", "dom.iterable"] : ["es2024"],
      module,
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      skipLibCheck: true,
      types: types.map((name) => name.replace("@types/", "")),
    },
    include: ["*.ts"],
  };
}

function projectManifest(
  { kind, root, causey }: NewProject,
  name: string,
  { devDependencies: known = {}, peerDependencies: peers = {}, engines }: PackageManifest,
): object {
  const { isDemo, runtime, scripts, types = [] } = kind;
  const isWorker = runtime === "Cloudflare Workers";
  const wrangler = isWorker ? manifestOf(join(root, "examples/workers")).devDependencies : {};
  const tools = Object.fromEntries(["typescript", ...types].map((one) => [one, known[one]]));
  const browser = "@sparticuz/chromium";
  return {
    name,
    private: true,
    type: "module",
    scripts,
    dependencies: { causey, hono: peers["hono"] },
    // A browser for the pages, on Linux; elsewhere the Chrome or Chromium of the system is found.
    ...(isDemo === true && !isWorker
      ? { optionalDependencies: { [browser]: peers[browser] } }
      : {}),
    ...(isDemo === true ? { devDependencies: { ...tools, ...wrangler } } : {}),
    ...(["Deno", "Bun"].includes(runtime) ? {} : { engines }),
  };
}
