// Everything that must hold before a change lands: `npm run ok`, which is also `npm test`.
// Steps run four at a time; a step's output is kept and shown only when it fails. The last line,
// "N passed, N failed, N skipped", is read by CI.
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fewRuntimes, logicFolders } from "../tests/config/one-engine.ts";
import type { Failure, Report, SuiteCounts } from "../tests/config/report.ts";
import { blackBoxWords, changedFiles } from "./changed.ts";
import { killAll, run } from "./step.ts";
import { table } from "./table.ts";
import { failedFiles, failuresOf, readReport, suiteOf, suitesOf } from "./test-report.ts";

interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Record<string, string>;
  /** The column of the summary for a step that runs tests. */
  readonly column?: string;
  /** Steps that must have ended before. */
  readonly after?: readonly string[];
  /** The part of the test files that it runs. */
  readonly part?: string;
}

interface Outcome {
  readonly step: Step;
  readonly ok: boolean;
  readonly report: Report | undefined;
  readonly cpuSeconds: number;
  /** What failed at first and passed in a second run of its files, alone. */
  readonly unsteady?: readonly Failure[];
}

const node = process.execPath;
const deno = "tools/node_modules/deno/deno";
const bun = "tools/node_modules/bun/bin/bun.exe";
const vitest = "node_modules/vitest/vitest.mjs";
const bin = (name: string): string => `node_modules/.bin/${name}`;
const withConfig = (name: string): string[] =>
  [node, vitest, "run", "--config"].concat(`tests/config/vitest.${name}.config.ts`);
const runtimes = ["node", "deno", "bun", "workers"];

/** `npm pack` builds by itself, which would take dist/ away from the steps that run beside it. */
const packAsBuilt = { npm_config_ignore_scripts: "true" };

const unit: Record<string, readonly string[]> = {
  node: [node, vitest, "run"],
  deno: [deno, "run", "-A", vitest, "run"],
  bun: [bun, "--bun", vitest, "run"],
  workers: withConfig("workers"),
};

const folder = mkdtempSync(join(tmpdir(), "causey-ok-"));
/** The SQL texts of core that the suites have run on Node. */
const recorded = join(folder, "sql");

function unitStep(name: string): Step {
  return {
    name: `unit + contract on ${name}`,
    command: unit[name] ?? [],
    ...(name === "node" && { env: { CAUSEY_TEST_SQL: recorded } }),
    column: name,
    after: ["build of children"],
  };
}

/** Processes for the files on Bun: one gets slower with each file, as its garbage collector looks at all that is left of earlier ones. */
const BUN_PARTS = 4;

function unitSteps(name: string): Step[] {
  const step = unitStep(name);
  if (name !== "bun") return [step];
  return Array.from({ length: BUN_PARTS }, (_, n) => ({
    ...step,
    name: `${step.name}, ${n + 1} of ${BUN_PARTS}`,
    part: `--shard=${n + 1}/${BUN_PARTS}`,
  }));
}

/** Black-box files that show three servers on one PostgreSQL; what these have in common with SQLite runs there. */
const onPostgres = ["agents.test", "auth.test", "conformance", "gateway.test", "webhooks.test"];
/** npm has a PostgreSQL for the tests on these. */
const hasPostgres = process.platform === "linux" && ["arm64", "x64"].includes(process.arch);
const postgresStep: Step = {
  name: "http on PostgreSQL",
  command: withConfig("http").concat(onPostgres.map((file) => `tests/http/${file}`)),
  env: { TARGET: "node-cluster" },
  column: "postgres",
  after: ["build"],
};

/** Steps that start the command or another program start what these have built (`tests/config/command-file.ts`). */
const buildStep: Step = { name: "build", command: [node, "scripts/build.ts"] };
const childrenStep: Step = {
  name: "build of children",
  command: [node, "scripts/build-children.ts"],
  after: ["build"],
};

