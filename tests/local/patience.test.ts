import { afterEach, describe, expect, it, vi } from "vitest";
import { patience, watchWork } from "../cases/eventually.ts";
import { waitForChildren } from "../platform/children-work.ts";

afterEach(() => {
  vi.useRealTimers();
  waitForChildren();
});

/** Seconds that a wait of five lasts at most, beside processes that work for a part of each. */
function secondsOf(wait: { readonly work: number; readonly atMost: number }): number {
  vi.useFakeTimers({ toFake: ["Date"] });
  let worked = 0;
  watchWork(() => worked);
  const goesOn = patience(5000);
  for (let seconds = 0; seconds < wait.atMost; seconds++) {
    if (!goesOn()) return seconds;
    vi.setSystemTime(Date.now() + 1000);
    worked += wait.work;
  }
  return Infinity;
}

describe("a wait", () => {
  it("ends when nothing works any more", () => {
    expect(secondsOf({ work: 0, atMost: 100 })).toBe(5);
  });

  it("ends although idle processes look at their timers", () => {
    expect(secondsOf({ work: 20, atMost: 100 })).toBe(5);
  });

  it("goes on while processes get little of a busy machine", () => {
    expect(secondsOf({ work: 100, atMost: 1000 })).toBe(Infinity);
  });
});
