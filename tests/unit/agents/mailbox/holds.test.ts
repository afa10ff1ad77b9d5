import { expect, it } from "vitest";
import { type Holds, startHolds } from "../../../../core/agents/turns/holds.ts";
import type { System } from "../../../../core/ports.ts";

interface HoldsUnderTest {
  readonly holds: Holds;
  readonly closing: AbortController;
  readonly work: Promise<unknown>[];
}

function holdsUnderTest(): HoldsUnderTest {
  const closing = new AbortController();
  const work: Promise<unknown>[] = [];
  const system: Partial<System> = {
    waitUntil: (one) => void work.push(one),
    closing: closing.signal,
  };
  const holds = startHolds({ steady: () => 1000, system: system as System }, () =>
    Promise.resolve(),
  );
  return { holds, closing, work };
}

it("a hold keeps the instance until it is released", async () => {
  const { holds, work } = holdsUnderTest();
  const release = holds.take();
  expect(holds.nextBeat()).toBe(31_000);
  release();
  release();
  expect(holds.nextBeat()).toBeNull();
  await Promise.all(work);
});

it("a platform that closes releases every hold, or its end would wait for them for ever", async () => {
  const { holds, closing, work } = holdsUnderTest();
  holds.take();
  holds.take();
  closing.abort();
  expect(holds.nextBeat()).toBeNull();
  await Promise.all(work);
});

it("a platform that closes takes no hold", () => {
  const { holds, closing, work } = holdsUnderTest();
  closing.abort();
  holds.take()();
  expect(holds.nextBeat()).toBeNull();
  expect(work).toEqual([]);
});