const steps: readonly Step[] = [
  { name: "format", command: [bin("oxfmt"), "--check"] },
  buildStep,
  childrenStep,
  // Those that take longest come first, so that all end together.
  unitStep("node"),
  // Each pair has a long step and a short one, which follow one another.
  ...[
    ["node", "workers"],
    ["deno", "bun"],
  ].flatMap((pair) =>
    pair.map((name, index) => ({
      name: `http + clients on ${name}`,
      command: withConfig("http"),
      env: { TARGET: name },
      column: name,
      after: index === 0 ? ["build of children"] : [`http + clients on ${pair[0]}`],
    })),
  ),
  ...["bun", "deno", "workers"].flatMap(unitSteps),
  ...(hasPostgres ? [postgresStep] : []),
  { name: "package", command: withConfig("package"), column: "repository", after: ["build"] },
  { name: "types", command: [node, "scripts/types.ts"] },
  { name: "lint", command: [bin("oxlint"), "--type-aware", "--deny-warnings"] },
  {
    name: "sql",
    command: [node, "scripts/check-sql.ts", recorded],
    after: ["unit + contract on node"],
  },
  { name: "publint", command: [bin("publint"), "--strict"], env: packAsBuilt, after: ["build"] },
  {
    name: "attw",
    command: [bin("attw"), "--pack", ".", "--profile", "esm-only"],
    env: packAsBuilt,
    after: ["build", "publint"],
  },
  // Deno's own check of all entries, and JSR's rules. scripts/workerd-globals.d.ts tells it of workerd.
  { name: "jsr", command: [deno, "publish", "--dry-run", "--allow-dirty"] },
  { name: "deno lint", command: [deno, "lint"] },
  { name: "knip", command: [bin("knip")] },
];

async function execute(step: Step): Promise<Outcome> {
  const reportFile = join(folder, `${step.name.replaceAll(/\W+/gu, "-")}.json`);
  const env = {
    ...step.env,
    CAUSEY_TEST_REPORT: reportFile,
    CAUSEY_TEST_WORKERS: String(WORKERS),
    ...(chosen.includes(childrenStep) && { CAUSEY_TEST_BUILT: "yes" }),
  };
  const command = step.part === undefined ? step.command : [...step.command, step.part];
  const { ok, seconds, cpuSeconds, output } = await run(command, env, `${reportFile}.cpu`);
  const report = step.column === undefined ? undefined : readReport(reportFile);
  console.log(
    `${ok ? "ok  " : "FAIL"} ${step.name.padEnd(28)} ${seconds.toFixed(1).padStart(6)} s ${cpuSeconds.toFixed(1).padStart(6)} s of CPU`,
  );
  if (!ok) console.log(`\n----- ${step.name}: ${command.join(" ")}\n${output}\n-----\n`);
  return { step, ok, report, cpuSeconds };
}

/** More files than these fail by what was changed, not by the moment. */
const MOST_REPEATED = 10;

/**
 * Runs what failed once more when nothing else runs: of a test step the files that failed, of another one all of it.
 * What passes then depends on the moment, or on what ran before it: it does not fail the whole, and is named at the end.
 */
async function repeatFailed(outcomes: readonly Outcome[]): Promise<Outcome[]> {
  const counts = outcomes.map(({ report }) => failedFiles(report).length);
  if (counts.reduce((sum, count) => sum + count, 0) > MOST_REPEATED) return [...outcomes];
  const repeated: Outcome[] = [];
  for (const first of outcomes) repeated.push(first.ok ? first : await repeat(first));
  return repeated;
}

async function repeat(first: Outcome): Promise<Outcome> {
  const { step, report } = first;
  // An error that no test caught has no file.
  const files = report === undefined || report.unhandled.length > 0 ? [] : failedFiles(report);
  console.log(`Once more, alone: ${step.name} ${files.join(" ")}`);
  const { part, ...whole } = step;
  // Files that are named are a part themselves.
  const again = files.length === 0 && part !== undefined ? step : whole;
  const command = [...step.command, ...files.map((file) => `tests/${file}`)];
  const second = await execute({ ...again, command });
  const cpuSeconds = first.cpuSeconds + second.cpuSeconds;
  if (!second.ok) return { ...first, cpuSeconds };
  const merged = { files: { ...report?.files, ...second.report?.files }, unhandled: [] };
  const failures = failuresOf(report);
  const unsteady = failures.length > 0 ? failures : [{ name: step.name, message: "" }];
  return { ...first, ok: true, cpuSeconds, report: second.report && merged, unsteady };
}

