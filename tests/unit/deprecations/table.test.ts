import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { checkTable, shadowedRoutes } from "../../../core/deprecations/table/check-table.ts";
import { schedule } from "../../../core/deprecations/phase.ts";
import { retired } from "../../../core/deprecations/refuse.ts";
import type { DeprecationEntry } from "../../../core/deprecations/table/entry.ts";
import { deprecationTable, extend } from "../../../core/deprecations/table/table.ts";
import { parseInstant } from "../../../core/http/fields/instant.ts";

const day = v.pipe(
  v.string(),
  v.isoDate(),
  v.check((text) => parseInstant(text) !== null),
);
const method = v.picklist(["GET", "POST", "PUT", "PATCH", "DELETE"]);
const path = v.pipe(v.string(), v.regex(/^(\/([a-z0-9_-]+|\{[a-z_]+\}))+$/));

const entrySchema = v.strictObject({
  id: v.pipe(v.string(), v.regex(/^[a-z0-9-]+\.\d\d$/)),
  row: v.pipe(v.string(), v.regex(/^[a-z0-9-]+$/)),
  date: v.nullable(day),
  eol: v.nullable(day),
  enforceFrom: v.nullable(day),
  kind: v.picklist(["endpoint", "field", "query", "protocol", "notice", "behaviour"]),
  class: v.picklist(["A", "B", "C", "D", "E", "F"]),
  lossless: v.nullable(v.picklist(["yes", "conditional", "no"])),
  methods: v.array(v.union([method, v.literal("*")])),
  path: v.nullable(
    v.union([path, v.literal("/*"), v.literal("/zones/{zone_id}/script_monitor/**")]),
  ),
  fields: v.array(v.string()),
  where: v.nullable(
    v.picklist(["query", "request headers", "request and response", "response", "error response"]),
  ),
  replacement: v.array(v.strictObject({ method, path })),
  rule: v.nullable(v.pipe(v.string(), v.minLength(1))),
  except: v.array(v.string()),
  pastCutOff: v.exactOptional(v.picklist(["drop", "refuse"])),
  calls: v.exactOptional(
    v.array(
      v.strictObject({ method, path: v.string(), client: v.pipe(v.string(), v.minLength(3)) }),
    ),
  ),
  isCarriedBy: v.exactOptional(v.function()),
  sign: v.exactOptional(v.string()),
  leavesResponses: v.exactOptional(v.literal(true)),
  usedIds: v.exactOptional(v.function()),
  planQuery: v.exactOptional(v.function()),
  modernRequest: v.exactOptional(v.function()),
  modernErrors: v.exactOptional(v.function()),
  oldRecord: v.exactOptional(v.function()),
  lookUp: v.exactOptional(v.literal("/zones/{zone_id}")),
  oldFailure: v.exactOptional(v.function()),
  rewriting: v.exactOptional(
    v.strictObject({
      readsBody: v.exactOptional(v.literal(true)),
      toModern: v.function(),
      toOld: v.exactOptional(v.function()),
    }),
  ),
  isReused: v.exactOptional(v.literal(true)),
  isAnyCase: v.exactOptional(v.literal(true)),
  namedIn: v.exactOptional(
    v.strictObject({
      on: v.literal("PATCH /zones/{zone_id}/settings"),
      isCarriedBy: v.function(),
      subject: v.string(),
      instead: v.string(),
    }),
  ),
});

