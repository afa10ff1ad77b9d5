// Builds dist/, which npm users get. The other runtimes run the sources.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";

const { exports } = JSON.parse(readFileSync("deno.json", "utf8")) as {
  exports: Record<string, string>;
};
/** The entries, each beside its types. */
const entries = Object.values(exports).map((source) => source.slice("./".length));
/** Threads and processes that code starts by an address beside its own, which is a shared chunk's. */
const started = [
  "adapters/shared/background/thread.ts",
  "adapters/shared/background/task-process.ts",
  "adapters/shared/sqlite/reader-thread.ts",
  "adapters/shared/sqlite/writer-thread.ts",
];
const CHUNKS = "chunks";
const nameOf = (path: string): string => path.replace(/\.ts$/u, "");

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], {
  stdio: "inherit",
});
// The library and the command in a few files that they share, instead of a thousand for each: files cost memory one by one.
await build({
  entryPoints: [
    { in: "adapters/cli/main.ts", out: "cli/main" },
    ...entries.map((path) => ({ in: path, out: nameOf(path) })),
    ...started.map((path) => ({ in: path, out: `${CHUNKS}/${nameOf(path).split("/").at(-1)}` })),
  ],
  outdir: "dist",
  chunkNames: `${CHUNKS}/[name]-[hash]`,
  bundle: true,
  splitting: true,
  packages: "external",
  format: "esm",
  platform: "node",
  target: "es2024",
  external: ["bun", "cloudflare:*"],
});
chmodSync("dist/cli/main.js", 0o755);
process.exit(status ?? 1);
