import { describe, expect, it } from "vitest";
import { allowNone } from "../../../core/net/allow-hosts.ts";
import type {
  GateDecision,
  PageRequest,
  RequestRules,
} from "../../../core/rendering/job/request-gate.ts";
import {
  decideOne,
  requestTurns,
  type RequestTurns,
} from "../../../core/rendering/job/request-turns.ts";

const image = (name: string): PageRequest => ({
  url: `https://example.com/${name}`,
  type: "image",
  main: false,
});

/** Rules with patterns of which each match takes some ms of a clock of ours. */
function slowRules(clock: { now: number }, ms: number, patterns = 1): RequestRules {
  const slow = (url: string): boolean => {
    clock.now += ms;
    return url.includes("bad");
  };
  return {
    allow: allowNone,
    allowPatterns: [],
    rejectPatterns: Array.from({ length: patterns }, () => slow),
    allowTypes: [],
    rejectTypes: ["font"],
  };
}

interface Setting {
  readonly turns: RequestTurns;
  readonly decisions: GateDecision[];
  readonly failures: Error[];
  readonly ask: (...names: string[]) => void;
  /** Lets the other work be done that the turns wait for. */
  readonly wake: () => Promise<void>;
}

function setting(clock: { now: number }, rules: () => RequestRules | null): Setting {
  const sleeping: (() => void)[] = [];
  const [decisions, failures]: [GateDecision[], Error[]] = [[], []];
  const turns = requestTurns({
    system: {
      monotonic: () => clock.now,
      sleep: () => new Promise((resolve) => void sleeping.push(resolve)),
    },
    rules,
    fail: (error) => void failures.push(error),
  });
  return {
    turns,
    decisions,
    failures,
    ask(...names) {
      for (const name of names)
        turns.decide(image(name), (decision) => void decisions.push(decision));
    },
    async wake() {
      for (const resolve of sleeping.splice(0)) resolve();
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

describe("requestTurns()", () => {
  it("decides at once where patterns are fast", () => {
    const clock = { now: 0 };
    const rules = slowRules(clock, 0.01, 3);
    const { ask, decisions } = setting(clock, () => rules);
    ask("a.png", "bad.png", "c.png");
    expect(decisions).toEqual(["continue", "blocked", "continue"]);
  });

  it("lets other work have its turn between two matches, also of one request, and keeps the order", async () => {
    const clock = { now: 0 };
    const rules = slowRules(clock, 4, 3);
    const { ask, decisions, wake } = setting(clock, () => rules);
    ask("a.png", "bad.png");
    expect([clock.now, decisions]).toEqual([8, []]);
    await wake();
    expect(clock.now).toBe(16);
    expect(decisions).toEqual(["continue", "blocked"]);
    // What is asked while it waits waits, too.
    ask("c.png");
    ask("bad.png");
    expect(decisions).toHaveLength(2);
    for (let turn = 0; turn < 4; turn++) await wake();
    expect(decisions.slice(2)).toEqual(["continue", "blocked"]);
  });

  it("ends the job whose patterns take more than a second", async () => {
    const clock = { now: 0 };
    const rules = slowRules(clock, 20);
    const { ask, decisions, failures, wake } = setting(clock, () => rules);
    ask(...Array.from({ length: 400 }, (_, index) => `${index}.png`));
    for (let turn = 0; turn < 400; turn++) await wake();
    expect(clock.now).toBe(1020);
    expect(failures).toMatchObject([
      {
        kind: "invalid_request",
        message: expect.stringMatching(/^allowRequestPattern\/rejectRequestPattern: .* 1000 ms/u),
      },
    ]);
    ask("late.png");
    expect([decisions.length, decisions.at(-1), clock.now]).toEqual([51, "blocked", 1020]);
  });

  it("begins anew with each job, and refuses what an old one still asks for", async () => {
    const clock = { now: 0 };
    let rules: RequestRules | null = slowRules(clock, 600);
    const { ask, decisions, failures, wake } = setting(clock, () => rules);
    ask("a.png", "b.png");
    expect(decisions).toEqual([]);
    rules = null;
    ask("c.png");
    await wake();
    expect(decisions).toEqual(["blocked", "blocked", "blocked"]);
    rules = slowRules(clock, 600);
    ask("d.png");
    await wake();
    expect([decisions.at(-1), failures]).toEqual(["continue", []]);
  });

  it("remembers what it refused, and decides by kind and address where nobody asked", () => {
    const clock = { now: 0 };
    const rules = slowRules(clock, 0);
    const { ask, turns } = setting(clock, () => rules);
    ask("bad.png", "a.png");
    expect(turns.decided(image("bad.png"))).toBe("blocked");
    expect(turns.decided(image("a.png"))).toBe("continue");
    expect(turns.decided({ ...image("a.woff"), type: "font" })).toBe("blocked");
    expect(turns.decided({ ...image("a.png"), url: "http://127.0.0.1/a.png" })).toBe("forbidden");
  });
});

describe("decideOne()", () => {
  it("rejects when the patterns take too long", async () => {
    const clock = { now: 0 };
    const system = { monotonic: () => clock.now, sleep: () => Promise.resolve() };
    await expect(decideOne(image("bad"), slowRules(clock, 10), system)).resolves.toBe("blocked");
    await expect(decideOne(image("a"), slowRules(clock, 300, 9), system)).rejects.toMatchObject({
      kind: "invalid_request",
    });
  });
});
