import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import * as v from "valibot";
import { reserveIn } from "../../../../core/gateway/metering/spend/spend.ts";
import type {
  Claim,
  LedgerEntry,
  Reservation,
  Settlement,
} from "../../../../core/gateway/metering/ledger/budget.ts";
import { sliceAt } from "../../../../core/gateway/metering/ledger/time-slices.ts";
import { spendLedger, spendSchema } from "../../../../core/gateway/metering/spend/spend-ledger.ts";
import {
  spendBudgets,
  spendFacts,
  type SpendFacts,
} from "../../../../core/gateway/metering/spend/spend-rules.ts";
import {
  type SpendLimits,
  spendLimits,
} from "../../../../core/gateway/account/settings/spend-settings.ts";
import { SqlError } from "../../../../core/sql/sql-error.ts";
import { initialSettings } from "../../../../core/gateway/account/settings/settings.ts";
import { gatewayStore } from "../../../../core/gateway/account/gateways/store.ts";
import type { ActorKind, Platform, Sql } from "../../../../core/ports.ts";

const facts = spendFacts()("openai", "gpt-4o", [], null);
const rule = { limit: 1, limitType: "cost" as const, window: 3600 };

describe("sliceAt()", () => {
  it("aligns fixed windows to the clock and lets sliding ones roll", () => {
    const now = 10_000_500;
    const { slice, since, ends } = sliceAt({ window: 100, technique: "fixed" }, now);
    expect([slice, since, ends]).toEqual([10_000_000, 10_000_000, 10_100_000]);
    const rolling = sliceAt({ window: 100, technique: "sliding" }, now);
    expect(rolling).toEqual({ slice: 10_000_500, since: 9_900_500, ends: 10_100_600 });
  });
});

describe("spendFacts()", () => {
  it("has the names of each request, whatever the one before has named", () => {
    const factsOf = spendFacts();
    const named = (...asked: Parameters<typeof factsOf>) => factsOf(...asked).models;
    expect(named("openai", "a,b", [], null)).toEqual(["a,b", "openai/a,b"]);
    expect(named("openai", "a", ["b"], null)).toEqual(["a", "b", "openai/a", "openai/b"]);
    expect(named("grok", "a", ["b"], null)).toEqual(["a", "b", "grok/a", "grok/b"]);
    expect(factsOf("grok", "a", ["b"], "{}").metadata).toBe("{}");
    expect(factsOf("grok", "a", null, null)).toMatchObject({
      models: ["a", "grok/a"],
      isUnread: true,
    });
  });
});

describe("spendBudgets()", () => {
  it("applies a rule only to its models, providers and metadata values", () => {
    const only = (more: object, metadata: string | null = null): number =>
      spendBudgets({ rules: [{ ...rule, ...more }] }, { ...facts, metadata }).length;
    expect(only({ model: { mode: "filter", values: ["gpt-4o"] } })).toBe(1);
    expect(only({ model: { mode: "filter", values: ["gpt-5"] } })).toBe(0);
    expect(only({ provider: { mode: "filter", values: ["anthropic"] } })).toBe(0);
    const team = { metadata: { team: { mode: "filter", values: ["a", "7"] } } };
    expect(only(team, '{"team":"a"}')).toBe(1);
    expect(only(team, '{"team":7}')).toBe(1);
    expect(only(team, '{"team":"b"}')).toBe(0);
    expect(only(team)).toBe(0);
  });

  it("gives every value of a partition key its own budget, and one to requests without the key", () => {
    const limits: SpendLimits = { rules: [{ ...rule, metadata: { user: { mode: "partition" } } }] };
    const part = (metadata: string | null): string | undefined =>
      spendBudgets(limits, { ...facts, metadata })[0]?.scope;
    expect(part('{"user":"ann"}')).not.toBe(part('{"user":"bob"}'));
    expect(part('{"user":"ann","x":1}')).toBe(part('{"user":"ann"}'));
    expect(part(null)).toBe(part('{"other":1}'));
    expect(part(null)).not.toBe(part('{"user":"null"}'));
    expect(part('{"toString":1}')).toBe(part(null));
  });

  it("leaves out what is switched off", () => {
    expect(spendBudgets(null, facts)).toEqual([]);
    expect(spendBudgets({ enabled: false, rules: [rule] }, facts)).toEqual([]);
    expect(spendBudgets({ rules: [{ ...rule, enabled: false }] }, facts)).toEqual([]);
  });
});