const count = (property: (entry: DeprecationEntry) => string | null): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const entry of deprecationTable) {
    const name = String(property(entry));
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

describe("deprecationTable", () => {
  it("has 144 entries that fit the schema", () => {
    expect(deprecationTable).toHaveLength(144);
    for (const entry of deprecationTable) expect(() => v.parse(entrySchema, entry)).not.toThrow();
  });

  it("has known counts by kind, class, loss, end of life and cut-off", () => {
    expect(count((entry) => entry.kind)).toEqual({
      endpoint: 99,
      field: 30,
      query: 10,
      protocol: 2,
      notice: 2,
      behaviour: 1,
    });
    expect(count((entry) => entry.class)).toEqual({ A: 49, B: 23, C: 50, D: 19, E: 2, F: 1 });
    expect(count((entry) => entry.lossless)).toEqual({ yes: 35, conditional: 37, no: 68, null: 4 });
    expect(deprecationTable.filter((entry) => entry.eol !== null)).toHaveLength(12);
    expect(deprecationTable.filter((entry) => entry.enforceFrom === null)).toHaveLength(4);
  });

  it("covers 118 routes over 65 templates", () => {
    const routed = deprecationTable.filter(({ path: at }) => at !== null && !at.includes("*"));
    const normal = (text: string): string => text.replaceAll(/\{[^}]*\}/g, "{}");
    expect(new Set(routed.map((entry) => `${entry.methods[0]} ${normal(entry.path!)}`)).size).toBe(
      118,
    );
    expect(new Set(routed.map((entry) => normal(entry.path!))).size).toBe(65);
  });

  it("names a route of today in every refusal, or says that there is none", () => {
    const place = { docs: "", basePath: "", mountPath: "" };
    const endpoints = schedule(deprecationTable).filter(({ kind }) => kind === "endpoint");
    expect(endpoints).toHaveLength(99);
    for (const entry of endpoints) {
      const { message } = retired(entry, place);
      const says = entry.class === "D" ? /; no replacement\./ : /^Use (?:[A-Z]+ )?\/\S+/;
      expect(message).toMatch(says);
    }
    const railguns = endpoints.filter(({ path: at }) => at?.includes("/railguns") === true);
    expect(railguns.map((entry) => entry.class)).toEqual(Array.from({ length: 6 }, () => "D"));
  });

  it("says where the announcement has a condition or a field of the replacement", () => {
    const rules = new Map(deprecationTable.map(({ id, rule }) => [id, rule]));
    expect(rules.get("devices.01")).toContain("multi-user mode");
    expect(rules.get("dns-settings-sub.02")).toContain("multi_provider");
    expect(rules.get("dns-settings-sub.04")).toContain("secondary_overrides");
  });

  it("passes the boot checks", () => {
    expect(checkTable(deprecationTable)).toEqual([]);
  });

  it("ends where the announcement says after, until, from or end of life", () => {
    const end = (id: string): string | null | undefined =>
      deprecationTable.find((entry) => entry.id === id)?.enforceFrom;
    expect(end("dns-error-chain.01")).toBe("2024-10-02");
    expect(end("dns-record-zone-fields.01")).toBe("2024-12-01");
    expect(end("access-apps-self-hosted-domains-zone.02")).toBe("2025-11-21");
    expect(end("te-and-cl.01")).toBe("2023-07-01");
    expect(end("radar-verified-bots.01")).toBe("2026-01-01");
    expect(end("dns-list-filters.04")).toBe("2025-05-23");
    expect(end("dns-srv-data.01")).toBe("2024-07-25");
  });
});

describe("checkTable()", () => {
  const good = deprecationTable.find((entry) => entry.id === "setting-minify.01")!;
  const bad: [string, Partial<DeprecationEntry>, string][] = [
    ["an endpoint without route", { path: null }, "has no route"],
    ["a path without leading slash", { path: "zones" }, "leading slash"],
    ["a day that does not exist", { date: "2024-02-30" }, "invalid date"],
    ["a cut-off before the deprecation", { enforceFrom: "2024-08-04" }, "ends before"],
    ["no date at all", { date: null, eol: null }, "has no date"],
    ["no method", { methods: [] }, "has no method"],
    [
      "a replacement that is retired itself",
      { replacement: [{ method: "GET", path: "/zones/{z}/rate_limits" }] },
      "is replaced by the retired",
    ],
  ];
  it.each(bad)("reports %s", (_, change, problem) => {
    expect(checkTable([...deprecationTable, { ...good, id: "x.01", ...change }]).join()).toContain(
      problem,
    );
  });

  it("reports an id that is there twice, and extend() refuses it", () => {
    expect(checkTable([good, good])).toEqual(["setting-minify.01 is there twice"]);
    expect(() => extend(deprecationTable, [good])).toThrow("there twice");
    expect(extend(deprecationTable, [{ ...good, id: "mine.01" }])).toHaveLength(145);
  });
});

describe("shadowedRoutes()", () => {
  it("finds no live route of the official SDK that the table would hide, thanks to except", () => {
    const live = [
      ...["deployment-groups", "physical-devices", "registrations", "policy", "settings"].map(
        (name) => `/accounts/:account_id/devices/${name}`,
      ),
      "/accounts/:account_id/access/apps/ca",
      "/zones/:zone_id/dns_records/export",
      "/zones/:zone_id/firewall/access_rules/rules",
      "/zones/:zone_id/firewall/lockdowns",
      "/zones/:zone_id/firewall/ua_rules",
      "/zones/:zone_id/workers/filters",
      "/radar/attacks/layer3/top/attacks",
    ].map((at) => ({ method: "GET", path: at }));
    expect(shadowedRoutes(deprecationTable, live)).toEqual([]);
    const minify = { method: "GET", path: "/zones/{id}/settings/minify" };
    expect(shadowedRoutes(deprecationTable, [minify])).toEqual([
      { id: "setting-minify.01", route: minify },
    ]);
  });
});
