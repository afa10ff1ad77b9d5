// `npm run test:rendering-soak [-- MINUTES [RUNTIME]]`: PDFs, pictures, Markdown and crawls beside hostile pages and clients that
// leave, from twice as many clients as the server takes, on one server on node, deno, bun or workers. Tells of every answer that is
// not documented, of memory that grows, of pages and processes that stay, and how long `/healthz` took.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { browserMemory, commandsBelow } from "../bench/harness/process-tree.ts";
import { lendBrowser } from "../tests/platform/shared-browser.ts";
import { startTarget, type TargetName } from "../tests/http/target.ts";
import { type SoakJob, soakJobs } from "./rendering-soak/jobs.ts";
import { startSite } from "./rendering-soak/site.ts";

const minutes = Number(process.argv[2] ?? 10);
const runtime = process.argv[3] ?? "node";
const runtimes = ["node", "deno", "bun", "workers"] satisfies TargetName[];
const target = runtimes.find((name) => name === runtime);
if (target === undefined || !(minutes > 0))
  throw new Error(`MINUTES is a number, RUNTIME one of ${runtimes.join(", ")}`);

/** The limits of the server: pages at a time, and requests that wait. */
const [PAGES, QUEUE] = [2, 10];
const CLIENTS = 2 * (PAGES + QUEUE);
/** The ratio of memory to that in the second fifth up to which it does not count as growth. */
const GROWTH = 1.35;
/** Processes of pages at most: those that are rendered, kept ready and being closed, each with frames and workers of its own. */
const MOST_PAGES = 8 * PAGES;
/** Milliseconds that `/healthz` may take on a machine that is full, and that pages may stay after the last request. */
const HEALTH_MS = 10_000;
const QUIET_MS = 60_000;

const site = await startSite();
const dataDir = mkdtempSync(join(tmpdir(), "causey-rendering-soak-"));
await lendBrowser(dataDir);
const config = join(dataDir, "causey.json");
const rendering = {
  maxConcurrency: PAGES,
  maxQueue: QUEUE,
  allowHosts: [new URL(site.url).host],
  crawls: { delayMs: 0 },
};
writeFileSync(config, JSON.stringify({ rendering }));
const token = "soak-token-0123456789abcdef";
const server = await startTarget({
  target,
  dataDir,
  args: ["--config", config, "--log-level", "error"],
  env: { CAUSEY_TOKEN: token },
});
process.on("exit", () => void server.child.kill("SIGKILL"));
const root = `${server.url}/client/v4/accounts/local/browser-rendering`;
const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

const counts = new Map<string, Map<string, number>>();
const problems = new Map<string, number>();
const memory: number[] = [];
const health: number[] = [];
let mostPages = 0;
const over = new AbortController();

function problem(text: string): void {
  problems.set(text, (problems.get(text) ?? 0) + 1);
}

function count(name: string, end: string): void {
  const ends = counts.get(name) ?? new Map<string, number>();
  counts.set(name, ends.set(end, (ends.get(end) ?? 0) + 1));
}

async function ask(job: SoakJob, turn: number): Promise<void> {
  const { name, action, body, statuses, isRight, leavesMs } = job;
  const signal =
    leavesMs === undefined ? null : AbortSignal.timeout(Math.ceil(Math.random() * leavesMs));
  try {
    const init = { method: "POST", headers, body: JSON.stringify(body(turn)), signal };
    const response = await fetch(`${root}/${action}?cacheTTL=0`, init);
    const bytes = Buffer.from(await response.arrayBuffer());
    const { status } = response;
    count(name, String(status));
    const text = bytes.toString("latin1");
    if (status === 429 || status === 503) {
      if (!(Number(response.headers.get("retry-after")) > 0))
        problem(`${name}: ${status} without Retry-After: ${text.slice(0, 200)}`);
      await sleep(200);
      return;
    }
    if (!statuses.includes(status)) problem(`${name}: ${status} ${text.slice(0, 200)}`);
    else if (status === 200 && isRight?.(text, turn) === false)
      problem(`${name}: a wrong answer: ${text.slice(0, 200)}`);
  } catch (error) {
    if (signal?.aborted === true) return count(name, "left");
    problem(`${name}: ${String(error)}`);
  }
}

async function client(number: number, jobs: readonly SoakJob[]): Promise<void> {
  // Each begins elsewhere, and each kind of request meets each other one.
  for (let turn = number * 7; !over.signal.aborted; turn += 1) {
    const job = jobs[turn % jobs.length];
    if (job !== undefined) await ask(job, turn);
  }
}

