import { describe, expect, it } from "vitest";
import {
  accountCounts,
  type AccountCountsOptions,
} from "../../../../../core/metrics/account-counts.ts";
import type { System } from "../../../../../core/ports.ts";

interface Stored {
  readonly account: string;
  readonly source: string;
  readonly sequence: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** Counts whose pauses end when told to, and whose store may fail. */
function countsUnderTest(store: (batch: Stored) => Promise<void> = () => Promise.resolve()) {
  const stored: Stored[] = [];
  const warnings: string[] = [];
  const pauses: { ms: number; end: () => void }[] = [];
  const work: Promise<unknown>[] = [];
  const clock = { now: 0 };
  const system = {
    now: () => clock.now,
    monotonic: () => clock.now,
    id: () => "source",
    sleep: (ms: number) =>
      ms < 1000 ? Promise.resolve() : new Promise<void>((end) => pauses.push({ ms, end })),
    waitUntil: (one: Promise<unknown>) => void work.push(one),
  } as Partial<System> as System;
  const options: AccountCountsOptions<number> = {
    system,
    log: (_level, message) => void warnings.push(message),
    async store(account, source, sequence, groups) {
      const counts = Object.fromEntries(groups);
      const batch = { account, source, sequence, counts };
      await store(batch);
      stored.push(batch);
    },
    failure: "Gateway metrics could not be stored",
  };
  const under = accountCounts(options);
  const count = (account: string, key: string): void => {
    const groups = under.of(account);
    groups?.set(key, (groups.get(key) ?? 0) + 1);
  };
  return { ...under, count, stored, warnings, pauses, work, clock };
}

describe("accountCounts()", () => {
  it("hands on what was counted once a second, and nothing when nothing was", async () => {
    const { count, stored, pauses, work } = countsUnderTest();
    expect(pauses).toEqual([]);
    for (const key of ["a", "b", "a"]) count("acme", key);
    expect(pauses.map(({ ms }) => ms)).toEqual([1000]);
    expect(stored).toEqual([]);
    pauses[0]?.end();
    await Promise.all(work);
    const batch = { account: "acme", source: "source", sequence: 1, counts: { a: 2, b: 1 } };
    expect(stored).toEqual([batch]);
    count("other", "a");
    expect(pauses).toHaveLength(2);
    pauses[1]?.end();
    await Promise.all(work);
    expect(stored[1]).toEqual({
      account: "other",
      source: "source",
      sequence: 2,
      counts: { a: 1 },
    });
    expect(stored).toHaveLength(2);
  });

  it("plans again when a planned flush never came", () => {
    const { count, pauses, clock } = countsUnderTest();
    count("acme", "a");
    clock.now = 5000;
    count("acme", "a");
    expect(pauses).toHaveLength(1);
    clock.now = 5001;
    count("acme", "a");
    expect(pauses).toHaveLength(2);
  });

  it("sends a batch again, unchanged, whose storing failed", async () => {
    let failures = 2;
    const seen: Stored[] = [];
    const { count, flush, stored } = countsUnderTest((batch) => {
      seen.push(batch);
      return failures-- > 0 ? Promise.reject(new Error("lost")) : Promise.resolve();
    });
    count("acme", "a");
    const flushed = flush("acme");
    count("acme", "a");
    await flushed;
    expect(seen.map(({ sequence, counts }) => [sequence, counts])).toEqual([
      [1, { a: 1 }],
      [1, { a: 1 }],
      [1, { a: 1 }],
    ]);
    await flush("acme");
    expect(stored.map(({ sequence, counts }) => [sequence, counts])).toEqual([
      [1, { a: 1 }],
      [2, { a: 1 }],
    ]);
  });

  it("keeps a batch that cannot be stored, and sends it before the next one", async () => {
    let isDown = true;
    const { count, flush, stored, warnings, pauses } = countsUnderTest(() =>
      isDown ? Promise.reject(new Error("down")) : Promise.resolve(),
    );
    count("acme", "a");
    const flushed = flush("acme");
    while (pauses.length < 2) await Promise.resolve();
    pauses[1]?.end();
    await flushed;
    expect(warnings).toEqual(["Gateway metrics could not be stored"]);
    isDown = false;
    count("acme", "b");
    await flush("acme");
    expect(stored.map(({ sequence, counts }) => [sequence, counts])).toEqual([
      [1, { a: 1 }],
      [2, { b: 1 }],
    ]);
  });

  it("does not wait for a batch that another flush is sending", async () => {
    const ends: (() => void)[] = [];
    const { count, flush, stored } = countsUnderTest(({ sequence }) =>
      // The first attempt died with its request.
      sequence === 1 && ends.length === 0
        ? new Promise<void>((end) => ends.push(end))
        : Promise.resolve(),
    );
    count("acme", "a");
    void flush("acme");
    count("acme", "b");
    await flush("acme");
    expect(stored.map(({ sequence, counts }) => [sequence, counts])).toEqual([
      [1, { a: 1 }],
      [2, { b: 1 }],
    ]);
  });

  it("keeps an account whose counts are on their way, and sends them again", async () => {
    const sent: { readonly sequence: number; end: (error?: Error) => void }[] = [];
    const { count, flush, stored, warnings, pauses } = countsUnderTest(({ sequence }) => {
      if (warnings.length > 0) return Promise.resolve();
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      sent.push({ sequence, end: (error) => (error === undefined ? resolve() : reject(error)) });
      return promise;
    });
    const nth = async (at: number) => {
      while (sent.length <= at) await Promise.resolve();
      return sent[at];
    };
    count("acme", "a");
    const first = flush("acme");
    await nth(0);
    count("acme", "b");
    const second = flush("acme");
    (await nth(1))?.end();
    // The first flush ends while the second one's batch is on its way, and nothing else is counted.
    await nth(2);
    sent[0]?.end();
    await first;
    for (let at = 2; at < 6; at++) {
      (await nth(at))?.end(new Error("down"));
      if (at === 4) {
        while (pauses.length < 2) await Promise.resolve();
        pauses[1]?.end();
      }
    }
    await second;
    expect(sent.map(({ sequence }) => sequence)).toEqual([1, 1, 2, 2, 2, 2]);
    expect(warnings).toHaveLength(1);
    await flush("acme");
    expect(stored.at(-1)).toMatchObject({ sequence: 2, counts: { b: 1 } });
  });
});
