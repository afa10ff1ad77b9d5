import { openPlatform } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { packedReply } from "../../../../core/gateway/cache/exact/packed-reply.ts";
import { replyCache } from "../../../../core/gateway/cache/exact/reply-cache.ts";
import { keptRateWindow, rateSchema } from "../../../../core/gateway/guard/kept-rate-window.ts";
import { useCounts, useSchema } from "../../../../core/gateway/account/records/use-counts.ts";
import { initialSettings } from "../../../../core/gateway/account/settings/settings.ts";
import { budgetsOf } from "../../../../core/gateway/account/keys/key-limit.ts";
import { keyLedger, usageSchema } from "../../../../core/gateway/account/keys/key-ledger.ts";
import { spendLedger, spendSchema } from "../../../../core/gateway/metering/spend/spend-ledger.ts";
import { spendFacts } from "../../../../core/gateway/metering/spend/spend-rules.ts";
import { recentMap } from "../../../../core/work/recent-map.ts";
import type { ActorKind, Platform, System } from "../../../../core/ports.ts";

const HOUR = 3_600_000;
const start = 1_000_000_000_000;
/** The machine's clock, and the time that has really passed since the start. */
let wall = start;
let elapsed = 0;
let platform: Platform | undefined;
beforeEach(() => {
  [wall, elapsed] = [start, 0];
});
afterEach(async () => {
  await platform?.close();
  platform = undefined;
});

const clock = { now: () => wall, monotonic: () => elapsed };
const pass = (ms: number): void => {
  wall += ms;
  elapsed += ms;
};

/** A gateway's limits: ten seconds, sliding, of one request or one dollar. */
const kind: ActorKind = {
  name: "clock-jumps",
  schema: [...spendSchema, ...usageSchema, rateSchema, ...useSchema],
  async start(context) {
    const own = { ...context, system: { ...context.system, ...clock } };
    const settings = {
      ...initialSettings("g", start, true),
      rate_limiting_interval: 10,
      rate_limiting_limit: 1,
      rate_limiting_technique: "sliding" as const,
    };
    const sliding = { window: 10, technique: "sliding" } as const;
    const rules = [{ limit: 1, limitType: "cost" as const, ...sliding }];
    const spend = spendLedger(own, () => ({ rules }));
    const keys = keyLedger(own);
    const rate = await keptRateWindow(own);
    const uses = useCounts(own);
    const requests = [{ limitType: "requests", limit: 1, ...sliding }] as const;
    return {
      methods: {
        rate: async () => (await rate.admit(settings)) === 0,
        use: async () =>
          "entries" in
          (await uses.methods.takeUse(
            { scope: "", rule: "a" },
            { limitType: "requests", limit: 1, ...sliding },
          )),
        async spend() {
          return (
            "entries" in (await spend.methods.spendAdmit(spendFacts()("p", "m", [], null), WHOLE))
          );
        },
        async key() {
          return (
            "entries" in
            (await keys.reserve(budgetsOf("id", "the virtual key", requests), { requests: WHOLE }))
          );
        },
      },
    };
  },
};

const WHOLE = { needed: 1, guessed: 0 };

describe("a window of a limit", () => {
  it.each(["rate", "use", "spend", "key"])(
    "of a %s goes by the time that passes, whoever sets the clock",
    async (what) => {
      const own = await openPlatform();
      platform = own;
      own.actors.define(kind);
      const ref = own.actors.get(kind.name, `acme/${what}`);
      const take = async () => ref.call(what);
      expect([await take(), await take()]).toEqual([true, false]);
      wall -= HOUR;
      pass(9000);
      expect(await take()).toBe(false);
      pass(11_001);
      expect([await take(), await take()]).toEqual([true, false]);
      wall += 2 * HOUR;
      expect(await take()).toBe(false);
      pass(20_001);
      expect(await take()).toBe(true);
    },
  );
});

describe("what is kept for a time", () => {
  it("is forgotten when that has passed, whoever sets the clock", async () => {
    const map = recentMap<number>(10, 1000, clock);
    map.set("a", 1);
    wall += HOUR;
    expect(map.get("a")).toBe(1);
    wall -= 2 * HOUR;
    pass(1001);
    expect(map.get("a")).toBeUndefined();
  });

  it("leaves the memory of the cache then, too", () => {
    const system: Partial<System> = clock;
    const cache = replyCache(system as System, 100_000);
    const reply = { status: 200, headers: [], chunks: [new Uint8Array(1)], streamed: false };
    cache.put("a", { packed: packedReply(reply), expiresAt: wall + 60_000 });
    wall += HOUR;
    expect(cache.kept("a")).not.toBeNull();
    wall -= 2 * HOUR;
    pass(60_001);
    expect(cache.kept("a")).toBeNull();
  });
});
