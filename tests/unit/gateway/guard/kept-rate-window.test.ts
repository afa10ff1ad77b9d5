import { openPlatform } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  keptRateWindow,
  type KeptRateWindow,
  rateSchema,
} from "../../../../core/gateway/guard/kept-rate-window.ts";
import { initialSettings } from "../../../../core/gateway/account/settings/settings.ts";
import { SqlError, type SqlErrorReason } from "../../../../core/sql/sql-error.ts";
import type { ActorContext, ActorKind, Platform, Sql } from "../../../../core/ports.ts";
import { eventually } from "../../../cases/eventually.ts";

const LIMIT = 10;

/** A gateway of which an instance can end without a word. */
const kind: ActorKind = {
  name: "kept-rate-window",
  schema: [rateSchema],
  async start(context) {
    let failure: SqlErrorReason | null = null;
    let writes = 0;
    let written: Promise<unknown> = Promise.resolve();
    const sql: Sql = {
      ...context.sql,
      all: (...query) => context.sql.all(...query),
      batch: async (statements, how) => {
        if (failure !== null) throw new SqlError(failure, failure);
        writes += 1;
        const work = context.sql.batch(statements, how);
        written = work;
        return work;
      },
    };
    // What one instance has planned does not happen after its end.
    const open = (): Promise<KeptRateWindow> => keptRateWindow({ ...context, sql });
    let window = await open();
    const admit = async (technique: string) =>
      window.admit({
        ...initialSettings("g", 0, true),
        rate_limiting_interval: 1_000_000_000,
        rate_limiting_limit: LIMIT,
        rate_limiting_technique: technique === "sliding" ? "sliding" : "fixed",
      });
    return {
      methods: {
        async take(technique: string, count: number) {
          const waits = await Promise.allSettled(
            Array.from({ length: count }, () => admit(technique)),
          );
          return waits.filter((one) => one.status === "fulfilled" && one.value === 0).length;
        },
        async kill() {
          window.forget();
          await written;
          window = await open();
        },
        fail: (reason: SqlErrorReason | null) => void (failure = reason),
        writes: () => writes,
        ahead: () => aheadOf(context),
      },
    };
  },
};

async function aheadOf({ name, sql }: ActorContext): Promise<number> {
  const [row] = await sql.all("SELECT state FROM gateway_rate WHERE actor = ?", [name]);
  return (JSON.parse(String(row?.["state"])) as { readonly ahead: number }).ahead;
}

describe.each(["fixed", "sliding"])("the %s rate window of a gateway", (technique) => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await openPlatform();
    platform.actors.define(kind);
  });
  afterAll(() => platform.close());
  const gatewayOf = (name: string) => {
    const ref = platform.actors.get(kind.name, `acme/${technique}-${name}`);
    return {
      take: async (count: number) => Number(await ref.call("take", technique, count)),
      ref,
    };
  };

  it("never lets in too many when its process is killed at any time", async () => {
    const { ref, take } = gatewayOf("killed");
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
    const { take } = gatewayOf("exact");
    expect([await take(1), await take(3), await take(LIMIT), await take(1)]).toEqual([1, 3, 6, 0]);
  });

  it("gives back what it had ahead once no more come", async () => {
    const { ref, take } = gatewayOf("idle");
    for (let n = 0; n < 5; n += 1) await take(1);
    await eventually(async () => (await ref.call("ahead")) === 0, "the count is exact");
    await ref.call("kill");
    expect([await take(LIMIT), await take(1)]).toEqual([5, 0]);
  });

  it("writes once for many that come together", async () => {
    const { ref, take } = gatewayOf("together");
    await take(LIMIT);
    expect(Number(await ref.call("writes"))).toBeLessThan(LIMIT / 2);
  });

  it("lets in none that a database does not count, but for a full disk", async () => {
    const { ref, take } = gatewayOf("failing");
    await ref.call("fail", "busy");
    expect(await take(2)).toBe(0);
    await ref.call("fail", null);
    expect(await take(2)).toBe(2);
    await ref.call("fail", "full");
    expect([await take(LIMIT), await take(1)]).toEqual([8, 0]);
    await ref.call("fail", null);
  });
});
