import { describe, expect, it } from "vitest";
import { acceptedFormat } from "../../../../../core/http/metrics-format.ts";
import { exposition } from "../../../../../core/gateway/observe/metrics/exposition.ts";
import { keyOf, type RequestSeries } from "../../../../../core/gateway/observe/metrics/series.ts";
import {
  addRow,
  noTotals,
  type Totals,
} from "../../../../../core/gateway/observe/metrics/totals.ts";
import { VERSION } from "../../../../../core/version.ts";
import { nameOf, parseExposition } from "../../../../fakes/gateway-exposition.ts";

const series: RequestSeries = {
  family: "request",
  gateway: "g",
  provider: "openai",
  model: "m",
  status: "200",
  success: "true",
  cached: "false",
};

function tries(...durations: readonly number[]): Totals {
  const totals = noTotals();
  const row = { provider: "p", model: "m", statusCode: 200, success: true, cached: false };
  for (const duration of durations)
    addRow(totals, { ...row, duration, tokensIn: 10, tokensOut: 1, cost: 0.25 });
  return totals;
}

const table = new Map([
  [keyOf(series), tries(5, 100)],
  [keyOf({ ...series, status: "500", success: "false" }), tries(3000)],
  [keyOf({ ...series, cached: "true" }), tries(1)],
  [keyOf({ ...series, model: 'back\\slash "quoted"' }), tries(1)],
  [keyOf({ family: "refused", gateway: "g", reason: "rate_limited" }), { ...noTotals(), count: 3 }],
  [keyOf({ family: "dropped", gateway: "g" }), { ...noTotals(), count: 7 }],
  ["of\ta\tlater\tversion", { ...noTotals(), count: 7 }],
]);
const { family: _, ...labels } = series;
const { status: _status, success: _success, ...byCached } = labels;

describe("exposition()", () => {
  for (const format of ["text", "openmetrics"] as const) {
    it(`follows the rules of its format (${format})`, () => {
      const text = exposition(table, "node", format);
      const families = parseExposition(text, format === "openmetrics");
      const names = [...families].map(([name, { type }]) => `${name} ${type}`);
      const total = format === "text" ? "_total" : "";
      expect(names).toEqual([
        `causey_gateway_requests${total} counter`,
        "causey_gateway_request_duration_seconds histogram",
        `causey_gateway_tokens${total} counter`,
        `causey_gateway_cost_usd${total} counter`,
        `causey_gateway_key_requests${total} counter`,
        `causey_gateway_key_tokens${total} counter`,
        `causey_gateway_key_cost_usd${total} counter`,
        `causey_gateway_refused${total} counter`,
        `causey_gateway_log_rows_dropped${total} counter`,
        "causey_gateway_metric_series gauge",
        "causey_build_info gauge",
      ]);
      const values = new Map([...families.values()].flatMap(({ samples }) => [...samples]));
      const value = (name: string, of: Readonly<Record<string, string>> = {}) =>
        values.get(nameOf(`causey_gateway_${name}`, of));
      expect(value("requests_total", labels)).toBe(2);
      expect(value("requests_total", { ...labels, model: 'back\\slash "quoted"' })).toBe(1);
      const seconds = "request_duration_seconds";
      expect(value(`${seconds}_bucket`, { ...byCached, le: "0.01" })).toBe(1);
      expect(value(`${seconds}_bucket`, { ...byCached, le: "2.56" })).toBe(2);
      expect(value(`${seconds}_bucket`, { ...byCached, le: "+Inf" })).toBe(3);
      expect(value(`${seconds}_sum`, byCached)).toBe(3.105);
      expect(value(`${seconds}_count`, { ...byCached, cached: "true" })).toBe(1);
      expect(value("tokens_total", { ...byCached, type: "input" })).toBe(30);
      expect(value("tokens_total", { ...byCached, type: "output" })).toBe(3);
      const { cached: _cached, ...byModel } = byCached;
      expect(value("cost_usd_total", byModel)).toBe(1);
      expect(value("refused_total", { gateway: "g", reason: "rate_limited" })).toBe(3);
      expect(value("log_rows_dropped_total", { gateway: "g" })).toBe(7);
      expect(value("metric_series")).toBe(7);
      const build = { runtime: "node", version: VERSION };
      expect(values.get(nameOf("causey_build_info", build))).toBe(1);
    });
  }

  it("escapes what would end a label", () => {
    const text = exposition(table, "node", "text");
    expect(text).toContain(String.raw`model="back\\slash \"quoted\""`);
  });

  it("is whole without a series", () => {
    for (const isOpen of [false, true]) {
      const text = exposition(new Map(), "bun", isOpen ? "openmetrics" : "text");
      expect(parseExposition(text, isOpen).size).toBe(11);
    }
  });
});

describe("acceptedFormat()", () => {
  it("takes OpenMetrics where it is preferred to text", () => {
    const prometheus =
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
    for (const accept of [
      prometheus,
      "application/openmetrics-text",
      'Application/OpenMetrics-Text; version="1.0.0"; charset=utf-8',
      "text/plain, application/openmetrics-text",
    ])
      expect(acceptedFormat(accept)).toBe("openmetrics");
  });

  it("takes the text format for everything else", () => {
    for (const accept of [
      undefined,
      "",
      "*/*",
      "text/html,*/*;q=0.8",
      "text/plain;version=0.0.4",
      "text/plain;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4",
      "application/openmetrics-text;version=0.0.1",
      "application/openmetrics-text;q=0",
      "application/openmetrics-text;q=high",
    ])
      expect(acceptedFormat(accept)).toBe("text");
  });
});

describe("parseExposition()", () => {
  it("refuses what the formats forbid", () => {
    const head = "# HELP a_total x\n# TYPE a_total counter\n";
    for (const text of [
      "a 1\n",
      `${head}a_total 1`,
      `${head}a_total one\n`,
      `${head}a_total{b="c} 1\n`,
      `${head}a_total{b="\\x"} 1\n`,
      `${head}a_total 1\na_total 2\n`,
      `${head}b_total 1\n`,
      `${head}${head}`,
      '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_count 1\n',
      '# HELP h x\n# TYPE h histogram\nh_bucket{le="1"} 1\nh_count 1\n',
      '# HELP h x\n# TYPE h histogram\nh_bucket{le="+Inf"} 1\nh_count 2\n',
    ])
      expect(() => parseExposition(text), text).toThrow(/./);
    expect(() => parseExposition(`${head}a_total 1\n`, true)).toThrow("EOF");
  });
});
