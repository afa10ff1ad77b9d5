import { expect, it } from "vitest";
import { formatInstant, parseInstant } from "../../../core/http/fields/instant.ts";

it.each([
  ["2026-02-28", Date.UTC(2026, 1, 28)],
  ["2026-01-01T12:00:00Z", Date.UTC(2026, 0, 1, 12)],
  ["2026-01-01t12:00:00.25z", Date.UTC(2026, 0, 1, 12, 0, 0, 250)],
  ["2026-01-01T12:00:00+23:59", Date.UTC(2025, 11, 31, 12, 1)],
  ["2026-01-01T12:00:00-02:30", Date.UTC(2026, 0, 1, 14, 30)],
  ["0001-01-01", -62_135_596_800_000],
])("parseInstant() reads %s", (text, at) => {
  expect(parseInstant(text)).toBe(at);
});

it.each([
  "",
  "now",
  "2026-02-29",
  "2026-13-01",
  "2026-00-10",
  "2026-01-01T24:00:00Z",
  "2026-01-01T12:60:00Z",
  "2026-01-01T12:00:60Z",
  "2026-01-01T12:00:00",
  "2026-01-01T12:00:00+24:00",
  "2026-01-01T12:00:00+00:60",
  "2026-01-01T12:00:00-99:99",
])('parseInstant() refuses "%s"', (text) => {
  expect(parseInstant(text)).toBeNull();
});

it("formatInstant() writes milliseconds only when there are any", () => {
  expect(formatInstant(0)).toBe("1970-01-01T00:00:00Z");
  expect(formatInstant(1)).toBe("1970-01-01T00:00:00.001Z");
});
