import { describe, expect, it } from "vitest";
import { settlements } from "../../../../core/gateway/account/keys/settlements.ts";
import type { BudgetAlert, Settlement } from "../../../../core/gateway/metering/ledger/budget.ts";
import { callLimits, type LimitParts } from "../../../../core/gateway/account/keys/call-limits.ts";
import { initialSettings } from "../../../../core/gateway/account/settings/settings.ts";
import type { Call, Step } from "../../../../core/gateway/call/call.ts";
import { priceBook } from "../../../../core/gateway/prices/price-book.ts";
import type { System } from "../../../../core/ports.ts";

const entry = { rule: "r", scope: "", limitType: "cost", slice: 0, ends: 1, reserved: 1 } as const;
const used = (cost: number): Settlement => ({ entries: [entry], amounts: { cost } });

function queue() {
  const calls: [ledger: string, costs: unknown[]][] = [];
  const background: Promise<unknown>[] = [];
  const told: unknown[] = [];
  const logged: string[] = [];
  const waitUntil = (work: Promise<unknown>): void => void background.push(work);
  const given = {
    system: { waitUntil, now: () => 1 } as Partial<System> as System,
    log: (_: string, message: string) => void logged.push(message),
    report: (account: string, alerts: readonly BudgetAlert[]) => void told.push(account, alerts),
  };
  const limits = (ledger: string, failure?: Error) => ({
    ledger,
    account: "acme",
    ownerOf: () => ({ gateway: "one" }),
    settle(all: readonly Settlement[]) {
      calls.push([ledger, all.map(({ amounts }) => amounts.cost)]);
      return failure === undefined ? Promise.resolve([]) : Promise.reject(failure);
    },
  });
  return { ...settlements(given), given, limits, calls, background, told, logged };
}

describe("settlements()", () => {
  it("enters what ends together by one call for each ledger, within the turn", async () => {
    const { add, limits, calls, background, told } = queue();
    add(limits("acme/one"), used(1));
    add(limits("acme/two"), used(2));
    add(limits("acme/one"), used(3));
    expect(calls).toEqual([]);
    await Promise.resolve();
    expect(calls).toEqual([
      ["acme/one", [1, 3]],
      ["acme/two", [2]],
    ]);
    await Promise.all(background);
    expect(told).toEqual(["acme", [], "acme", []]);
    add(limits("acme/one"), used(4));
    await Promise.resolve();
    expect(calls[2]).toEqual(["acme/one", [4]]);
  });

  it("enters at once what waits when it is asked to, and nothing twice", async () => {
    const { add, flush, limits, calls } = queue();
    flush();
    add(limits("acme/one"), used(1));
    flush();
    expect(calls).toEqual([["acme/one", [1]]]);
    await Promise.resolve();
    expect(calls).toHaveLength(1);
  });

  it("logs what could not be entered, and goes on", async () => {
    const { add, limits, calls, background, logged } = queue();
    add(limits("acme/one", new Error("no database")), used(1));
    add(limits("acme/two"), used(2));
    await Promise.resolve();
    await Promise.all(background);
    expect(logged).toEqual(["What requests used could not be entered in their limits"]);
    expect(calls).toHaveLength(2);
  });
});

describe("the limits of calls", () => {
  it("settle what has ended before they let the next request in", async () => {
    const { given } = queue();
    const asked: string[] = [];
    const ledger = {
      spendAdmit() {
        asked.push("admit");
        return Promise.resolve({ entries: [entry], alerts: [] });
      },
      spendSettle() {
        asked.push("settle");
        return Promise.resolve([]);
      },
    };
    const store: LimitParts["store"] = { at: () => ledger };
    const limits = callLimits({
      ...given,
      targets: { providers: {}, demo: false },
      store,
    } as Partial<LimitParts> as LimitParts);
    const rules = [{ limit: 1, limitType: "cost" as const, window: 3600 }];
    const spend = { rules, on_unknown: "allow" as const };
    const call = {
      name: { account: "acme", gateway: "one" },
      settings: { ...initialSettings("one", 1, false), spend_limits: spend },
      controls: {},
      prices: priceBook(),
    } as Partial<Call> as Call;
    const step = {
      slug: "openai",
      rest: "chat/completions",
      method: "POST",
      query: "",
      headers: [],
      body: null,
    } as Partial<Step> as Step;
    const { settle } = await limits.leave(step, call);
    settle(0.5);
    await limits.leave(step, call);
    expect(asked).toEqual(["admit", "settle", "admit"]);
  });
});
