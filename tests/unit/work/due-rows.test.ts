import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { ActorContext, ActorKind, Platform, SqlRow } from "../../../core/ports.ts";
import { delayAfter, type RetrySchedule } from "../../../core/work/backoff.ts";
import { dueRows, isClaimed } from "../../../core/work/due-rows.ts";

const ROWS = dueRows({
  table: "due_rows_work",
  key: ["actor", "id"],
  attempts: "tries",
  open: "state = 'open'",
  leaseMs: 100,
});
const ALONE = dueRows({
  table: "due_rows_work",
  key: ["actor", "id"],
  attempts: "tries",
  leaseMs: 0,
});

let inside: ActorContext;
const kind: ActorKind = {
  name: "due-rows",
  schema: [
    `CREATE TABLE IF NOT EXISTS due_rows_work (actor TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL,
      tries INTEGER NOT NULL, due BIGINT NOT NULL, PRIMARY KEY (actor, id))`,
  ],
  start(context) {
    inside = context;
    return {
      methods: {
        async claim(id: string, attempts: number, alone: boolean) {
          const rows = alone ? ALONE : ROWS;
          const [result] = await context.sql.batch([
            rows.claim({ key: [context.name, id], attempts }, 1000),
          ]);
          return isClaimed(result);
        },
        async change(id: string, what: "again" | "end" | "remove") {
          const key = [context.name, id];
          const statement =
            what === "again"
              ? ROWS.again(key, 5000, { tries: 7 })
              : ROWS.end(key, what === "end" ? { state: "over" } : undefined);
          await context.sql.batch([statement]);
        },
        async put(id: string) {
          await context.sql.batch([
            {
              sql: "INSERT INTO due_rows_work (actor, id, state, tries, due) VALUES (?, ?, 'open', 0, 10)",
              params: [context.name, id],
            },
          ]);
        },
        read: (id: string) =>
          context.sql.all(
            "SELECT state, tries, due FROM due_rows_work WHERE actor = ? AND id = ?",
            [context.name, id],
          ),
      },
    };
  },
};

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  platform.actors.define(kind);
});
afterAll(() => platform.close());

const call = (method: string, ...args: (string | number | boolean)[]): Promise<unknown> =>
  platform.actors.get("due-rows", "one").call(method, ...args);
const read = async (id: string): Promise<SqlRow | undefined> =>
  ((await call("read", id)) as SqlRow[])[0];

describe("dueRows()", () => {
  it("counts an attempt and leases the row, once for each attempt", async () => {
    await call("put", "a");
    expect(await call("claim", "a", 0, false)).toBe(true);
    expect(await read("a")).toEqual({ state: "open", tries: 1, due: 1100 });
    // As it was read before the first claim.
    expect(await call("claim", "a", 0, false)).toBe(false);
    expect(await call("claim", "a", 1, false)).toBe(true);
  });

  it("leaves the time of a row that one instance alone attempts", async () => {
    await call("put", "b");
    expect(await call("claim", "b", 0, true)).toBe(true);
    expect(await read("b")).toEqual({ state: "open", tries: 1, due: 10 });
  });

  it("claims no row that is over or gone, and changes none", async () => {
    await call("put", "c");
    await call("change", "c", "again");
    expect(await read("c")).toEqual({ state: "open", tries: 7, due: 5000 });
    await call("change", "c", "end");
    expect(await call("claim", "c", 7, false)).toBe(false);
    await call("change", "c", "again");
    expect(await read("c")).toEqual({ state: "over", tries: 7, due: 5000 });
    await call("change", "c", "remove");
    expect(await read("c")).toBeUndefined();
    expect(await call("claim", "c", 7, true)).toBe(false);
  });

  it("is of its own instance", async () => {
    await call("put", "d");
    const other = platform.actors.get("due-rows", "two");
    expect(await other.call("claim", "d", 0, true)).toBe(false);
    expect(inside.name).toBe("two");
  });
});

describe("delayAfter()", () => {
  const by = (byte: number): { random: () => Uint8Array } => ({
    random: () => new Uint8Array([byte]),
  });

  it("follows a list, and ends with it", () => {
    const list: RetrySchedule = { delays: [100, 1000], spread: [1, 1] };
    expect([1, 2, 3].map((attempt) => delayAfter(list, attempt, by(7)))).toEqual([100, 1000, null]);
  });

  it("doubles up to the longest delay", () => {
    const doubling: RetrySchedule = { delays: { baseMs: 10, maxMs: 35 }, spread: [1, 1] };
    expect([1, 2, 3, 2000].map((attempt) => delayAfter(doubling, attempt, by(0)))).toEqual([
      10, 20, 35, 35,
    ]);
  });

  it("draws each delay between two factors", () => {
    const wide: RetrySchedule = { delays: [1000], spread: [0.8, 1.2] };
    expect([0, 127, 255].map((byte) => delayAfter(wide, 1, by(byte)))).toEqual([802, 1000, 1200]);
  });
});
