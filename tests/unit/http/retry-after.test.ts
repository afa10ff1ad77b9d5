import { expect, it } from "vitest";
import { retryAfter, retryAfterMs } from "../../../core/http/fields/retry-after.ts";

const now = Date.UTC(2026, 0, 1);

it.each([
  ["2", 2000],
  [" 2 ", 2000],
  ["1.5", 1500],
  ["1000000", 1_000_000_000],
  ["Thu, 01 Jan 2026 00:00:05 GMT", 5000],
  ["Thursday, 01-Jan-26 00:00:05 GMT", 5000],
  ["Sat, 01 Nov 2025 00:00:00 GMT", 0],
])("retryAfterMs() reads %j as %d ms", (value, ms) => {
  expect(retryAfterMs(value, now)).toBe(ms);
});

// Engines take some of these for dates: some long past, some to come.
it.each([
  "",
  "-1",
  "-2099",
  "+1",
  "1e3",
  "soon",
  "x 2099",
  "2026-01-01",
  "May 2099",
  "Thu, 01 Jan 2099",
  "Thu, 99 Jan 2026 00:00:05 GMT",
])("retryAfterMs() says nothing of %j", (value) => {
  expect(retryAfterMs(value, now)).toBeNull();
});

it("retryAfterMs() says nothing without a header", () => {
  expect([retryAfterMs(null, now), retryAfterMs(undefined, now)]).toEqual([null, null]);
});

it("retryAfter() writes whole seconds, rounded up", () => {
  expect(retryAfter(1001)).toEqual({ "retry-after": "2" });
});
