// The one entry of every npm script: `node scripts/run.mjs TASK [ARGUMENTS]`.
// It needs nothing but some Node >= 20 and npm: it installs what the task needs, by lockfile, when
// that is not there yet, and hands over to the pinned Node (or to the Deno or Bun of tools/).
import { spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const windows = process.platform === "win32";
const inRoot = (...path) => join(root, ...path);

const node = inRoot("node_modules/node/bin", windows ? "node.exe" : "node");
const deno = inRoot("tools/node_modules/deno", windows ? "deno.exe" : "deno");
const bun = inRoot("tools/node_modules/bun/bin/bun.exe");
const vitest = "node_modules/vitest/vitest.mjs";
const cli = "adapters/cli/main.ts";

/**
 * A part of the flags that `causey serve` sets for Node's V8 by itself (adapters/cli/serve/set-up-process.ts): Deno takes them on the
 * command line only.
 */
const denoHeap = "--v8-flags=--no-allocation-site-pretenuring,--max-semi-space-size=16,--expose-gc";

/**
 * Packages that a server may load and that `npm start` leaves out: 36 MB of letters for fonts that a PDF does not hold, which
 * searches name where they are missing, and a database of another platform.
 */
const leftOut = ["pdfjs-dist", "@sqlite.org/sqlite-wasm"];
const everything = [".", "tools", "tests/clients"];
/** Other releases of the runtimes and packages that users may have. */
const releases = "tools/releases";
/** The package that builds the site of the documents. */
const site = "tools/site";

/** Task name -> the packages that it needs and the command that runs it, arguments appended. */
const tasks = {
  // `serve` is what the command does by itself, so that `npm start -- token list` is another one.
  serve: { needs: [], serves: true, command: [servingNode(), cli], watch: ["--watch"] },
  "serve:deno": {
    needs: [".", "tools"],
    command: [deno, "run", "-A", denoHeap, cli],
    watch: ["run", "--watch"],
  },
  "serve:bun": { needs: [".", "tools"], command: [bun, cli], watch: ["--watch"] },
  "serve:workers": { needs: ["."], command: [node, "scripts/serve-workers.mjs"] },
  cluster: { needs: ["."], command: [node, "scripts/cluster.ts"] },
  ok: { needs: [...everything, releases, site], command: [node, "scripts/ok.ts"] },
  "test:quick": { needs: ["."], command: [node, "scripts/quick.ts"] },
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
    needs: [...everything, releases, site],
    command: [node, vitest, "run", "--config", "tests/config/vitest.package.config.ts"],
  },
  "check:sql": { needs: ["."], command: [node, "scripts/check-sql.ts"] },
  "test:mutants": { needs: ["."], command: [node, "scripts/mutants.ts"] },
  "test:soak": { needs: [".", "tools"], command: [node, "scripts/soak.ts"] },
  "test:mixed-soak": { needs: ["."], command: [node, "scripts/mixed-soak.ts"] },
  "test:rendering-soak": { needs: [".", "tools"], command: [node, "scripts/rendering-soak.ts"] },
  format: { needs: ["."], command: [node, "node_modules/oxfmt/bin/oxfmt"] },
  lint: { needs: ["."], command: [node, "node_modules/oxlint/bin/oxlint", "--type-aware"] },
  types: { needs: everything, command: [node, "scripts/types.ts"] },
  console: { needs: ["."], command: [node, "scripts/console.ts"] },
  snippet: { needs: ["."], command: [node, "scripts/snippet.ts"] },
  "page-scripts": { needs: ["."], command: [node, "scripts/page-scripts.ts"] },
  openapi: { needs: ["."], command: [node, "scripts/openapi.ts"] },
  errors: { needs: ["."], command: [node, "scripts/error-reference.ts"] },
  build: { needs: ["."], command: [node, "scripts/build.ts"] },
  site: { needs: [".", site], command: [node, "scripts/site.ts"] },
  release: { needs: everything, command: [node, "scripts/release.ts"] },
  bench: { needs: everything, command: [node, "bench/run.ts"] },
  trace: { needs: ["."], command: [node, "scripts/trace.ts"] },
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

/** This Node where it is new enough to serve, else the pinned one. */
function servingNode() {
  const { engines } = readJson("package.json");
  const wanted = engines.node.replace(">=", "").split(".").map(Number);
  const [major, minor] = process.versions.node.split(".").map(Number);
  const isEnough = major > wanted[0] || (major === wanted[0] && minor >= wanted[1]);
  return isEnough ? process.execPath : node;
}

function readJson(...path) {
  return JSON.parse(readFileSync(inRoot(...path), "utf8"));
}

/** Lists the packages that a server needs beside Node, by name and version. */
function servingDependencies() {
  const { dependencies, devDependencies, peerDependencies } = readJson("package.json");
  const serving = Object.keys(peerDependencies).filter((name) => !leftOut.includes(name));
  const more = servingNode() === node ? [...serving, "node"] : serving;
  return {
    ...dependencies,
    ...Object.fromEntries(more.map((name) => [name, devDependencies[name]])),
  };
}

/** Whether what a server imports is there, in the versions of the lockfile. */
function canServe() {
  const { packages } = readJson("package-lock.json");
  return Object.keys(servingDependencies()).every((name) => {
    const manifest = `node_modules/${name}/package.json`;
    return (
      existsSync(inRoot(manifest)) &&
      readJson(manifest).version === packages[`node_modules/${name}`].version
    );
  });
}

/**
 * Installs the packages that a server needs, a fifth of those of the tests, in the versions of the lockfile. npm cannot
 * install a part of the development dependencies, so they are made dependencies in a folder of its own, and moved here at
 * the end.
 */
function installServing() {
  if (existsSync(inRoot("node_modules"))) return install(".");
  const folder = mkdtempSync(inRoot(".serving-"));
  try {
    const manifest = { name: "causey", private: true, dependencies: servingDependencies() };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    copyFileSync(inRoot("package-lock.json"), join(folder, "package-lock.json"));
    install(folder, "what serving needs", ["--omit=dev", "--omit=peer"]);
    // A third of the pinned Node are headers, for who compiles against it.
    const release = join(folder, "node_modules/node/node_modules");
    if (existsSync(release))
      for (const name of readdirSync(release).filter((one) => !one.startsWith(".")))
        rmSync(join(release, name, "include"), { recursive: true, force: true });
    // Another start may have been faster.
    if (!existsSync(inRoot("node_modules")))
      renameSync(join(folder, "node_modules"), inRoot("node_modules"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Installs what the lockfile says and leaves it as it is. Not `npm ci`, which removes node_modules
 * under whatever is running from it.
 */
function install(
  folder,
  name = folder === "." ? "the project" : folder,
  parts = ["--include=dev"],
) {
  process.stderr.write(`Installing the dependencies of ${name} (once) ...\n`);
  // The pinned Node and the runtimes are development dependencies: needed whatever NODE_ENV says.
  const options = ["--no-save", ...parts, "--no-audit", "--no-fund", "--loglevel=error"];
  const { status, stdout } = spawnSync("npm", ["install", ...options], {
    cwd: resolve(root, folder),
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
    // Replaces this process, so that no parent is left to forward signals. Node calls it experimental and would say so on
    // every start.
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

const [name, ...given] = process.argv.slice(2);
// npm takes the first "--" away by itself.
const parameters = given[0] === "--" ? given.slice(1) : given;
const task = tasks[name];
if (task === undefined) {
  process.stderr.write(`No such task: "${name ?? ""}". Tasks: ${Object.keys(tasks).join(", ")}\n`);
  process.exit(1);
}
if (task.serves && !canServe()) installServing();
for (const folder of task.needs) if (!isInstalled(folder)) install(folder);
process.chdir(root);
// A server from the sources starts with half the CPU where its types were taken out before; Node keeps that by content.
if (task.serves) process.env.NODE_COMPILE_CACHE ??= inRoot("node_modules/.cache/causey");
become(task.command[0], watching(task.command.slice(1), parameters));

/** The arguments of the command; with `--watch` the runtime restarts a server when a source file changes. Tests have a `--watch` of their own. */
function watching(fixed, asked) {
  if (!asked.includes("--watch") || !name.startsWith("serve")) return [...fixed, ...asked];
  if (task.watch === undefined) {
    const able = Object.keys(tasks).filter((one) => tasks[one].watch !== undefined);
    process.stderr.write(`--watch: "${name}" cannot restart on change; ${able.join(", ")} can\n`);
    process.exit(1);
  }
  const rest = asked.filter((one) => one !== "--watch");
  const from = fixed[0] === task.watch[0] ? 1 : 0;
  return [...task.watch, ...fixed.slice(from), ...rest];
}
