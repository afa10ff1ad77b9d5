import { describe, expect, it } from "vitest";
import { logQueue, type LogQueueOptions } from "../../../../core/gateway/observe/log/log-queue.ts";
import type { LogRow } from "../../../../core/gateway/call/ended-attempt.ts";
import type { System } from "../../../../core/ports.ts";

const body = { text: null, size: 0, complete: true };
const row = (id: string, text: string | null = null): LogRow =>
  ({ id, request: { ...body, text }, response: body }) as Partial<LogRow> as LogRow;

/** Time that stands still. */
const clock = {
  now: () => 0,
  monotonic: () => 0,
  waitUntil: () => undefined,
} as Partial<System> as System;

/** A queue whose time passes at once and whose background work can be awaited. */
function queueUnderTest(more: Partial<LogQueueOptions> = {}) {
  const stored: [string, string[]][] = [];
  const warnings: unknown[] = [];
  const work: Promise<unknown>[] = [];
  const system = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => Promise.resolve(),
    waitUntil: (one: Promise<unknown>) => void work.push(one),
  } as Partial<System> as System;
  const queue = logQueue({
    system,
    log: (_level, _message, fields) => void warnings.push(fields),
    store: (actor, rows) => {
      stored.push([actor, rows.map(({ id }) => id)]);
      return Promise.resolve();
    },
    ...more,
  });
  return { queue, stored, warnings, settle: () => Promise.all(work) };
}

