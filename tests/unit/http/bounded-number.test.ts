import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import {
  between,
  boundedInstant,
  checkNumber,
  clamp,
  LARGEST_COUNT,
  LAST_INSTANT,
  LONGEST_TIMER_MS,
  MOST_USD,
  whole,
} from "../../../core/http/fields/bounded-number.ts";
import { parseConfig } from "../../../core/config/parse-config.ts";
import { eventTime } from "../../../core/entity/event.ts";
import { logPatch } from "../../../core/gateway/manage/manage-logs.ts";
import { formatInstant, parseInstant } from "../../../core/http/fields/instant.ts";
import { prepareRetention } from "../../../core/webhooks/inbound/source.ts";

const anyNumber = fc.oneof(
  fc.double(),
  fc.constantFrom(1e16, 1e308, -1e308, Infinity, -Infinity, Number.NaN, 2 ** 53, -1, 0),
);
const FIXED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/u;

describe("numbers that enter", () => {
  it("are in their range, or refused with field, value and range", () => {
    fc.assert(
      fc.property(anyNumber, (value) => {
        const fits = Number.isInteger(value) && value >= 1 && value <= 9;
        expect(v.is(whole(1, 9), value)).toBe(fits);
        expect(v.is(between(1, 9), value)).toBe(value >= 1 && value <= 9);
        expect(Number.isSafeInteger(boundedInstant(value))).toBe(true);
        expect(clamp(value, 1, 9) >= 1 && clamp(value, 1, 9) <= 9).toBe(true);
        expect(eventTime(value)).toMatch(FIXED);
      }),
    );
    const says = (value: unknown) => v.safeParse(whole(1, 9), value).issues?.[0]?.message;
    expect(says(1e308)).toBe("expected a whole number from 1 to 9, got 1e+308");
    expect(says("5")).toBe('expected a whole number from 1 to 9, got "5"');
    expect(says([5])).toBe("expected a whole number from 1 to 9, got a list");
    expect(() => checkNumber("seconds", Number.NaN, { min: 0, max: 5 })).toThrow(
      "seconds: expected a number from 0 to 5, got NaN",
    );
  });

  it("as dates have a year of four digits, whatever their zone makes of them", () => {
    expect(parseInstant("9999-12-31T23:59:59.999Z")).toBe(LAST_INSTANT);
    expect(parseInstant("9999-12-31T23:59:59-00:01")).toBeNull();
    expect(parseInstant("0000-01-01T00:00:00+00:01")).toBeNull();
    expect(formatInstant(parseInstant("0000-01-01") ?? 1)).toBe("0000-01-01T00:00:00Z");
  });

  it("in the file are bounded where they are times, days, sizes or prices", () => {
    const tooLarge: readonly (readonly [string, object, number])[] = [
      ["graceMs", { graceMs: 1e308 }, LONGEST_TIMER_MS],
      ["bodyBytes", { bodyBytes: 1e300 }, LARGEST_COUNT],
      ["rendering.timeouts.goto", { rendering: { timeouts: { goto: 1e13 } } }, LONGEST_TIMER_MS],
      ["rendering.crawls.keepDays", { rendering: { crawls: { keepDays: 1e9 } } }, 36_600],
      ["webhooks.retention.maxAgeDays", { webhooks: { retention: { maxAgeDays: 1e9 } } }, 36_600],
      ["gateway.firstByteSeconds", { gateway: { firstByteSeconds: 1e300 } }, LARGEST_COUNT],
      [
        "gateway.router.candidates.0.price.input",
        { gateway: { router: { candidates: [{ model: "a", price: { input: 1e9, output: 1 } }] } } },
        MOST_USD,
      ],
    ];
    for (const [field, file, max] of tooLarge)
      expect(() => parseConfig(file, () => undefined), field).toThrow(
        new RegExp(`"${field}": expected a (?:whole )?number from [\\d.]+ to ${max}, got`, "u"),
      );
    expect(() => prepareRetention({ maxAgeDays: 1e9 })).toThrow("retention.maxAgeDays");
  });

  it("of a log's feedback have averages", () => {
    expect(v.is(logPatch, { feedback: 1, score: 97.5 })).toBe(true);
    for (const score of [1e308, Infinity, -1e300])
      expect(v.is(logPatch, { score }), String(score)).toBe(false);
  });
});
