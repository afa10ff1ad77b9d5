import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { choiceHint } from "../../../core/text/nearest.ts";
import { commandFailure, readOptions } from "../context/command-options.ts";
import { projectRoot } from "../serve/demo.ts";
import { kinds } from "./kinds.ts";
import { projectFiles } from "./project-files.ts";

const help = `Usage: causey init [node|deno|bun|workers|hono|gateway] [FOLDER] [options]

Writes a small project that serves the platform on a runtime [node] into a new folder [causey-app]: what the demo has, in a
program of your own. "hono" is an app with pages of its own, on Node: a help desk. "gateway" is a configuration file: OpenAI,
Anthropic and Ollama behind one address, with a budget for each of two teams. A new API token is in the project's .env (on
Workers .dev.vars), which its .gitignore leaves out.

  --causey SPEC      Where the project gets causey from: a version, "file:" and a tarball's path …
                     [what this command was installed from]
  --json             JSON, one object
`;

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
  if (kind === undefined) {
    const hint = choiceHint(name, Object.keys(kinds));
    throw new TypeError(`Unknown kind of project "${name}"${hint}`);
  }
  if (more.length > 0) throw new TypeError(`causey init takes one folder, got "${more[0]}" too`);
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw commandFailure(`"${folder}" is not empty`, "Name another folder: nothing is overwritten");
  const root = projectRoot(dirname(fileURLToPath(import.meta.url)));
  const { files, install } = projectFiles({ kind, folder, root, causey: values.causey });
  for (const { path, text, isSecret } of files) {
    const parent = dirname(join(folder, path));
    mkdirSync(parent, { recursive: true, mode: path.startsWith(".causey/") ? 0o700 : 0o777 });
    writeFileSync(join(folder, path), text, { flag: "wx", mode: isSecret ? 0o600 : 0o644 });
  }
  const next = [`cd ${folder}`, install, kind.start];
  const paths = files.map(({ path }) => path);
  process.stdout.write(
    values.json === true
      ? `${JSON.stringify({ folder, kind: name, files: paths, next })}\n`
      : `Wrote ${paths.join(", ")} to ${folder}. Next:\n\n${next.map((line) => `  ${line}\n`).join("")}`,
  );
}
