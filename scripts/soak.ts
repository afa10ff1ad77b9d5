// `npm run test:soak [-- KILLS]`: kills servers under load at random instants, on Node, Deno and Bun in turn over the
// same files, and checks after every kill that nothing acknowledged is lost and nothing is there twice. `-- --cluster FAULTS SECONDS`: every so
// many seconds one of three servers on one PostgreSQL is killed, stands still, ends or is replaced by one of another version, or the database crashes for ten seconds.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterRun } from "../tests/local/cluster-run.ts";
import { crashRun } from "../tests/local/crash-run.ts";
import { missing, runtimes } from "../tests/local/runtimes.ts";
import { bundle } from "./bundle.ts";

const there = runtimes.filter((runtime) => missing(runtime) === false);
const [first, ...rest] = process.argv.slice(2);
const violations =
  first === "--cluster"
    ? await soakCluster(Number(rest[0] ?? 30), Number(rest[1] ?? 60))
    : await soakFolder(Number(first ?? 300));
process.exitCode = violations.length === 0 ? 0 : 1;

async function soakCluster(faults: number, everySeconds: number): Promise<readonly string[]> {
  const totals = await clusterRun({
    runtimes: there,
    nextProgram: await buildNext(),
    faults,
    everyMs: everySeconds * 1000,
    onFault: (fault, count, acknowledged) =>
      void process.stdout.write(`${count} faults (${fault}): ${acknowledged} acknowledged\n`),
  });
  for (const violation of totals.violations) process.stdout.write(`${violation}\n`);
  const { chats, uploads } = totals;
  const events = totals.acknowledged - chats - uploads;
  const longest = (totals.longestMs / 1000).toFixed(1);
  process.stdout.write(
    `${there.join(", ")}: ${totals.violations.length} violations after ${faults} faults; acknowledged: ${events} events, each within ${longest} s, ${uploads} uploads, ${chats} chats\n`,
  );
  return totals.violations;
}

/** Builds the program of the servers as of a next version, which speaks the next protocol; returns its file. */
async function buildNext(): Promise<string> {
  let count = 0;
  await bundle(
    "dist/tests/next",
    [{ in: "tests/local/sharing-child.ts", out: "children/sharing-child" }],
    (code) =>
      code.replaceAll(/"causey cluster (\d+)"/gu, (_, number) => {
        count += 1;
        return `"causey cluster ${Number(number) + 1}"`;
      }),
  );
  if (count !== 1) throw new Error(`The protocol of nodes is named ${count} times, not once`);
  return "dist/tests/next/children/sharing-child.js";
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
