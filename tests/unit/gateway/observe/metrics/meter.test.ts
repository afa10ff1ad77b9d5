import { describe, expect, it } from "vitest";
import { emptyLedger } from "../../../../../core/gateway/observe/metrics/meter.ts";
import { meter, type MeterOptions } from "../../../../../core/gateway/observe/metrics/meter.ts";
import type { System } from "../../../../../core/ports.ts";

interface Stored {
  readonly account: string;
  readonly source: string;
  readonly sequence: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** A meter whose pauses end when told to, and whose store may fail. */
function meterUnderTest(store: (batch: Stored) => Promise<void> = () => Promise.resolve()) {
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
  const options: MeterOptions = {
    system,
    log: (_level, message) => void warnings.push(message),
    async store(account, source, sequence, deltas) {
      const counts = Object.fromEntries(deltas.map(([key, { count }]) => [key, count]));
      const batch = { account, source, sequence, counts };
      await store(batch);
      stored.push(batch);
    },
  };
  const under = meter(options);
  const count = (account: string, key: string): void => {
    under.growth(account, key).count += 1;
  };
  return { ...under, count, stored, warnings, pauses, work, clock };
}

it("a ledger is not empty while what it counted is on its way", async () => {
  let stored = (): void => undefined;
  const ledger = emptyLedger(
    () => new Promise<void>((resolve) => (stored = resolve)),
    () => 1,
  );
  ledger.growth("a").count += 1;
  const flushed = ledger.flush();
  expect(ledger.isEmpty).toBe(false);
  stored();
  await flushed;
  expect(ledger.isEmpty).toBe(true);
});

describe("meter()", () => {
  it("hands on what was counted once a second, and nothing when nothing was", async () => {
    const { count, stored, pauses, work } = meterUnderTest();
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
    const { count, pauses, clock } = meterUnderTest();
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
    const { count, flush, stored } = meterUnderTest((batch) => {
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
    const { count, flush, stored, warnings, pauses } = meterUnderTest(() =>
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
    const { count, flush, stored } = meterUnderTest(({ sequence }) =>
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

  it("bounds what it holds, whatever callers make up", () => {
    const keys = new Set<object>();
    const { growth } = meterUnderTest();
    for (let at = 0; at < 5000; at++) {
      const totals = growth("acme", `request\tg\tp\tmodel-${at}\t200\ttrue\tfalse`);
      totals.count += 1;
      keys.add(totals);
    }
    expect(keys.size).toBe(1001);
  });
});
