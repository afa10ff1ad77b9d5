// Builds dist/, which npm users get. The other runtimes run the sources.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], {
  stdio: "inherit",
});
const command = "dist/adapters/cli/main.js";
if (existsSync(command)) chmodSync(command, 0o755);
process.exit(status ?? 1);
