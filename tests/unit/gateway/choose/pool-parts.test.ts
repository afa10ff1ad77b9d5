import { describe, expect, it } from "vitest";
import {
  modelPools,
  type ModelTarget,
} from "../../../../core/gateway/routing/pools/model-pools.ts";
import { targetOrder } from "../../../../core/gateway/routing/pools/target-order.ts";
import { targetHealth } from "../../../../core/gateway/routing/pools/target-health.ts";

const target = (id: string, weight: number = 1): ModelTarget => ({
  provider: "openai",
  model: id,
  key: undefined,
  weight,
  id,
});

/** Numbers that look random, the same ones in each run (a linear congruential generator). */
function numbers(): () => number {
  let state = 1;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return (state + 1) / 2 ** 32;
  };
}

/** How often each target is asked first. */
function shares(
  targets: readonly ModelTarget[],
  facts: { isCooling?: (one: ModelTarget) => boolean; session?: (turn: number) => string } = {},
): Record<string, number> {
  const counts: Record<string, number> = {};
  const random = numbers();
  for (let turn = 0; turn < 4000; turn++) {
    const session = facts.session?.(turn);
    const [first] = targetOrder(targets, { isCooling: () => false, random, ...facts, session });
    counts[first?.id ?? ""] = (counts[first?.id ?? ""] ?? 0) + 1;
  }
  return Object.fromEntries(
    Object.entries(counts).map(([id, count]) => [id, Math.round(count / 40) / 100]),
  );
}

describe("the order of a pool", () => {
  const [a, b, c] = [target("a", 3), target("b", 1), target("spare", 0)];

  it("shares requests by weights", () => {
    const { a: most = 0, b: few = 0, ...others } = shares([a, b, c]);
    expect([most > 0.7, most < 0.8, few > 0.2, few < 0.3, others]).toEqual([
      true,
      true,
      true,
      true,
      {},
    ]);
  });

  it("shares what a failing target leaves by the weights of the others", () => {
    const three = [target("a", 4), target("b", 2), target("c", 2)];
    const { b: one = 0, c: other = 0 } = shares(three, { isCooling: ({ id }) => id === "a" });
    expect([Math.abs(one - other) < 0.05, one + other]).toEqual([true, 1]);
  });

  it("asks a target of weight 0 when all others are cooling, and a cooling one last", () => {
    const facts = { random: numbers(), session: undefined };
    const order = (isCooling: (one: ModelTarget) => boolean): string =>
      targetOrder([c, b], { ...facts, isCooling })
        .map(({ id }) => id)
        .join(" ");
    expect(order(() => false)).toBe("b spare");
    expect(order(({ id }) => id === "b")).toBe("spare b");
    expect(order(() => true)).toBe("b spare");
  });

  it("keeps a session at one target, and sessions in the shares of the weights", () => {
    expect(shares([a, b], { session: () => "one" })).toEqual(
      expect.not.objectContaining({ a: expect.any(Number), b: expect.any(Number) }),
    );
    const { a: most = 0, b: few = 0 } = shares([a, b], { session: (turn) => `session-${turn}` });
    expect([most > 0.7, most < 0.8, few > 0.2]).toEqual([true, true, true]);
  });
});

describe("the health of targets", () => {
  const clock = (): { health: ReturnType<typeof targetHealth>; pass: (ms: number) => void } => {
    let now = 1000;
    const health = targetHealth({ monotonic: () => now });
    return { health, pass: (ms) => (now += ms) };
  };
  const terms = { coolDownMs: 1000 };

  it("cools a target that failed, for as long as it asks for", () => {
    const { health, pass } = clock();
    health.failed("a", terms);
    health.failed("b", { ...terms, retryAfter: 5000 });
    expect([health.isCooling("a"), health.isCooling("b"), health.isCooling("c")]).toEqual([
      true,
      true,
      false,
    ]);
    pass(1000);
    expect([health.isCooling("a"), health.isCooling("b")]).toEqual([false, true]);
    pass(4000);
    expect(health.isCooling("b")).toBe(false);
  });

  it("believes no provider that wants to be left alone for a day", () => {
    const { health, pass } = clock();
    health.failed("a", { ...terms, retryAfter: 86_400_000 });
    pass(3_600_000);
    expect(health.isCooling("a")).toBe(false);
  });

  it("lets one request probe after a cool-down, and cools longer when it fails, up to five minutes", () => {
    const { health, pass } = clock();
    health.failed("a", terms);
    for (const ms of [1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000]) {
      pass(ms - 1);
      expect(health.isCooling("a")).toBe(true);
      pass(1);
      expect(health.isCooling("a")).toBe(false);
      health.asked("a", 1000);
      expect(health.isCooling("a")).toBe(true);
      health.failed("a", terms);
    }
    pass(300_000);
    expect(health.isCooling("a")).toBe(false);
  });

  it("ends a cool-down by a good answer to a probe, not to a request from before", () => {
    const { health, pass } = clock();
    health.failed("a", terms);
    health.served("a");
    expect(health.isCooling("a")).toBe(true);
    pass(1000);
    health.asked("a", 1000);
    health.served("a");
    expect(health.isCooling("a")).toBe(false);
    health.failed("a", terms);
    pass(1000);
    expect(health.isCooling("a")).toBe(false);
  });

  it("counts requests that fail together as one failure", () => {
    const { health, pass } = clock();
    for (let request = 0; request < 20; request++) health.failed("a", terms);
    pass(1000);
    expect(health.isCooling("a")).toBe(false);
  });
});

describe("names for models", () => {
  const read = (models: Record<string, never>): void =>
    void modelPools({ gateways: { g: { models } }, accountId: undefined });
  it.each([
    ["dynamic/x", "openai/gpt-5.5", "names of the gateway itself"],
    ["cloudflare/auto", "openai/gpt-5.5", "names of the gateway itself"],
    ["fast", "gpt-5.5", 'expected "{provider}/{model}"'],
    ["fast", "elevenlabs/voice", "a provider that the unified endpoint asks"],
    ["fast", { targets: [{ model: "openai/a" }, { model: "openai/a", weight: 2 }] }, "there twice"],
  ])("refuse %s: %j", (name, given, message) => {
    expect(() => read({ [name]: given as never })).toThrow(message);
  });

  it("are those of their account only", () => {
    const pools = modelPools({
      gateways: { g: { models: { fast: "openai/gpt-5.5" } } },
      accountId: "acme",
    });
    const has = (account: string, gateway: string): boolean =>
      pools({ account, gateway })?.has("fast") === true;
    expect([has("acme", "g"), has("other", "g"), has("acme", "h")]).toEqual([true, false, false]);
  });
});
