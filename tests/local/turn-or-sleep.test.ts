import { expect, it } from "vitest";
import { turnOrSleep } from "../../adapters/shared/turn-or-sleep.ts";
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
