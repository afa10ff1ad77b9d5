// Builds dist/, which npm users get. The other runtimes run the sources.
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync } from "node:fs";
import { bundle } from "./bundle.ts";

const { exports } = JSON.parse(readFileSync("deno.json", "utf8")) as {
  exports: Record<string, string>;
};
/** The entries, each beside its types. */
const entries = Object.values(exports).map((source) => source.slice("./".length));
const nameOf = (path: string): string => path.replace(/\.ts$/u, "");

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], {
  stdio: "inherit",
});
// The library and the command in a few files that they share, instead of a thousand for each: files cost memory one by one.
await bundle("dist", [
  { in: "adapters/cli/main.ts", out: "cli/main" },
  ...entries.map((path) => ({ in: path, out: nameOf(path) })),
]);
chmodSync("dist/cli/main.js", 0o755);
process.exit(status ?? 1);
