import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matcher } from "../../../core/deprecations/table/matcher.ts";
import { pathEnd, pathStart } from "../../../core/deprecations/translate/pathname.ts";
import { deprecationTable } from "../../../core/deprecations/table/table.ts";

const match = matcher(deprecationTable);

function ids(method: string, target: string): string[] {
  const url = `https://api.example${target}`;
  const start = pathStart(url);
  return match(method, url, start, pathEnd(url, start)).map((entry) => entry.id);
}

describe("matcher()", () => {
  it("finds every entry at its own template, with any names in the parameters", () => {
    for (const entry of deprecationTable) {
      if (entry.path === null || entry.path === "/*") continue;
      const path = entry.path.replaceAll(/\{[^}]*\}/g, "f00").replaceAll("**", "zones");
      for (const method of entry.methods) {
        expect(ids(method === "*" ? "GET" : method, path)).toContain(entry.id);
      }
    }
  });

  it("returns all entries of a route in the table's order", () => {
    expect(ids("GET", "/zones/z/dns_records")).toHaveLength(12);
    expect(ids("GET", "/zones/z/dns_records")[0]).toBe("dns-list-filters.01");
  });

  it("passes over the live routes beside a template and what lies below them", () => {
    for (const name of ["physical-devices", "registrations", "policy", "settings", "networks"]) {
      expect(ids("GET", `/accounts/a/devices/${name}`)).toEqual([]);
    }
    expect(ids("GET", "/accounts/a/devices/registrations/override_codes")).toEqual([]);
    expect(ids("GET", "/accounts/a/devices/d1/override_codes")).toEqual(["devices.03"]);
    expect(ids("GET", "/zones/z/dns_records/export")).toEqual([]);
    expect(ids("PUT", "/accounts/a/access/apps/ca")).toEqual([]);
    expect(ids("POST", "/accounts/a/devices/revoke")).toEqual(["devices.04"]);
  });

  it("passes over live neighbours of the table's routes", () => {
    const live = [
      "/zones/z/firewall/access_rules/rules",
      "/zones/z/firewall/lockdowns",
      "/zones/z/workers/filters",
      "/zones/z/settings/ssl",
      "/zones/z/settings/minify/more",
      "/radar/attacks/layer3/top/attacks",
      "/accounts/a/images/v1",
      "/accounts/a/ai-search/instances",
      "/accounts/a/browser-rendering/pdf",
    ];
    for (const path of live) expect(ids("GET", path)).toEqual([]);
    expect(ids("POST", "/accounts/a/images/v1")).toEqual([]);
  });

  it("tells methods apart, takes HEAD for GET, tolerates one trailing slash and stops at the query", () => {
    expect(ids("POST", "/zones/z/settings/minify")).toEqual([]);
    expect(ids("HEAD", "/zones/z/settings/minify")).toEqual(["setting-minify.01"]);
    expect(ids("GET", "/zones/z/settings/minify/")).toEqual(["setting-minify.01"]);
    expect(ids("GET", "/zones/z/settings/minify//")).toEqual([]);
    expect(ids("GET", "/zones//settings/minify")).toEqual([]);
    expect(ids("GET", "/zones/z/settings/minify?x=/a/b#c")).toEqual(["setting-minify.01"]);
    expect(ids("GET", "/x?y=/zones/z/settings/minify")).toEqual([]);
  });

  it("decodes nothing and folds the case of Radar's dimension only", () => {
    expect(ids("GET", "/zones/z%2Fsettings/settings/minify")).toEqual(["setting-minify.01"]);
    expect(ids("GET", "/zones/z/settings%2Fminify")).toEqual([]);
    expect(ids("GET", "/zones/z/settings/Minify")).toEqual([]);
    expect(ids("GET", "/radar/attacks/layer3/top/INDUSTRY")).toEqual(["radar-attacks-top.01"]);
    expect(ids("GET", "/RADAR/attacks/layer3/top/industry")).toEqual([]);
  });

  it("finds script_monitor where the zone's routes are, with all that lies below", () => {
    expect(ids("PUT", "/zones/z/script_monitor")).toEqual(["script-monitor.01"]);
    expect(ids("GET", "/zones/z/script_monitor/scripts/1")).toEqual(["script-monitor.01"]);
    expect(ids("GET", "/zones/z/script_monitors")).toEqual([]);
    expect(ids("GET", "/zones/z/a?b=/script_monitor")).toEqual([]);
  });

  it.each([
    "/accounts/a/storage/kv/namespaces/n/values/script_monitor",
    "/accounts/a/storage/kv/namespaces/n/values/zones/z/script_monitor/x",
    "/accounts/a/workers/scripts/script_monitor",
    "/zones/z/workers/routes/script_monitor",
    "/accounts/a/storage/kv/namespaces/n/values/zones/z/settings/minify",
    "/accounts/a/workers/scripts/organizations/settings",
  ])("leaves %s alone: a caller's own name is no route", (path) => {
    for (const method of ["GET", "PUT", "DELETE"]) expect(ids(method, path)).toEqual([]);
  });

  it("answers any path and never throws", () => {
    const segment = fc.constantFrom(
      "zones",
      "accounts",
      "settings",
      "minify",
      "devices",
      "revoke",
      "",
      "x",
      "%",
      "..",
    );
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 9 }),
        fc.constantFrom("GET", "POST", "X"),
        (segments, method) => {
          expect(Array.isArray(ids(method, `/${segments.join("/")}`))).toBe(true);
        },
      ),
    );
  });
});
