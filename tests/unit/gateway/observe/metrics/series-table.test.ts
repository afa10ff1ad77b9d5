import { describe, expect, it } from "vitest";
import { labels } from "../../../../../core/gateway/observe/metrics/metrics.ts";
import {
  added,
  boundedKey,
  type Delta,
} from "../../../../../core/gateway/observe/metrics/series-table.ts";
import {
  keyOf,
  type RequestSeries,
  seriesOf,
} from "../../../../../core/gateway/observe/metrics/series.ts";
import {
  addRow,
  durationBounds,
  noTotals,
  sumOf,
  type Totals,
} from "../../../../../core/gateway/observe/metrics/totals.ts";

const served: RequestSeries = {
  family: "request",
  gateway: "g",
  provider: "openai",
  model: "m",
  status: "200",
  success: "true",
  cached: "false",
};
const failed: RequestSeries = { ...served, status: "404", success: "false" };

function tries(count: number): Totals {
  return { ...noTotals(), count };
}

function deltas(...series: readonly RequestSeries[]): Delta[] {
  return series.map((one) => [keyOf(one), tries(1)]);
}

describe("keyOf() and seriesOf()", () => {
  it("are each other's inverse", () => {
    for (const series of [
      served,
      { family: "refused", gateway: "g", reason: "unauthorized" },
      { family: "dropped", gateway: "g" },
    ] as const)
      expect(seriesOf(keyOf(series))).toEqual(series);
    expect(seriesOf("of\ta\tlater\tversion")).toBeNull();
  });
});

describe("added()", () => {
  it("names a model from its first success on, also in the batch that tells of it", () => {
    const early = added(new Map(), deltas(failed));
    expect([...early.table.keys()]).toEqual([keyOf({ ...failed, model: "other" })]);
    const { table } = added(early.table, deltas(failed, served));
    expect(table.get(keyOf(failed))).toEqual(tries(1));
    expect(added(table, deltas(failed)).table.get(keyOf(failed))).toEqual(tries(2));
    expect(table.get(keyOf({ ...failed, model: "other" }))).toEqual(tries(1));
  });

  it("leaves the table that it was given as it is", () => {
    const before = added(new Map(), deltas(served)).table;
    added(before, deltas(served));
    expect(before.get(keyOf(served))).toEqual(tries(1));
  });

  it("never makes more series than twice the bound and a few, and counts every try", () => {
    const statuses = Array.from({ length: 400 }, (_, at) => String(200 + at));
    const models = Array.from({ length: 40 }, (_, at) => `m-${at}`);
    const all = models.flatMap((model) => statuses.map((status) => ({ ...served, model, status })));
    const { table } = added(new Map(), deltas(...all), 100);
    expect(table.size).toBeLessThanOrEqual(204);
    expect([...table.values()].reduce((sum, { count }) => sum + count, 0)).toBe(all.length);
  });

  it("keeps counting under their own names what was named before the bound", () => {
    const many = Array.from({ length: 20 }, (_, at) => ({ ...served, model: `m-${at}` }));
    const { table } = added(added(new Map(), deltas(...many), 10).table, deltas(...many), 10);
    expect(table.get(keyOf({ ...served, model: "m-3" }))).toEqual(tries(2));
    expect(table.get(keyOf({ ...served, model: "other" }))).toEqual(tries(20));
    expect(table.size).toBe(11);
  });
});

describe("boundedKey()", () => {
  it("folds refusals and lost rows of more gateways than can be told apart", () => {
    const full = new Map(Array.from({ length: 4 }, (_, at) => [`k${at}`, noTotals()]));
    const refused = { family: "refused", gateway: "g", reason: "unauthorized" } as const;
    expect(boundedKey(keyOf(refused), full, 3)).toBe(keyOf(refused));
    expect(boundedKey(keyOf(refused), full, 2)).toBe(keyOf({ ...refused, gateway: "other" }));
    const dropped = { family: "dropped", gateway: "g" } as const;
    expect(boundedKey(keyOf(dropped), full, 2)).toBe(keyOf({ ...dropped, gateway: "other" }));
  });
});

describe("addRow()", () => {
  const row = {
    provider: "p",
    model: "m",
    statusCode: 200,
    success: true,
    cached: false,
    tokensIn: null,
    tokensOut: null,
    cost: null,
  };

  it("puts each duration into one bucket, bounds included", () => {
    const totals = noTotals();
    for (const duration of [0, 10, 11, 81_920, 81_921]) addRow(totals, { ...row, duration });
    expect(totals.buckets).toHaveLength(durationBounds.length + 1);
    expect(totals.buckets.slice(0, 3)).toEqual([2, 1, 0]);
    expect(totals.buckets.slice(-2)).toEqual([1, 1]);
    expect(totals).toMatchObject({ count: 5, duration: 163_862, tokensIn: 0, cost: 0 });
  });

  it("agrees with sumOf()", () => {
    const one = noTotals();
    const two = noTotals();
    addRow(one, { ...row, duration: 5, tokensIn: 3, tokensOut: 4, cost: 0.5 });
    addRow(two, { ...row, duration: 5, tokensIn: 3, tokensOut: 4, cost: 0.5 });
    const both = sumOf(one, two);
    addRow(one, { ...row, duration: 5, tokensIn: 3, tokensOut: 4, cost: 0.5 });
    expect(both).toEqual(one);
    expect(sumOf(noTotals(), both)).toEqual(both);
  });
});

describe("labels()", () => {
  const label = labels();

  it("keeps the names of models as they are", () => {
    for (const name of [
      "gpt-4o",
      "@cf/meta/llama-3.1-8b",
      "ft:gpt-4o:org:name:id",
      'a "quoted" \\ one',
      "模型-1",
    ])
      expect(label(name)).toBe(name);
  });

  it("takes no text that is no name", () => {
    expect(label("")).toBe("none");
    const hostile = ["a\tb", "a\nb", "\u0000", "\u202Eevil", "\uD800", "x".repeat(129), "\u2028"];
    for (const text of hostile) expect(label(text)).toBe("other");
  });

  it("takes no credential", () => {
    expect(label("sk-proj-0123456789abcdefghij")).toBe("other");
    expect(label(`ghp_${"a".repeat(36)}`)).toBe("other");
  });

  it("forgets what it knew before it knows too much, and says the same", () => {
    for (let at = 0; at < 2500; at++) expect(label(`model-${at}`)).toBe(`model-${at}`);
    expect(label("a\tb")).toBe("other");
  });
});