describe("logQueue()", () => {
  it("stores rows in batches, each for one actor, in order", async () => {
    const { queue, stored, settle } = queueUnderTest();
    for (const [actor, id] of [
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ] as const)
      queue.push(actor, row(id));
    expect(stored).toEqual([]);
    await settle();
    expect(stored).toEqual([
      ["a", ["1", "3"]],
      ["b", ["2"]],
    ]);
  });

  it("does not wait for its interval when a batch is full", async () => {
    const never = {
      now: () => 0,
      monotonic: () => 0,
      sleep: () => new Promise<void>(() => undefined),
      waitUntil: () => undefined,
    };
    const { queue, stored } = queueUnderTest({
      batch: 2,
      system: never as Partial<System> as System,
    });
    queue.push("a", row("1"));
    queue.push("a", row("2"));
    await Promise.resolve();
    expect(stored).toEqual([["a", ["1", "2"]]]);
  });

  it("leaves the rows behind a full batch their own time", async () => {
    const due: (() => void)[] = [];
    const sleep = (): Promise<void> => new Promise((resolve) => void due.push(resolve));
    const { queue, stored } = queueUnderTest({ batch: 2, system: { ...clock, sleep } });
    for (const id of ["1", "2", "3"]) queue.push("a", row(id));
    const pass = async (): Promise<void> => {
      due.shift()?.();
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    };
    await pass();
    expect(stored).toEqual([["a", ["1", "2"]]]);
    await pass();
    expect(stored).toEqual([
      ["a", ["1", "2"]],
      ["a", ["3"]],
    ]);
  });

  it("settles for a reader with what is queued and what is on its way", async () => {
    let commit = (): void => undefined;
    const slow = new Promise<void>((resolve) => (commit = resolve));
    const order: string[] = [];
    const { queue } = queueUnderTest({
      batch: 1,
      system: { ...clock, sleep: () => new Promise<void>(() => undefined) },
      store: async (_, [first]) => {
        if (first?.id === "1") await slow;
        order.push(`stored ${first?.id}`);
      },
    });
    queue.push("a", row("1"));
    queue.push("b", row("2"));
    const settled = queue.settle(1000).then(() => order.push("settled"));
    // Far more turns than a reader takes that does not wait.
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    commit();
    await settled;
    expect(order).toEqual(["stored 2", "stored 1", "settled"]);
  });

  it("holds up no reader for longer than told when the database stands still", async () => {
    const { queue } = queueUnderTest({ store: () => new Promise<void>(() => undefined) });
    queue.push("a", row("1"));
    await expect(queue.settle(1000)).resolves.toBeUndefined();
  });

  it("bounds a batch by weight", async () => {
    const { queue, stored, settle } = queueUnderTest();
    const heavy = "x".repeat(5 * 1024 * 1024);
    for (const id of ["1", "2", "3"]) queue.push("a", row(id, heavy));
    await settle();
    expect(stored.map(([, ids]) => ids.length)).toEqual([1, 1, 1]);
  });

  it("drops what exceeds its capacity in rows or weight, and says so once", async () => {
    const { queue, stored, warnings, settle } = queueUnderTest({ capacity: 2, weight: 100 });
    queue.push("a", row("1"));
    queue.push("a", row("heavy", "x".repeat(101)));
    queue.push("a", row("2"));
    queue.push("a", row("3"));
    await settle();
    expect(stored).toEqual([["a", ["1", "2"]]]);
    expect([queue.dropped, warnings]).toEqual([2, [{ count: 2, total: 2 }]]);
  });

  it("tries again when storing fails, and drops rows that cannot be stored", async () => {
    let failures = 2;
    const flaky = queueUnderTest({
      store: () => (failures-- > 0 ? Promise.reject(new TypeError("busy")) : Promise.resolve()),
    });
    flaky.queue.push("a", row("1"));
    await flaky.settle();
    expect(flaky.queue.dropped).toBe(0);
    const broken = queueUnderTest({ store: () => Promise.reject(new TypeError("full")) });
    broken.queue.push("a", row("1"));
    await broken.settle();
    expect([broken.queue.dropped, broken.warnings.length]).toEqual([1, 1]);
  });

  it("counts rows and their weight until they are stored, so that an outage fills no memory", async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const standing = queueUnderTest({ weight: 1000, batch: 2, store: () => gate });
    for (let index = 0; index < 100; index++) standing.queue.push("a", row("x", "x".repeat(100)));
    expect(standing.queue.dropped).toBe(90);
    open();
    await standing.settle();
    for (let index = 0; index < 10; index++) standing.queue.push("a", row("x", "x".repeat(100)));
    await standing.settle();
    expect(standing.queue.dropped).toBe(90);
  });

  it("stores what is heavy without waiting for more", async () => {
    const never = {
      now: () => 0,
      monotonic: () => 0,
      sleep: () => new Promise<void>(() => undefined),
      waitUntil: () => undefined,
    };
    const { queue, stored } = queueUnderTest({ system: never as Partial<System> as System });
    queue.push("a", row("1", "x".repeat(5 * 1024 * 1024)));
    expect(stored).toEqual([]);
    queue.push("b", row("2", "x".repeat(5 * 1024 * 1024)));
    expect(stored.map(([actor]) => actor)).toEqual(["a", "b"]);
  });

  it("holds up no gateway's rows for the database of another", async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const stored: string[] = [];
    const { queue } = queueUnderTest({
      batch: 2,
      async store(actor) {
        if (actor === "stuck") await never;
        stored.push(actor);
      },
    });
    queue.push("stuck", row("1"));
    queue.push("fine", row("2"));
    await Promise.resolve();
    expect(stored).toEqual(["fine"]);
  });

  it("has room again for rows whose storing the runtime ended without a word", async () => {
    let now = 0;
    const { queue } = queueUnderTest({
      capacity: 2,
      batch: 2,
      store: () => new Promise(() => undefined),
      system: {
        now: () => now,
        monotonic: () => now,
        sleep: () => Promise.resolve(),
        waitUntil: () => undefined,
      } as Partial<System> as System,
    });
    const push = (): number => {
      queue.push("a", row("1"));
      return queue.dropped;
    };
    expect([push(), push(), push()]).toEqual([0, 0, 1]);
    now = 300_001;
    expect([push(), push(), push()]).toEqual([1, 1, 2]);
  });
});