/** Steps at a time. A test run waits for sockets, processes and deadlines more than half of its time: four fill two cores. */
const LANES = 4;
/** Threads or processes that one step runs its test files in: together little more than there are cores. */
const WORKERS = Math.ceil(availableParallelism() / LANES);

/** Starts a step as soon as a lane is free and what it comes after has ended. */
async function executeAll(chosen: readonly Step[]): Promise<Outcome[]> {
  const waiting = [...chosen];
  const ended = new Set<string>();
  const running = new Set<Promise<void>>();
  const outcomes: Outcome[] = [];
  const isReady = (step: Step): boolean =>
    (step.after ?? []).every((name) => ended.has(name) || !chosen.some((s) => s.name === name));
  while (waiting.length > 0 || running.size > 0) {
    const index = running.size < LANES ? waiting.findIndex(isReady) : -1;
    if (index === -1) {
      await Promise.race(running);
      continue;
    }
    const [step] = waiting.splice(index, 1);
    if (step === undefined) break;
    const work = execute(step).then((outcome) => {
      ended.add(step.name);
      outcomes.push(outcome);
      running.delete(work);
    });
    running.add(work);
  }
  return outcomes;
}

function summarize(outcomes: readonly Outcome[]): SuiteCounts {
  const total: SuiteCounts = { passed: 0, failed: 0, skipped: 0 };
  const cells = new Map<string, Map<string, SuiteCounts>>();
  for (const { step, ok, report } of outcomes) {
    const suites = [...suitesOf(report)];
    for (const [suite, counts] of suites) {
      total.passed += counts.passed;
      total.failed += counts.failed;
      total.skipped += counts.skipped;
      const row = cells.get(suite) ?? new Map<string, SuiteCounts>();
      const column = step.column ?? "";
      cells.set(suite, row.set(column, sumOf(counts, row.get(column))));
    }
    // A check counts as one; so does a test run that failed outside of its tests.
    const hasFailures = suites.some(([, counts]) => counts.failed > 0);
    if (step.column === undefined && ok) total.passed += 1;
    if (!ok && !hasFailures) total.failed += 1;
  }
  const shown = new Map(
    [...cells].map(([suite, row]) => [
      suite,
      new Map([...row].map(([column, counts]) => [column, show(counts)])),
    ]),
  );
  console.log(`\n${table(shown, [...runtimes, "postgres", "repository"])}`);
  return total;
}

/** Test files in the list of those that take most. */
const COSTLIEST = 25;

/** Prints the CPU seconds of suites on each runtime, and the files that took most: a change of the suites is measured by them. */
function printTimes(outcomes: readonly Outcome[]): void {
  const files = outcomes.flatMap(({ step, report }) =>
    Object.entries(report?.files ?? {}).map(([path, { cpuMs }]) => ({
      path,
      cpuMs,
      column: step.column ?? "",
    })),
  );
  const rows = Map.groupBy(files, ({ path }) => suiteOf(path));
  const seconds = (of: typeof files): string =>
    (of.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / 1000).toFixed(0);
  const cells = new Map(
    [...rows].map(([suite, of]) => {
      const columns = Map.groupBy(of, ({ column }) => column);
      return [suite, new Map([...columns].map(([name, some]) => [name, seconds(some)]))];
    }),
  );
  console.log(`\nCPU seconds of test files:\n${table(cells, [...runtimes, "repository"])}`);
  for (const file of files.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, COSTLIEST))
    console.log(`  ${seconds([file]).padStart(4)} s  ${file.path} on ${file.column}`);
}

/** Says what runs on some runtimes only. */
function printLeftOut(): void {
  console.log("\nUnit tests on Node and Bun alone, for Deno and workerd have Node's engine:");
  for (const one of logicFolders)
    console.log(`  ${one.folder}: ${one.reason} (on all four: ${one.everywhere.join(", ")})`);
  console.log("\nOn some runtimes only, or against the servers of these:");
  for (const { files, on, reason } of fewRuntimes) {
    console.log(`  on ${on.join(", ")}: ${reason}`);
    for (const file of files) console.log(`    ${file}`);
  }
}

