import { describe, expect, it } from "vitest";
import { beginDeadlines } from "../../adapters/shared/work/begin-deadline.ts";

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe("beginDeadlines()", () => {
  it("ends those of one duration in their order, those that count anew last, and none that was stopped", async () => {
    const deadlines = beginDeadlines({ tickMs: 20, coarseFromMs: 100 });
    const over: number[] = [];
    const all = Array.from({ length: 100 }, (_, i) =>
      deadlines.start(200, () => void over.push(i)),
    );
    for (const [i, deadline] of all.entries()) if (i % 2 === 1) deadlines.stop(deadline);
    for (const deadline of all.slice(0, 50)) deadlines.restart(deadline);
    while (over.length < 50) await after(10);
    // Time for one that was stopped and counts all the same.
    await after(100);
    const even = Array.from({ length: 50 }, (_, i) => 2 * i);
    expect(over).toEqual([...even.slice(25), ...even.slice(0, 25)]);
  });

  it("ends short ones, and those of more durations than share a timer, no sooner than they are due", async () => {
    const deadlines = beginDeadlines({ tickMs: 5, coarseFromMs: 30, durations: 2 });
    const start = performance.now();
    const early: number[] = [];
    const over: number[] = [];
    for (const ms of [5, 40, 50, 60, 70]) {
      deadlines.start(ms, () => {
        over.push(ms);
        // Timers may come a millisecond too soon, and ticks count from the one before.
        if (performance.now() - start < ms - 6) early.push(ms);
      });
    }
    while (over.length < 5) await after(5);
    expect(early).toEqual([]);
  });
});
