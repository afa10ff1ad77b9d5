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

Writes a small project into a new folder [causey-app]: your own program, which serves the platform and the demo on a runtime
[node]. "hono" makes an app on Node with pages of its own, a help desk. "gateway" makes a configuration file: OpenAI,
Anthropic and Ollama behind one address, with a budget for each of two teams. The project's .env (on Workers .dev.vars) has a
new API token; its .gitignore leaves that file out.

  --causey SPEC      The causey package of the project: a version, "file:" and a tarball's path …
                     [the package of this command]
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