/** Processes of browsers that were seen, by their ids. */
const seen = new Map<number, string>();

/** Returns how many processes of pages there are below the server. */
function pageProcesses(): number {
  const commands = [...commandsBelow()].filter(([, command]) => command.includes("--type="));
  for (const [pid, command] of commands) seen.set(pid, command);
  return commands.filter(([, command]) => command.includes("--type=renderer")).length;
}

/** Returns how many of the processes that were seen are still there. */
function left(): number {
  return [...seen].filter(([pid, command]) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8") === command;
    } catch {
      return false;
    }
  }).length;
}

async function watch(): Promise<void> {
  for (let turn = 0; !over.signal.aborted; turn++) {
    const began = performance.now();
    const response = await fetch(`${server.url}/healthz`).catch(() => null);
    health.push(performance.now() - began);
    await response?.arrayBuffer();
    if (response?.status !== 200) problem(`/healthz: ${response?.status ?? "no answer"}`);
    if (turn % 25 === 0) {
      memory.push(browserMemory().pssMb);
      mostPages = Math.max(mostPages, pageProcesses());
    }
    await sleep(200);
  }
}

async function eventually(isTrue: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
  for (let waited = 0; waited < ms; waited += 500) {
    if (await isTrue()) return true;
    await sleep(500);
  }
  return isTrue();
}

const isWell = async (): Promise<boolean> => {
  const body = JSON.stringify({ html: "<script>document.title = 'well'</script>" });
  const response = await fetch(`${root}/content`, { method: "POST", headers, body });
  return (await response.text()).includes("well");
};

const jobs = soakJobs(site.url);
await eventually(isWell, QUIET_MS);
const work = [watch(), ...Array.from({ length: CLIENTS }, (_, n) => client(n, jobs))];
for (let passed = 0; passed < minutes * 60; passed += 30) {
  await sleep(Math.min(30, minutes * 60 - passed) * 1000);
  const now = `${memory.at(-1)?.toFixed(0)} MB, ${pageProcesses()} processes of pages`;
  process.stdout.write(`${passed + 30} s: ${now}, ${problems.size} kinds of problems\n`);
}
over.abort();
await Promise.all(work);

if (!(await eventually(isWell, QUIET_MS))) problem("no rendering succeeds after the load");
const isLocal = target !== "workers";
const isQuiet = (): boolean => pageProcesses() <= 2 * PAGES + 1;
if (isLocal && !(await eventually(isQuiet, QUIET_MS)))
  problem(`${pageProcesses()} processes of pages are left after the load`);
const code = await server.stop();
if (code !== 0) problem(`the server ended with ${String(code)}`);
if (isLocal && !(await eventually(() => left() === 0, 10_000)))
  problem(`${left()} processes of the browser outlive the server`);

const mean = (values: readonly number[]): number =>
  values.reduce((sum, one) => sum + one, 0) / values.length;
const fifth = Math.max(1, Math.floor(memory.length / 5));
const [before, after] = [mean(memory.slice(fifth, 2 * fifth)), mean(memory.slice(-fifth))];
if (after > before * GROWTH)
  problem(`memory grew from ${before.toFixed(0)} to ${after.toFixed(0)} MB`);
if (mostPages > MOST_PAGES) problem(`${mostPages} processes of pages at once`);
const sorted = health.toSorted((a, b) => a - b);
const longest = sorted.at(-1) ?? 0;
if (longest > HEALTH_MS) problem(`/healthz took ${longest.toFixed(0)} ms`);

for (const [name, ends] of counts)
  process.stdout.write(`${name}: ${[...ends].map((pair) => pair.join(" × ")).join(", ")}\n`);
const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
const late = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
process.stdout.write(
  `memory (PSS, with the browser) ${before.toFixed(0)} → ${after.toFixed(0)} MB, ${mostPages} processes of pages at most\n` +
    `/healthz: p50 ${median.toFixed(0)} ms, p99 ${late.toFixed(0)} ms, ${longest.toFixed(0)} ms at most, ${health.length} times\n`,
);
for (const [text, times] of problems) process.stdout.write(`PROBLEM ${times} × ${text}\n`);
process.stdout.write(`${target}: ${problems.size} kinds of problems in ${minutes} minutes\n`);
site.close();
rmSync(dataDir, { recursive: true, force: true });
process.exit(problems.size === 0 ? 0 : 1);
