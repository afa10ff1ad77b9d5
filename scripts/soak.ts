// `npm run test:soak [-- KILLS]`: kills servers under load at random instants, on Node, Deno and Bun in turn over the
// same files, and checks after every kill that nothing acknowledged is lost and nothing is there twice.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crashRun } from "../tests/local/crash-run.ts";
import { missing, runtimes } from "../tests/local/runtimes.ts";

const kills = Number(process.argv[2] ?? 300);
const dataDir = mkdtempSync(join(tmpdir(), "causey-soak-"));
const there = runtimes.filter((runtime) => missing(runtime) === false);
const began = performance.now();
const totals = await crashRun({
  dataDir,
  kills,
  runtimes: there,
  onKill(kill, { acknowledged, interrupted, runs }) {
    if (kill % 10 !== 0 && kill !== kills) return;
    process.stdout.write(
      `${kill} kills: ${acknowledged} acknowledged, ${runs} runs of handlers, ${interrupted} of them repeated\n`,
    );
  },
});
for (const violation of totals.violations) process.stdout.write(`${violation}\n`);
const seconds = ((performance.now() - began) / 1000).toFixed(0);
const files = totals.violations.length === 0 ? "" : `; the files are in ${dataDir}`;
process.stdout.write(
  `${there.join(", ")}: ${totals.violations.length} violations after ${kills} kills in ${seconds} s${files}\n`,
);
if (totals.violations.length === 0) rmSync(dataDir, { recursive: true, force: true });
process.exitCode = totals.violations.length === 0 ? 0 : 1;
