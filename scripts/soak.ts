// `npm run test:soak [-- KILLS]`: kills servers under load at random instants, on Node, Deno and Bun in turn over the
// same files, and checks after every kill that nothing acknowledged is lost and nothing is there twice. `-- --cluster KILLS SECONDS`: of three
// servers on one PostgreSQL, one is killed every so many seconds, and another one started.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterRun } from "../tests/local/cluster-run.ts";
import { crashRun } from "../tests/local/crash-run.ts";
import { missing, runtimes } from "../tests/local/runtimes.ts";

const there = runtimes.filter((runtime) => missing(runtime) === false);
const [first, ...rest] = process.argv.slice(2);
const violations =
  first === "--cluster"
    ? await soakCluster(Number(rest[0] ?? 30), Number(rest[1] ?? 60))
    : await soakFolder(Number(first ?? 300));
process.exitCode = violations.length === 0 ? 0 : 1;

async function soakCluster(kills: number, everySeconds: number): Promise<readonly string[]> {
  const totals = await clusterRun({
    runtimes: there,
    kills,
    everyMs: everySeconds * 1000,
    onKill: (kill, acknowledged) =>
      void process.stdout.write(`${kill} kills: ${acknowledged} acknowledged\n`),
  });
  for (const violation of totals.violations) process.stdout.write(`${violation}\n`);
  const longest = (totals.longestMs / 1000).toFixed(1);
  process.stdout.write(
    `${there.join(", ")}: ${totals.violations.length} violations after ${kills} kills, ${totals.acknowledged} events acknowledged, each within ${longest} s\n`,
  );
  return totals.violations;
}

async function soakFolder(kills: number): Promise<readonly string[]> {
  const dataDir = mkdtempSync(join(tmpdir(), "causey-soak-"));
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
  return totals.violations;
}
