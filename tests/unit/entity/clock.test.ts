import { describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { startClock, type Clock } from "../../../core/entity/clock.ts";
import { noActors } from "../../fakes/agents-crowd.ts";
import type { ActorContext, Statement, StatementResult } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";

/** An actor's store: commits come in the order of their calls, each some turns after its call. */
function store(delays: readonly number[]) {
  const due: number[] = [];
  let alarm: number | null = null;
  let turn = 0;
  let tail: Promise<unknown> = Promise.resolve();
  let failing = false;
  function commit(
    statements: readonly Statement[],
    at?: number | null,
  ): Promise<StatementResult[]> {
    const wait = delays[turn++ % Math.max(1, delays.length)] ?? 0;
    const work = tail.then(async () => {
      for (let i = 0; i < wait; i++) await Promise.resolve();
      if (failing) throw new SqlError("full", "disk full");
      for (const { params = [] } of statements) due.push(Number(params[0]));
      if (at !== undefined) alarm = at;
      return [];
    });
    tail = work.catch(() => undefined);
    return work;
  }
  const context: ActorContext = {
    name: "test",
    steady: () => 1000,
    actors: noActors,
    sockets: { accept: () => new Response(), broadcast: () => undefined, connections: () => [] },
    sql: {
      dialect: "sqlite",
      all: () => Promise.resolve([]),
      batch: (statements) => commit(statements),
      close: () => Promise.resolve(),
    },
    alarm: (at: number | null, together: readonly Statement[] = []) => commit(together, at),
    system: {
      now: () => 1000,
      monotonic: () => 1000,
      id: () => "id",
      random: (length) => new Uint8Array(length),
      sleep: () => Promise.resolve(),
      waitUntil: () => undefined,
    },
  };
  return {
    context,
    due,
    nextDue: () => Promise.resolve(due.length === 0 ? null : Math.min(...due)),
    alarm: () => alarm,
    fail: (value: boolean) => {
      failing = value;
    },
  };
}

const row = (at: number): Statement => ({ sql: "row", params: [at] });
const write = (clock: Clock, at: number): Promise<unknown> => clock.write([row(at)], at);

describe("the clock of an instance", () => {
  it("never leaves a row without an alarm, however writes and alarms interleave", async () => {
    const step = fc.oneof(
      fc.record({ write: fc.integer({ min: 1000, max: 5000 }) }),
      fc.record({ alarm: fc.integer({ min: 0, max: 5 }) }),
      fc.record({ pause: fc.integer({ min: 0, max: 8 }) }),
    );
    const delays = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), delays, async (steps, waits) => {
        const db = store(waits);
        const clock = await startClock(db.context, db.nextDue);
        const running: Promise<unknown>[] = [];
        let mailbox: Promise<unknown> = Promise.resolve();
        for (const one of steps) {
          if ("write" in one) running.push(write(clock, one.write));
          else if ("pause" in one) for (let i = 0; i < one.pause; i++) await Promise.resolve();
          else {
            // An alarm that goes off handles the earliest rows, one alarm at a time.
            mailbox = mailbox.then(() =>
              clock.onAlarm(async () => {
                db.due.splice(0, one.alarm);
                await Promise.resolve();
              }),
            );
            running.push(mailbox);
          }
        }
        await Promise.all(running);
        const earliest = await db.nextDue();
        if (earliest === null) return;
        expect(db.alarm()).not.toBeNull();
        expect(db.alarm()).toBeLessThanOrEqual(earliest);
      }),
      { numRuns: 300 },
    );
  });

  it("sets the alarm anew after a write that failed", async () => {
    const db = store([0]);
    const clock = await startClock(db.context, db.nextDue);
    db.fail(true);
    await expect(write(clock, 2000)).rejects.toThrow("disk full");
    db.fail(false);
    await write(clock, 3000);
    expect(db.alarm()).not.toBeNull();
  });
});