function sumOf(one: SuiteCounts, other: SuiteCounts | undefined): SuiteCounts {
  return {
    passed: one.passed + (other?.passed ?? 0),
    failed: one.failed + (other?.failed ?? 0),
    skipped: one.skipped + (other?.skipped ?? 0),
  };
}

function show({ passed, failed, skipped }: SuiteCounts): string {
  return `${passed}/${failed}/${skipped}`;
}

/**
 * Names every failed test once more at the end, where a shortened log still shows it, and what passed in its second
 * run alone: it, or what it tests, depends on the moment.
 */
function printFailures(outcomes: readonly Outcome[]): void {
  for (const { step, ok, report, unsteady } of outcomes) {
    for (const { name, message } of unsteady ?? []) {
      console.log(`Passed in its second run alone, in ${step.name}: ${name}: ${message}`);
    }
    for (const { name, message } of ok ? [] : failuresOf(report)) {
      console.log(`Failed in ${step.name}: ${name}: ${message}`);
    }
  }
}

/** Prints every skip once, with the runtimes that it is skipped on; returns the unexplained ones. */
function printSkips(outcomes: readonly Outcome[]): number {
  const seen = new Map<string, string[]>();
  let unexplained = 0;
  for (const { step, report } of outcomes) {
    for (const { name, reason } of Object.values(report?.files ?? {}).flatMap(
      ({ skips }) => skips,
    )) {
      if (reason === undefined) unexplained += 1;
      const line = `${reason ?? "NO REASON GIVEN"} - ${name}`;
      seen.set(line, [...(seen.get(line) ?? []), step.column ?? ""]);
    }
  }
  if (seen.size > 0) console.log("\nSkipped:");
  for (const [line, where] of seen) console.log(`  ${where.join(", ")}: ${line}`);
  return unexplained;
}

process.on("SIGINT", () => {
  killAll();
  process.exit(130);
});
process.on("SIGTERM", () => {
  killAll();
  process.exit(143);
});

/** Steps of a change that are not known to be needed before the change lands. */
const landing =
  /^(?:build|build of children|package|publint|attw|jsr|deno lint|sql)$|^http .*(?:deno|bun|workers)/u;

/** Returns the steps that what differs from a commit can break, with the test files that it can break. */
function stepsOfChange(since: string): Step[] {
  const words = blackBoxWords(changedFiles(since));
  console.log(
    `What differs from ${since} can break: unit and contract files by imports; black-box files on Node: ${words?.join(", ") ?? "all"}. Left to npm test: other runtimes of these, and packaging.`,
  );
  return steps
    .filter(({ name }) => !landing.test(name) && !(name.startsWith("http") && words?.length === 0))
    .map((step) => {
      if (step.column === undefined) return step;
      const narrow = step.name.startsWith("http") ? (words ?? []) : ["--changed", since];
      return { ...step, command: [...step.command, ...narrow, "--passWithNoTests"] };
    });
}

const [first = "", ...rest] = process.argv.slice(2);
const wanted = first === "" ? [] : [first, ...rest];
const chosen =
  first === "--changed"
    ? stepsOfChange(rest[0] ?? "HEAD")
    : steps.filter(({ name }) => wanted.length === 0 || wanted.some((w) => name.includes(w)));
const started = performance.now();
const outcomes = await repeatFailed(await executeAll(chosen));
rmSync(folder, { recursive: true, force: true });

const total = summarize(outcomes);
printTimes(outcomes);
// An unexplained skip may hide anything.
const unexplained = printSkips(outcomes);
printLeftOut();
total.failed += unexplained;
const failedSteps = outcomes.filter(({ ok }) => !ok).map(({ step }) => step.name);
console.log(
  `\nCells are passed/failed/skipped. ${((performance.now() - started) / 1000).toFixed(0)} s, ${outcomes.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0).toFixed(0)} s of CPU.`,
);
printFailures(outcomes);
if (failedSteps.length > 0) console.log(`Failed: ${failedSteps.join("; ")}`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;
