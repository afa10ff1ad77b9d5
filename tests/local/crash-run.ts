import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { exitOf, start, type Child, type LocalRuntimeName } from "./runtimes.ts";

/** How to run {@link crashRun}. */
export interface CrashOptions {
  readonly dataDir: string;
  /** How often a server is killed. */
  readonly kills: number;
  /** The runtimes that take turns over the same files. */
  readonly runtimes: readonly LocalRuntimeName[];
  /** Longest life after the server is ready, in ms. @default 400 */
  readonly maxLifeMs?: number;
  /** Told after every kill. */
  readonly onKill?: (kill: number, totals: CrashTotals) => void;
}

/** What happened in a run, and every invariant that did not hold. */
export interface CrashTotals {
  acknowledged: number;
  runs: number;
  /** Runs that a kill cut off. */
  interrupted: number;
  readonly violations: string[];
}

/** Acknowledged events before the first kill. */
const FIRST_ACKS = 20;

/** How long the queues may take to empty in the end, in ms. */
const DRAIN_MS = 120_000;

/**
 * Kills servers under load at random instants, each opening the files of the one before, and looks after every
 * kill whether what it had promised is there.
 */
export async function crashRun(options: CrashOptions): Promise<CrashTotals> {
  const { dataDir, kills, maxLifeMs = 400, onKill, runtimes } = options;
  const file = join(dataDir, "causey.db");
  const totals: CrashTotals = { acknowledged: 0, runs: 0, interrupted: 0, violations: [] };
  const acknowledged = new Set<string>();
  const attempts = new Map<string, number>();
  for (let kill = 1; kill <= kills; kill++) {
    const runtime = runtimes[kill % runtimes.length] ?? "node";
    const child = start(runtime, "crash-child.ts", [runtime, dataDir, String(kill)]);
    const lines = await lifeOf(child, kill, maxLifeMs);
    hear(lines, acknowledged, attempts, totals);
    look(file, acknowledged, totals);
    onKill?.(kill, totals);
    if (totals.violations.length > 0) return totals;
  }
  await drain(dataDir, file, attempts, totals);
  return totals;
}

/** Kills a child at a random instant; resolves to the whole lines that it printed. */
async function lifeOf(child: Child, kill: number, maxLifeMs: number): Promise<string[]> {
  let output = "";
  let doomed = false;
  child.stdout.on("data", (chunk: Uint8Array) => {
    output += new TextDecoder().decode(chunk);
    // The first one lives until it has done something, however slow the machine is. Every seventh dies as soon as it
    // says anything at all: while it starts its agents.
    const isReady =
      kill === 1 ? output.split("\nack ").length > FIRST_ACKS : output.includes("ready");
    if (doomed || !isReady) return;
    doomed = true;
    const ms = kill % 7 === 0 ? 0 : 20 + Math.random() * maxLifeMs;
    setTimeout(() => child.kill("SIGKILL"), ms);
  });
  const ended = await exitOf(child);
  if (ended !== "SIGKILL")
    throw new Error(`Life ${kill} ended by itself with ${ended}: ${output.slice(-2000)}`);
  return output.split("\n").slice(0, -1);
}

function hear(
  lines: readonly string[],
  acknowledged: Set<string>,
  attempts: Map<string, number>,
  totals: CrashTotals,
): void {
  for (const line of lines) {
    const [what, entity = "", ...rest] = line.split(" ");
    if (what === "ack") {
      const [source = "", id = ""] = rest;
      acknowledged.add(`${source === "worked" ? "crash-worker" : "webhook-agent"}/${entity} ${id}`);
    } else if (what === "run") {
      const key = `crash-worker/${entity} ${rest[0]}`;
      const attempt = Number(rest[1]);
      const before = attempts.get(key) ?? 0;
      totals.runs += 1;
      if (before > 0) totals.interrupted += 1;
      if (attempt <= before)
        totals.violations.push(`Attempt ${attempt} of ${key} came after ${before}`);
      attempts.set(key, attempt);
    }
  }
  totals.acknowledged = acknowledged.size;
}

/** Adds what breaks the invariants of the stored rows. */
export function look(
  file: string,
  acknowledged: ReadonlySet<string>,
  { violations }: Pick<CrashTotals, "violations">,
): void {
  const db = new DatabaseSync(file);
  const all = (sql: string): Record<string, unknown>[] => db.prepare(sql).all();
  const none = (what: string, sql: string): void => {
    const rows = all(sql);
    if (rows.length > 0) violations.push(`${what}: ${JSON.stringify(rows.slice(0, 3))}`);
  };
  const stored = new Set(
    all("SELECT agent, id FROM agents_events").map(
      (r) => `${String(r["agent"])} ${String(r["id"])}`,
    ),
  );
  const lost = [...acknowledged].filter((key) => !stored.has(key));
  if (lost.length > 0) violations.push(`Acknowledged and lost: ${lost.slice(0, 3).join(", ")}`);
  none(
    "An id twice",
    "SELECT agent, provider, id FROM agents_events GROUP BY 1, 2, 3 HAVING count(*) > 1",
  );
  none(
    "A gap in seq",
    "SELECT agent, count(*) AS n, max(seq) AS last FROM agents_events GROUP BY agent HAVING count(*) <> max(seq) OR min(seq) <> 1",
  );
  none(
    "Two jobs of an event",
    "SELECT agent, event_seq FROM agents_jobs GROUP BY 1, 2 HAVING count(*) > 1",
  );
  none(
    "An event that is neither queued nor done",
    `SELECT e.agent, e.id FROM agents_events e WHERE e.agent LIKE 'crash-worker/%'
      AND NOT EXISTS (SELECT 1 FROM agents_jobs j WHERE j.agent = e.agent AND j.event_seq = e.seq)
      AND NOT EXISTS (SELECT 1 FROM crash_done d WHERE d.actor = e.agent AND d.id = e.id)`,
  );
  none("A dead letter", "SELECT agent, id, error FROM agents_dead");
  none("Damage", "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'");
  db.close();
}

/** Lets the queues run dry; then every event has been handled, and nothing is left. */
async function drain(
  dataDir: string,
  file: string,
  attempts: Map<string, number>,
  totals: CrashTotals,
): Promise<void> {
  const child = start("node", "crash-child.ts", ["node", dataDir, "0"]);
  let output = "";
  child.stdout.on("data", (chunk: Uint8Array) => {
    output += new TextDecoder().decode(chunk);
  });
  const db = new DatabaseSync(file, { timeout: 5000 });
  const until = Date.now() + DRAIN_MS;
  const left = (): number =>
    Number(db.prepare("SELECT count(*) AS n FROM agents_jobs").get()?.["n"]);
  while (left() > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
  if (left() > 0) totals.violations.push(`${left()} jobs never ran`);
  db.close();
  child.kill("SIGKILL");
  await exitOf(child);
  hear(output.split("\n").slice(0, -1), new Set(), attempts, { ...totals, acknowledged: 0 });
  look(file, new Set(), totals);
}
