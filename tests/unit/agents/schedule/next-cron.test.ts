import { describe, expect, it } from "vitest";
import { nextCron } from "../../../../core/agents/schedule/next-cron.ts";

const at = (text: string): number => Date.parse(text);
const next = (expression: string, after: string): string =>
  new Date(nextCron(expression, at(after))).toISOString();

describe("nextCron()", () => {
  const cases: readonly [string, string, string][] = [
    ["* * * * *", "2026-01-01T00:00:00.000Z", "2026-01-01T00:01:00.000Z"],
    ["*/15 * * * *", "2026-01-01T00:14:59.999Z", "2026-01-01T00:15:00.000Z"],
    ["0 3 * * *", "2026-01-01T03:00:00.000Z", "2026-01-02T03:00:00.000Z"],
    ["30 9 * * 1-5", "2026-01-02T10:00:00.000Z", "2026-01-05T09:30:00.000Z"],
    ["0 0 29 2 *", "2026-01-01T00:00:00.000Z", "2028-02-29T00:00:00.000Z"],
    ["0 0 * * 7", "2026-01-01T00:00:00.000Z", "2026-01-04T00:00:00.000Z"],
    ["0 0 13 * 5", "2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"],
    ["5,10-12 1 * * *", "2026-01-01T01:05:00.000Z", "2026-01-01T01:10:00.000Z"],
    ["5/10 1 * * *", "2026-01-01T01:05:00.000Z", "2026-01-01T01:15:00.000Z"],
    ["0 9 * * MON-FRI", "2026-01-02T10:00:00.000Z", "2026-01-05T09:00:00.000Z"],
    ["0 9 1 FEB *", "2026-01-02T10:00:00.000Z", "2026-02-01T09:00:00.000Z"],
    ["0 0 */2 * 1", "2026-01-01T00:00:00.000Z", "2026-01-05T00:00:00.000Z"],
    ["@daily", "2026-01-01T03:00:00.000Z", "2026-01-02T00:00:00.000Z"],
    // Seconds in front.
    ["*/10 * * * * *", "2026-01-01T00:00:01.000Z", "2026-01-01T00:00:10.000Z"],
    ["30 0 9 * * MON", "2026-01-02T10:00:00.000Z", "2026-01-05T09:00:30.000Z"],
    // Nine o'clock stays nine o'clock when summer time begins and ends.
    ["TZ=Europe/Berlin 0 9 * * *", "2026-03-28T09:00:00.000Z", "2026-03-29T07:00:00.000Z"],
    ["CRON_TZ=Europe/Berlin 0 9 * * *", "2026-10-24T09:00:00.000Z", "2026-10-25T08:00:00.000Z"],
    ["TZ=America/New_York @daily", "2026-01-01T00:00:00.000Z", "2026-01-01T05:00:00.000Z"],
    ["@hourly", "2026-01-01T03:10:00.000Z", "2026-01-01T04:00:00.000Z"],
  ];
  for (const [expression, after, expected] of cases) {
    it(`${expression} after ${after} is ${expected}`, () => {
      expect(next(expression, after)).toBe(expected);
    });
  }

  it("refuses malformed and impossible expressions", () => {
    for (const bad of [
      "",
      "* * * *",
      "60 * * * *",
      "* 24 * * *",
      "* * 0 * *",
      "5-1 * * * *",
      "*/0 * * * *",
      "a * * * *",
      "0 0 31 2 *",
      "60 0 * * * *",
      "0 0 0 * * * *",
      "TZ=Nowhere/Land 0 9 * * *",
      "TZ=Europe/Berlin",
      "@never",
      "2026-01-01T00:00:00Z",
      `${"0,".repeat(100)}0 * * * *`,
    ]) {
      expect(() => nextCron(bad, 0)).toThrow(TypeError);
    }
  });

  it("names a time zone that there is not", () => {
    expect(() => nextCron("TZ=Mars/One 0 9 * * *", 0)).toThrow(
      'The cron expression "TZ=Mars/One 0 9 * * *" cannot be read: unknown time zone "Mars/One"',
    );
  });
});
