import { setImmediate } from "node:timers";
import { expect, it } from "vitest";
import { turnOrSleep } from "../../adapters/shared/work/turn-or-sleep.ts";
import { eventually } from "../cases/eventually.ts";

it("a pause of 0 ms takes no timer, and lets timers and other turns go on", async () => {
  const slept: number[] = [];
  const pause = turnOrSleep({
    sleep(ms) {
      slept.push(ms);
      return Promise.resolve();
    },
  });
  let timers = 0;
  setTimeout(() => (timers += 1), 1);
  await eventually(async () => {
    await pause(0);
    return timers === 1;
  }, "the timer goes off");
  expect(slept).toEqual([]);
  await pause(5);
  await pause(0, new AbortController().signal);
  // A signal has to be heard, and any other time is one.
  expect(slept).toEqual([5, 0]);
});

it("one of those that pause goes on in each turn, in their order", async () => {
  const pause = turnOrSleep({ sleep: () => Promise.resolve() });
  const seen: string[] = [];
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const work = async (name: string): Promise<void> => {
    for (let slice = 0; slice < 3; slice++) {
      await pause(0);
      seen.push(`${name} ${turn}`);
    }
  };
  await Promise.all(["a", "b", "c"].map(work));
  isOver = true;
  expect(seen.map((one) => one[0]).join("")).toBe("abcabcabc");
  expect(new Set(seen.map((one) => one.slice(2))).size).toBe(9);
});
