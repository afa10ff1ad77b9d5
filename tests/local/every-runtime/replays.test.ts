import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { LONG, eventually } from "../../cases/eventually.ts";
import { exitOf, missing, runtimes, start, type LocalRuntimeName } from "../runtimes.ts";

/** What the child stores: 150 events in each of three entities, of which every fifth is given up. */
const EVENTS = 450;
const DOOMED = 90;

function query(dataDir: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(join(dataDir, "causey.db"), { readOnly: true, timeout: 5000 });
  try {
    return db.prepare(sql).all();
  } finally {
    db.close();
  }
}

function count(dataDir: string, from: string): number {
  return Number(query(dataDir, `SELECT COUNT(*) AS n FROM ${from}`)[0]?.["n"]);
}

/** One life of the server, until it is killed: at a random run of a replay, or once `isDone`. */
async function live(
  runtime: LocalRuntimeName,
  dataDir: string,
  what: string,
  isDone?: () => boolean,
): Promise<void> {
  const child = start(runtime, "replay-child.ts", [runtime, dataDir, what]);
  onTestFinished(() => void child.kill("SIGKILL"));
  let runs = 0;
  child.stdout.on("data", (chunk: Uint8Array) => {
    runs += new TextDecoder().decode(chunk).split("run\n").length - 1;
    // Soon enough that no life before the last comes to the end of its replay.
    if (isDone === undefined && runs > 3 && (runs > 15 || Math.random() < 0.1))
      child.kill("SIGKILL");
  });
  const ended = exitOf(child);
  if (isDone !== undefined) {
    await eventually(isDone, `the server is done with ${what}`);
    child.kill("SIGKILL");
  }
  expect(await ended).toBe("SIGKILL");
}

/** The index knows the dead letters that there are, and nothing else. */
function isTold(dataDir: string): boolean {
  const [dead, told] = ["agents_dead", "webhooks_index_failures"].map((table) =>
    query(dataDir, `SELECT id FROM ${table} ORDER BY id`).map(({ id }) => String(id)),
  );
  return dead?.length === DOOMED && dead.join() === told?.join();
}

function isQuiet(dataDir: string): boolean {
  return count(dataDir, "agents_jobs") === 0 && isTold(dataDir);
}

/** Runs per event that the replay of `status` has to have made, and how they were made. */
function look(dataDir: string, before: number, wanted: number): void {
  const rows = query(
    dataDir,
    `SELECT actor, id, job, COUNT(*) AS runs, MAX(attempt) AS attempt FROM replayed_runs
      WHERE again = 1 AND rowid > ${before} GROUP BY actor, id, job`,
  );
  // Each event by one job; a run that a kill cut off was made again, with the next attempt.
  expect(new Set(rows.map(({ actor, id }) => `${String(actor)} ${String(id)}`)).size).toBe(wanted);
  expect(rows).toHaveLength(wanted);
  for (const row of rows) expect(Number(row["runs"])).toBeLessThanOrEqual(Number(row["attempt"]));
}

describe("replays in a server that is killed", () => {
  it("go on after it, lose no event and queue none twice", LONG, async ({ skip }) => {
    const there = runtimes.filter((runtime) => missing(runtime) === false);
    if (there.length === 0) skip("No runtime is installed in tools/");
    const dataDir = mkdtempSync(join(inject("scratch"), "replays-"));
    const runtimeOf = (life: number): LocalRuntimeName => there[life % there.length] ?? "node";
    await live("node", dataDir, "fill", () => {
      try {
        return count(dataDir, "agents_events") === EVENTS && isQuiet(dataDir);
      } catch {
        // The tables are made by the child.
        return false;
      }
    });
    for (const [of, wanted] of [
      ["events", EVENTS],
      ["dead-letters", DOOMED],
    ] as const) {
      const before = Number(query(dataDir, "SELECT MAX(rowid) AS n FROM replayed_runs")[0]?.["n"]);
      const isCompleted = (): boolean =>
        query(dataDir, "SELECT id FROM webhooks_replays WHERE status = 'running'").length === 0 &&
        isQuiet(dataDir);
      await live(runtimeOf(0), dataDir, of);
      for (let life = 1; life <= 3 && !isCompleted(); life++)
        await live(runtimeOf(life), dataDir, "go on");
      await live(runtimeOf(1), dataDir, "go on", isCompleted);
      look(dataDir, before, wanted);
      const replays = query(
        dataDir,
        `SELECT status, queued, entities, done, failed FROM webhooks_replays WHERE filter LIKE '%"${of}"%'`,
      );
      expect(replays).toEqual([
        { status: "completed", queued: wanted, entities: 3, done: 3, failed: 0 },
      ]);
      // Those that cannot succeed are dead letters again, once each.
      const dead = "(SELECT DISTINCT agent, event_seq FROM agents_dead)";
      expect([count(dataDir, dead), count(dataDir, "agents_dead")]).toEqual([DOOMED, DOOMED]);
    }
  });
});
