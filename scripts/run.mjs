// The one entry of every npm script: `node scripts/run.mjs TASK [ARGUMENTS]`.
// It needs nothing but some Node >= 20 and npm: it installs what the task needs, by lockfile, when
// that is not there yet, and hands over to the pinned Node (or to the Deno or Bun of tools/).
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const windows = process.platform === "win32";
const inRoot = (...path) => join(root, ...path);

const node = inRoot("node_modules/node/bin", windows ? "node.exe" : "node");
const deno = inRoot("tools/node_modules/deno", windows ? "deno.exe" : "deno");
const bun = inRoot("tools/node_modules/bun/bin/bun.exe");
const vitest = "node_modules/vitest/vitest.mjs";
const cli = "adapters/cli/main.ts";

/** Part of what `causey serve` gives Node's V8 by itself (adapters/cli/v8-heap.ts): Deno takes it on the command line only. */
const denoHeap = "--v8-flags=--no-allocation-site-pretenuring,--max-semi-space-size=16";

const everything = [".", "tools", "tests/clients"];
/** Other releases of what the package meets. */
const releases = "tools/releases";

/** Task name -> the packages that it needs and the command that runs it, arguments appended. */
const tasks = {
  serve: { needs: ["."], command: [node, cli, "serve"] },
  "serve:deno": { needs: [".", "tools"], command: [deno, "run", "-A", denoHeap, cli, "serve"] },
  "serve:bun": { needs: [".", "tools"], command: [bun, cli, "serve"] },
  "serve:workers": { needs: ["."], command: [node, "scripts/serve-workers.mjs"] },
  ok: { needs: [...everything, releases], command: [node, "scripts/ok.ts"] },
  "test:node": { needs: ["."], command: [node, vitest, "run"] },
  "test:deno": { needs: [".", "tools"], command: [deno, "run", "-A", vitest, "run"] },
  "test:bun": { needs: [".", "tools"], command: [bun, "--bun", vitest, "run"] },
  "test:workers": {
    needs: ["."],
    command: [node, vitest, "run", "--config", "tests/config/vitest.workers.config.ts"],
  },
  "test:http": {
    needs: everything,
    command: [node, vitest, "run", "--config", "tests/config/vitest.http.config.ts"],
  },
  "test:package": {
    needs: [...everything, releases],
    command: [node, vitest, "run", "--config", "tests/config/vitest.package.config.ts"],
  },
  "check:sql": { needs: ["."], command: [node, "scripts/check-sql.ts"] },
  "test:mutants": { needs: ["."], command: [node, "scripts/mutants.ts"] },
  "test:soak": { needs: [".", "tools"], command: [node, "scripts/soak.ts"] },
  format: { needs: ["."], command: [node, "node_modules/oxfmt/bin/oxfmt"] },
  lint: { needs: ["."], command: [node, "node_modules/oxlint/bin/oxlint", "--type-aware"] },
  types: { needs: everything, command: [node, "scripts/types.ts"] },
  build: { needs: ["."], command: [node, "scripts/build.ts"] },
  bench: { needs: everything, command: [node, "bench/run.ts"] },
};

/**
 * Whether what is installed is what the lockfile says. npm writes its own lockfile into
 * node_modules as the last act of an install, so an interrupted one is seen, and an `npm install`
 * by hand is not repeated. Optional packages may be absent: they are other systems' binaries.
 */
function isInstalled(folder) {
  const installed = inRoot(folder, "node_modules/.package-lock.json");
  if (!existsSync(installed)) return false;
  const there = JSON.parse(readFileSync(installed, "utf8")).packages;
  const wanted = JSON.parse(readFileSync(inRoot(folder, "package-lock.json"), "utf8")).packages;
  return Object.entries(wanted).every(
    ([path, { version, optional }]) =>
      path === "" || there[path]?.version === version || (optional && there[path] === undefined),
  );
}

/**
 * Installs what the lockfile says and leaves it as it is. Not `npm ci`: that refuses a lockfile
 * without the binaries of every other system (a registry that lacks some writes such a one), and
 * removes node_modules under whatever is running from it.
 */
function install(folder) {
  const name = folder === "." ? "the project" : folder;
  process.stderr.write(`Installing the dependencies of ${name} (once) ...\n`);
  // The pinned Node and the runtimes are development dependencies: needed whatever NODE_ENV says.
  const options = ["--no-save", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stdout } = spawnSync("npm", ["install", ...options], {
    cwd: inRoot(folder),
    encoding: "utf8",
    shell: windows,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status === 0) return;
  process.stderr.write(`${stdout ?? ""}npm could not install ${name}; see above.\n`);
  process.exit(1);
}

/** Runs the command as if it were this process: its output, its exit code, its signals. */
function become(file, parameters) {
  if (process.execve !== undefined && !windows) {
    // Replaces this process, so there is nobody left to forward anything. Node calls it
    // experimental and would say so on every start.
    process.removeAllListeners("warning");
    process.execve(file, [file, ...parameters], process.env);
  }
  const child = spawn(file, parameters, { cwd: root, stdio: "inherit" });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
    // A terminal sends Ctrl-C to the child as well; twice would mean "at once" to a server that drains.
    process.on(signal, () => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on("error", (error) => {
    process.stderr.write(`Cannot run ${file}: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    process.exit(code ?? 128 + (constants.signals[signal] ?? 0));
  });
}

const [name, ...parameters] = process.argv.slice(2);
const task = tasks[name];
if (task === undefined) {
  process.stderr.write(`No such task: "${name ?? ""}". Tasks: ${Object.keys(tasks).join(", ")}\n`);
  process.exit(1);
}
for (const folder of task.needs) if (!isInstalled(folder)) install(folder);
process.chdir(root);
become(task.command[0], [...task.command.slice(1), ...parameters]);
