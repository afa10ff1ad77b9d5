import { openPlatform } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Budget, Reservation } from "../../../../core/gateway/metering/ledger/budget.ts";
import { type Ledger, ledger } from "../../../../core/gateway/metering/ledger/ledger.ts";
import { spendSchema } from "../../../../core/gateway/metering/spend/spend-ledger.ts";
import type { ActorKind, Platform, Sql } from "../../../../core/ports.ts";
import { SqlError, type SqlErrorReason } from "../../../../core/sql/sql-error.ts";
import { eventually } from "../../../cases/eventually.ts";

const LIMIT = 10;
const budgets: readonly Budget[] = (["fixed", "sliding"] as const).map((technique) => ({
  rule: technique,
  scope: "",
  limitType: "requests",
  limit: LIMIT,
  window: 1_000_000_000,
  technique,
  text: () => technique,
}));
const table = { table: "gateway_spend", scope: "part", alerts: true } as const;
const claims = { requests: { needed: 1, guessed: 0 } };

/** A ledger of which an instance can end without a word. */
const kind: ActorKind = {
  name: "kept-ledger",
  schema: spendSchema,
  start(context) {
    let failure: SqlErrorReason | null = null;
    let [writes, pause] = [0, 0];
    let written: Promise<unknown> = Promise.resolve();
    let end = (): void => undefined;
    const open = (): Ledger => {
      let isOver = false;
      end = () => void (isOver = true);
      const sql: Sql = {
        ...context.sql,
        all: (...query) => context.sql.all(...query),
        batch: async (statements, how) => {
          if (pause > 0) await context.system.sleep(pause);
          // What one instance has planned does not happen after its end.
          if (isOver) return new Promise(() => undefined);
          if (failure !== null) throw new SqlError(failure, failure);
          writes += 1;
          const work = context.sql.batch(statements, how);
          written = work;
          return work;
        },
      };
      return ledger({ ...context, sql }, table);
    };
    let counting = open();
    const reserve = async (): Promise<Reservation> => counting.reserve(budgets, claims);
    return Promise.resolve({
      methods: {
        async take(count: number) {
          const all = await Promise.allSettled(Array.from({ length: count }, reserve));
          return all.filter((one) => one.status === "fulfilled" && "entries" in one.value).length;
        },
        async kill() {
          end();
          await written;
          counting = open();
        },
        fail: (reason: SqlErrorReason | null) => void (failure = reason),
        writes: () => writes,
        /** Counts a request in the shortest slices there are, while each write takes longer than many of them. */
        async short() {
          pause = 30;
          const shortest: Budget = {
            ...budgets[0]!,
            rule: "short",
            window: 1,
            technique: "sliding",
          };
          return "entries" in (await counting.reserve([shortest], claims));
        },
        /** Counts a request in that many scopes; waits until one of the counts is read again. */
        async crowd(count: number) {
          let reads = 0;
          const sql: Sql = {
            ...context.sql,
            async all() {
              reads += 1;
              return [];
            },
            batch: async () => [],
          };
          const crowded = ledger({ ...context, sql }, table);
          const many = Array.from({ length: count }, (_, n) => ({
            ...budgets[0]!,
            scope: `s${n}`,
          }));
          await crowded.reserve(many, claims);
          await eventually(async () => {
            const before = reads;
            await crowded.sums(many.slice(0, 1));
            return reads > before;
          }, "the counts have left the memory");
        },
        /** Counts requests by one budget until its row is ahead, then one by another and that. */
        async both() {
          const [first, second] = budgets;
          const ofFirst = async () => counting.reserve([first!], claims);
          await Promise.all([ofFirst(), ofFirst(), ofFirst()]);
          await ofFirst();
          return "entries" in (await counting.reserve([second!, first!], claims));
        },
        async stored() {
          // Without the markers of budgets that are half used.
          const rows = await context.sql.all(
            "SELECT amount FROM gateway_spend WHERE actor = ? AND rule NOT LIKE 'told/%'",
            [context.name],
          );
          return rows.map((row) => Number(row["amount"]));
        },
      },
    });
  },
};

describe("a ledger that is kept", () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await openPlatform();
    platform.actors.define(kind);
  });
  afterAll(() => platform.close());
  const open = (name: string) => {
    const ref = platform.actors.get(kind.name, `acme/${name}`);
    return { take: async (count: number) => Number(await ref.call("take", count)), ref };
  };

  it("never lets in too many when its process is killed at any time", async () => {
    const { ref, take } = open("killed");
    let admitted = 0;
    for (const count of [1, 1, 2, 1, 3]) {
      admitted += await take(count);
      await ref.call("kill");
    }
    admitted += await take(LIMIT);
    expect(admitted).toBeLessThanOrEqual(LIMIT);
    expect(admitted).toBeGreaterThan(0);
    await ref.call("kill");
    expect(await take(1)).toBe(0);
  });

  it("lets in exactly as many as its limit, however they come", async () => {
    const { take } = open("exact");
    expect([await take(1), await take(3), await take(LIMIT), await take(1)]).toEqual([1, 3, 6, 0]);
  });

  it("gives back what it had ahead once no more come", async () => {
    const { ref, take } = open("idle");
    for (let n = 0; n < 5; n += 1) await take(1);
    const exact = async () => JSON.stringify(await ref.call("stored")) === "[5,5]";
    await eventually(exact, "the counts are exact");
    await ref.call("kill");
    expect([await take(LIMIT), await take(1)]).toEqual([5, 0]);
  });

  it("writes once for a request that comes alone", async () => {
    const { ref, take } = open("alone");
    await take(1);
    expect(await ref.call("stored")).toEqual([1, 1]);
    // Longer than the pause of its writes; an instance that is asked stays.
    for (let n = 0; n < 20; n += 1) {
      await new Promise((resolve) => setTimeout(resolve, 25));
      expect(await ref.call("writes")).toBe(1);
    }
  });

  it("writes once for requests that come together", async () => {
    const { ref, take } = open("together");
    await take(LIMIT);
    expect(await ref.call("writes")).toBe(1);
  });

  it("counts in the shortest slices although a write takes longer than many of them", async () => {
    const { ref } = open("short");
    expect(await ref.call("short")).toBe(true);
    expect(await ref.call("writes")).toBe(1);
  });

  it("takes no room back for which a request waits", async () => {
    const { ref } = open("both");
    expect(await ref.call("both")).toBe(true);
  });

  it("keeps no more than so many counts in memory once they are stored", async () => {
    const { ref } = open("crowd");
    await ref.call("crowd", 60_000);
  });

  it("lets requests in while the disk is full, and none that cannot be counted otherwise", async () => {
    const { ref, take } = open("failing");
    await ref.call("fail", "full");
    expect(await take(2)).toBe(2);
    await ref.call("fail", "busy");
    expect(await take(2)).toBe(0);
    await ref.call("fail", null);
    expect(await take(LIMIT)).toBe(LIMIT - 2);
  });
});