describe("the setting spend_limits", () => {
  it("takes the SDK's rules and refuses misfits", () => {
    const good = {
      enabled: true,
      rules: [
        {
          ...rule,
          id: "team",
          technique: "sliding",
          model: { mode: "filter", values: ["m"] },
          metadata: { team: { mode: "partition" }, tier: { mode: "filter", values: ["pro"] } },
        },
      ],
    };
    expect(v.parse(spendLimits, good)).toEqual(good);
    for (const bad of [
      { rules: [{ ...rule, limit: -1 }] },
      { rules: [{ ...rule, limitType: "count" }] },
      { rules: [{ ...rule, window: 0 }] },
      { rules: [{ ...rule, metadata: { team: { mode: "group" } } }] },
      { rules: Array.from({ length: 21 }, () => rule) },
      {
        rules: [
          { ...rule, id: "a" },
          { ...rule, id: "a" },
        ],
      },
    ]) {
      expect(v.safeParse(spendLimits, bad).success).toBe(false);
    }
  });
});

describe("the spend ledger", () => {
  let platform: Platform | undefined;
  let clock = 1_000_000_000_000;
  let failure: Error | null = null;
  let failures = 0;
  afterEach(() => platform?.close());

  /** Fails where it has to. */
  const watched = (sql: Sql): Sql => ({
    ...sql,
    all: (text, params, options) => sql.all(text, params, options),
    batch(statements, options) {
      if (failure === null) return sql.batch(statements, options);
      failures++;
      return Promise.reject(failure);
    },
  });

  async function ledger(limits: SpendLimits) {
    clock = 1_000_000_000_000;
    [failure, failures] = [null, 0];
    platform = await openPlatform();
    const kind: ActorKind = {
      name: "spend-test",
      schema: spendSchema,
      interleaved: ["spendAdmit", "spendSettle"],
      start(context) {
        const system = { ...context.system, now: () => clock, monotonic: () => clock };
        const sql = watched(context.sql);
        const begin = () => spendLedger({ ...context, system, sql }, () => limits);
        let ledgers = begin();
        return {
          methods: {
            spendAdmit: (asked: SpendFacts, claim: Claim) =>
              ledgers.methods.spendAdmit(asked, claim),
            spendSettle: (ended: readonly Settlement[]) => ledgers.methods.spendSettle(ended),
            restart: () => void (ledgers = begin()),
            async forget() {
              await sql.batch([ledgers.forget()]);
            },
            run: (text: string) => sql.all(text, []),
          },
        };
      },
    };
    platform.actors.define(kind);
    const ref = platform.actors.get(kind.name, "acme/one");
    return {
      restart: async () => void (await ref.call("restart")),
      forget: async () => void (await ref.call("forget")),
      run: async (text: string) => ref.call("run", text),
      admit: async (needed: number, more: object = {}, guessed: number = 0) =>
        (await ref.call("spendAdmit", { ...facts, ...more }, { needed, guessed })) as Reservation,
      settle: async (entries: readonly LedgerEntry[], amount: number): Promise<void> => {
        await ref.call("spendSettle", [{ entries, amounts: { cost: amount } }]);
      },
    };
  }

  async function spend(amount: number, { admit, settle }: Awaited<ReturnType<typeof ledger>>) {
    await settle(await reserveIn({ reserve: () => admit(0) }, {}), amount);
  }

  it("refuses with a 429 that names the rule once the budget is spent", async () => {
    const calls = await ledger({ rules: [{ ...rule, id: "daily" }] });
    await spend(0.6, calls);
    await spend(0.6, calls);
    await expect(spend(0.6, calls)).rejects.toMatchObject({
      status: 429,
      code: 2003,
      message: 'Spend limit reached: The rule "daily" allows 1 USD per 3600 s',
    });
    clock += 3_600_000;
    await spend(0.6, calls);
  });

  it("admits exactly what fits when the cost is known and all come at once", async () => {
    const calls = await ledger({ rules: [rule] });
    const decisions = await Promise.all(Array.from({ length: 40 }, () => calls.admit(0.1)));
    expect(decisions.filter((one) => "entries" in one)).toHaveLength(10);
  });

  it("gives back what was set aside and not spent", async () => {
    const calls = await ledger({ rules: [rule] });
    const first = await calls.admit(1);
    expect("refused" in (await calls.admit(0))).toBe(true);
    if ("entries" in first) await calls.settle(first.entries, 0.2);
    expect("entries" in (await calls.admit(0))).toBe(true);
  });

  it("lets a sliding window free its budget entry by entry", async () => {
    const calls = await ledger({ rules: [{ ...rule, window: 10, technique: "sliding" }] });
    await spend(0.5, calls);
    clock += 6000;
    await spend(0.5, calls);
    const refused = await calls.admit(0);
    expect("refused" in refused && refused.wait).toBe(4010);
    clock += 4020;
    await spend(0.4, calls);
    expect("entries" in (await calls.admit(0))).toBe(true);
  });

  it("keeps partitions apart", async () => {
    const calls = await ledger({ rules: [{ ...rule, metadata: { user: { mode: "partition" } } }] });
    const ann = { metadata: '{"user":"ann"}' };
    expect("entries" in (await calls.admit(1, ann))).toBe(true);
    expect("refused" in (await calls.admit(0, ann))).toBe(true);
    expect("entries" in (await calls.admit(0, { metadata: '{"user":"bob"}' }))).toBe(true);
  });

  it("refuses an absurd estimate once the budget is spent, and counts what others spent beside it", async () => {
    const calls = await ledger({ rules: [rule] });
    await spend(1, calls);
    for (const estimate of [1e6, 1e15, 1e300]) {
      expect("refused" in (await calls.admit(estimate))).toBe(true);
    }
    const others = await ledger({ rules: [rule] });
    const many = await Promise.all(Array.from({ length: 50 }, () => others.admit(1e300)));
    // What can never fit is in nobody's way, at no moment.
    expect(many.filter((one) => "entries" in one)).toHaveLength(0);
    expect("entries" in (await others.admit(1))).toBe(true);
  });

  it("sets aside as much of a guess as is left, and refuses what is needed and does not fit", async () => {
    const calls = await ledger({ rules: [rule] });
    const first = await calls.admit(0.1, {}, 0.5);
    const second = await calls.admit(0.1, {}, 0.5);
    const reserved = [first, second].map((one) =>
      "entries" in one ? one.entries.map((entry) => entry.reserved) : one,
    );
    expect(reserved).toEqual([[0.6e10], [0.4e10]]);
    expect("refused" in (await calls.admit(0))).toBe(true);
    if ("entries" in first) await calls.settle(first.entries, 0.1);
    const refused = await calls.admit(0.6);
    expect("refused" in refused && refused.refused).toMatch(
      /1 USD per 3600 s; 0\.5 USD are left, and this request may use 0\.6 USD\. .*max_tokens/,
    );
    expect("entries" in (await calls.admit(0.5))).toBe(true);
  });

  it("never has more set aside than a budget, whatever comes at once", async () => {
    const calls = await ledger({ rules: [rule, { ...rule, id: "second", limit: 0.7 }] });
    const claims = Array.from({ length: 60 }, (_, at) => [(at % 7) / 50, (at % 5) / 20] as const);
    const decisions = await Promise.all(
      claims.map(([needed, more]) => calls.admit(needed, {}, more)),
    );
    let reserved = 0;
    for (const one of decisions) if ("entries" in one) reserved += one.entries[1]?.reserved ?? 0;
    expect(reserved).toBe(0.7e10);
  });

  it("survives absurd amounts", async () => {
    const calls = await ledger({ rules: [rule] });
    const many = await Promise.all([0, 0, 0].map(() => calls.admit(0)));
    for (const one of many) {
      if ("entries" in one) await calls.settle(one.entries, 1e300);
    }
    expect("refused" in (await calls.admit(0))).toBe(true);
  });

  it("stores what it counts, so that a new instance goes on counting", async () => {
    const calls = await ledger({ rules: [rule] });
    await calls.admit(0.7);
    await expect.poll(() => calls.run("SELECT amount FROM gateway_spend")).toHaveLength(1);
    await calls.restart();
    expect("refused" in (await calls.admit(0.4))).toBe(true);
    expect("entries" in (await calls.admit(0.3))).toBe(true);
  });

  it("counts the rows that earlier versions have stored", async () => {
    const calls = await ledger({ rules: [{ ...rule, id: "daily" }] });
    const [slice, ends] = [clock - (clock % 3_600_000), clock + 3_600_000];
    await calls.run(`INSERT INTO gateway_spend (actor, rule, part, slice, ends, amount)
      VALUES ('acme/one', 'id:daily', '', ${slice}, ${ends}, 9000000000) RETURNING slice`);
    expect("refused" in (await calls.admit(0.2))).toBe(true);
    expect("entries" in (await calls.admit(0.1))).toBe(true);
  });

  it("keeps counting what it cannot store, and stores it with the next change", async () => {
    const calls = await ledger({ rules: [{ ...rule, metadata: { user: { mode: "partition" } } }] });
    failure = new SqlError("full", "The disk is full");
    await calls.admit(0.3);
    // Before the request, and a moment after it.
    await expect.poll(() => failures).toBe(2);
    failure = null;
    expect("refused" in (await calls.admit(0.8))).toBe(true);
    await calls.admit(0.5, { metadata: '{"user":"bob"}' });
    const stored = () => calls.run("SELECT amount FROM gateway_spend ORDER BY amount");
    await expect.poll(stored).toMatchObject([{ amount: 3_000_000_000 }, { amount: 5_000_000_000 }]);
  });

  it("begins again once everything was deleted, and takes nothing back from that", async () => {
    const calls = await ledger({ rules: [rule] });
    const first = await calls.admit(0.9);
    await calls.forget();
    if ("entries" in first) await calls.settle(first.entries, 0);
    expect("entries" in (await calls.admit(1))).toBe(true);
    expect("refused" in (await calls.admit(0))).toBe(true);
  });

  it("leaves no credit to the next gateway of a name", async () => {
    platform = await openPlatform();
    const store = gatewayStore({ platform, gateways: {} });
    const name = { account: "acme", gateway: "again" };
    const settings = { ...initialSettings("again", 1, false), spend_limits: { rules: [rule] } };
    await store.create("acme", settings);
    const before = await store.at(name).spendAdmit(facts, { needed: 0.9, guessed: 0 });
    await store.remove(name);
    await store.create("acme", settings);
    if ("entries" in before) {
      const { entries } = before;
      await store.at(name).spendSettle([{ entries, amounts: { cost: 0 } }]);
    }
    const decisions = [];
    for (let call = 0; call < 3; call++)
      decisions.push(
        "refused" in (await store.at(name).spendAdmit(facts, { needed: 0.5, guessed: 0 })),
      );
    expect(decisions).toEqual([false, false, true]);
  });
});
