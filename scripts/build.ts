// Builds dist/, which npm users get. The other runtimes run the sources.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], {
  stdio: "inherit",
});
// The command in few files instead of six hundred: they cost memory one by one. The threads' files are looked for beside the chunk
// that starts them.
await build({
  entryPoints: [
    "adapters/cli/main.ts",
    "adapters/shared/background/thread.ts",
    "adapters/shared/background/task-process.ts",
    "adapters/shared/sqlite/reader-thread.ts",
    "adapters/shared/sqlite/writer-thread.ts",
  ],
  outdir: "dist/cli",
  entryNames: "[name]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  packages: "external",
  format: "esm",
  platform: "node",
  target: "es2024",
  external: ["bun"],
  sourcemap: true,
  sourcesContent: false,
});
chmodSync("dist/cli/main.js", 0o755);
process.exit(status ?? 1);
