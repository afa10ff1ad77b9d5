import { expect, it } from "vitest";
import type { GatewayRow } from "../../../console/log-query.ts";
import { daysOf, reportOf, slicesOf } from "../../../console/recent-usage.ts";

const NOW = Date.UTC(2026, 10, 27, 12, 3);

function row(minutesAgo: number, more: Partial<GatewayRow>): GatewayRow {
  return {
    created_at: new Date(NOW - minutesAgo * 60_000).toISOString(),
    success: true,
    cached: false,
    tokens_in: 1,
    tokens_out: 2,
    cost: 0.5,
    model: "small",
    gateway: "default",
    caller: "key:ann",
    ...more,
  } as GatewayRow;
}

const rows = [
  row(1, {}),
  row(2, { caller: "token:x", model: "large", cost: 3, success: false }),
  row(70, { cached: true, cost: 0 }),
];
const factsOf = (id: string) =>
  id === "ann" ? { team: "research", tags: ["a", "b"] } : { team: "", tags: [] };

it("rows of the last hours are added up as a report has them, the dearest first", () => {
  const { totals, rows: groups } = reportOf(rows, "team", factsOf);
  expect(totals).toEqual({
    requests: 3,
    errors: 1,
    cached: 1,
    tokens_in: 3,
    tokens_out: 6,
    cost: 3.5,
  });
  expect(groups.map(({ team, cost, requests }) => [team, cost, requests])).toEqual([
    ["", 3, 1],
    ["research", 0.5, 2],
  ]);
  const names = (by: "key" | "model" | "tag" | "day"): unknown[] =>
    reportOf(rows, by, factsOf).rows.map((one) => one[by]);
  expect(names("key")).toEqual(["", "ann"]);
  expect(names("model")).toEqual(["large", "small"]);
  expect(names("tag")).toEqual(["", "a", "b"]);
  expect(names("day")).toEqual(["2026-11-27"]);
});

it("slices of time are all there, and what is older is left out", () => {
  const slices = slicesOf(rows, { now: NOW, ms: 300_000, slices: 12 });
  expect(slices).toHaveLength(12);
  expect(slices.map(({ figures }) => figures.requests)).toEqual([
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
  ]);
  expect(slices.at(-1)?.at).toBe(Date.UTC(2026, 10, 27, 12, 0) / 1000);
  const hours = slicesOf(rows, { now: NOW, ms: 3_600_000, slices: 24 });
  expect(hours.slice(-3).map(({ figures }) => figures.requests)).toEqual([1, 0, 2]);
});

it("days without requests are days too", () => {
  const day = { day: "2026-11-26", ...reportOf(rows, "day", factsOf).totals };
  const days = daysOf([day], "2026-11-25", 3);
  expect(days.map(({ figures }) => figures.requests)).toEqual([0, 3, 0]);
});
