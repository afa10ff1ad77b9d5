import { describe, expect, it } from "vitest";
import {
  type Brownout,
  type EntrySettings,
  isEnforced,
  phase,
  schedule,
  type ScheduledEntry,
} from "../../../core/deprecations/phase.ts";
import {
  documentationUrl,
  deprecationSignals,
  withSignals,
} from "../../../core/deprecations/signal.ts";
import { deprecationTable } from "../../../core/deprecations/table/table.ts";
import { formatInstant, parseInstant } from "../../../core/http/fields/instant.ts";

const place = {
  docs: "https://docs.example/deprecations",
  basePath: "/client/v4",
  mountPath: "",
};

function entry(id: string, options: Parameters<typeof schedule>[1] = {}): ScheduledEntry {
  return schedule(deprecationTable, options).find((one) => one.id === id)!;
}

describe("phase()", () => {
  it("changes at midnight UTC to the millisecond, whatever the process's time zone is", () => {
    const industry = entry("radar-attacks-top.01");
    const date = Date.UTC(2025, 2, 20);
    const end = Date.UTC(2025, 8, 20);
    expect([date - 1, date, end - 1, end].map((now) => phase(industry, now))).toEqual([
      "upcoming",
      "deprecated",
      "deprecated",
      "retired",
    ]);
  });

  it("keeps 2024-10-01 itself and the last day of zone fields in the old form", () => {
    expect(phase(entry("dns-error-chain.01"), Date.UTC(2024, 9, 2) - 1)).toBe("deprecated");
    expect(phase(entry("dns-error-chain.01"), Date.UTC(2024, 9, 2))).toBe("retired");
    expect(phase(entry("dns-record-zone-fields.01"), Date.UTC(2024, 10, 30, 23, 59))).toBe(
      "deprecated",
    );
  });

  it("knows brownouts, whose end belongs to normal life again", () => {
    const window: Brownout = { start: "2025-09-01T00:00:00Z", end: "2025-09-01T01:00:00Z" };
    const industry = entry("radar-attacks-top.01", {
      settings: { "radar-attacks-top": { brownouts: [window] } },
    });
    expect(phase(industry, Date.UTC(2025, 8, 1))).toBe("brownout");
    expect(phase(industry, Date.UTC(2025, 8, 1, 1))).toBe("deprecated");
  });

  it("spreads progressive brownouts over the last four weeks, longer each time, all over before the end", () => {
    const industry = entry("radar-attacks-top.01", {
      settings: { "radar-attacks-top": { brownouts: "progressive" } },
    });
    const other = entry("radar-attacks-top.02", {
      settings: { "radar-attacks-top": { brownouts: "progressive" } },
    });
    const hours = industry.brownouts.map(({ start, end }) => (end - start) / 3_600_000);
    expect(hours).toEqual([1, 1, 4, 8, 24]);
    expect(industry.brownouts.at(-1)!.end).toBeLessThan(industry.enforceAt!);
    expect(industry.brownouts[0]!.start).toBeGreaterThanOrEqual(Date.UTC(2025, 7, 23));
    expect(other.brownouts[0]!.start).not.toBe(industry.brownouts[0]!.start);
    expect(() =>
      schedule(deprecationTable, {
        settings: { "setting-minify": { end: null, brownouts: "progressive" } },
      }),
    ).toThrow("needs an end");
  });

  it("never retires what has no cut-off, until one is configured", () => {
    const late = Date.UTC(2100, 0, 1);
    expect(phase(entry("notification-email.01"), late)).toBe("deprecated");
    const settings = { "notification-email": { end: "2026-01-01" } };
    expect(phase(entry("notification-email.01", { settings }), late)).toBe("retired");
    expect(
      phase(entry("setting-minify.01", { settings: { "setting-minify.01": { end: null } } }), late),
    ).toBe("deprecated");
  });

  it("lets the id win over the row in settings", () => {
    const settings = {
      "setting-minify": { mode: "refuse", end: "2030-01-01" },
      "setting-minify.02": { mode: "off" },
    } as const;
    expect(entry("setting-minify.01", { settings }).mode).toBe("refuse");
    expect(entry("setting-minify.02", { settings }).mode).toBe("off");
    expect(entry("setting-minify.02", { settings }).enforceAt).toBe(Date.UTC(2030, 0, 1));
    expect(entry("setting-brotli.01", { settings }).mode).toBe("translate");
  });
});

describe("schedule()", () => {
  it("refuses unknown ids, bad dates and a cut-off before the deprecation", () => {
    expect(() =>
      schedule(deprecationTable, { settings: { "no-such-row": { mode: "off" } } }),
    ).toThrow('"no-such-row"');
    expect(() => schedule(deprecationTable, { settings: { billing: { end: "soon" } } })).toThrow(
      '"soon"',
    );
    expect(() =>
      schedule(deprecationTable, { settings: { billing: { end: "2020-01-01" } } }),
    ).toThrow("earlier");
  });
});

describe("settings", () => {
  const at = (settings: EntrySettings, id = "script-monitor.01") =>
    entry(id, { settings: { [id]: settings } });
  const end = Date.UTC(2022, 9, 11);
  const later = Date.UTC(2030, 0, 1);

  it("extend an end, and pause it with its brownouts", () => {
    expect(at({}).enforceAt).toBe(end);
    expect(at({ extend: "2030-01-01" }).enforceAt).toBe(later);
    const paused = at({ extend: "2030-01-01", brownouts: "progressive", pause: true });
    expect([paused.enforceAt, paused.brownouts]).toEqual([null, []]);
  });

  it("end writes before reads", () => {
    const open = at({ reads: "after" });
    expect([open.enforceAt, open.forReads?.enforceAt]).toEqual([end, null]);
    expect(at({ reads: "2030-01-01" }).forReads?.enforceAt).toBe(later);
    const read = at({ reads: "after", brownouts: "progressive" }, "setting-brotli.01");
    expect([read.enforceAt, read.brownouts, read.forReads]).toEqual([null, [], undefined]);
    const write = at({ reads: "after", brownouts: "progressive" }, "setting-brotli.02");
    expect([write.enforceAt, write.brownouts.length]).toEqual([Date.UTC(2024, 7, 15), 5]);
  });

  const mistakes: [EntrySettings, string][] = [
    [{ extend: "2020-01-01" }, "is not later than its end"],
    [{ end: null, extend: "2030-01-01" }, "is not later than its end, never"],
    [{ reads: "2022-10-10" }, "before writes do"],
    [{ reads: "later" }, 'Invalid date "later"'],
    [{ pasue: true } as never, 'did you mean "pause"'],
  ];
  it.each(mistakes)("are refused: %j", (settings, message) => {
    expect(() => at(settings)).toThrow(message);
  });
});

describe("isEnforced()", () => {
  it("is true before the cut-off only in strict mode, and never in warn and off", () => {
    const before = Date.UTC(2025, 8, 19);
    const after = Date.UTC(2025, 8, 21);
    const at = (mode: ScheduledEntry["mode"], now: number): boolean =>
      isEnforced(entry("radar-attacks-top.01", { mode }), now);
    const modes = ["warn", "translate", "refuse", "strict", "off"] as const;
    expect(modes.map((mode) => at(mode, before))).toEqual([false, false, false, true, false]);
    expect(modes.map((mode) => at(mode, after))).toEqual([false, true, true, true, false]);
  });
});

describe("signals()", () => {
  it("follow RFC 9745, RFC 8594 and RFC 8288", () => {
    const sent = deprecationSignals(
      [entry("radar-attacks-top.01")],
      place,
      "/radar/attacks/layer3/top/industry",
    );
    const { headers } = withSignals(new Response(null), sent);
    expect(Object.fromEntries(headers)).toEqual({
      deprecation: "@1742428800",
      sunset: "Sat, 20 Sep 2025 00:00:00 GMT",
      link:
        '<https://docs.example/deprecations#radar-attacks-top.01>; rel="deprecation"; type="text/html", ' +
        '</client/v4/radar/attacks/layer3/summary/industry>; rel="successor-version"',
      "access-control-expose-headers": "Deprecation, Sunset, Link",
    });
  });

  it("name the earliest dates and all documents when several entries hit", () => {
    const both = [
      entry("radar-attacks-top.01"),
      entry("setting-minify.01"),
      entry("dns-srv-data.01"),
    ];
    const sent = deprecationSignals(both, place, "/x");
    expect(sent.deprecation).toBe(`@${Date.UTC(2024, 4, 31) / 1000}`);
    expect(sent.sunset).toBe("Thu, 25 Jul 2024 00:00:00 GMT");
    expect(sent.links.filter((link) => link.includes('rel="deprecation"'))).toHaveLength(3);
  });

  it("have no Sunset when there is no end, and never one before the Deprecation", () => {
    expect(deprecationSignals([entry("notification-email.01")], place, "/x").sunset).toBeNull();
    for (const one of schedule(deprecationTable)) {
      const { deprecation, sunset } = deprecationSignals([one], place, "/x");
      expect(deprecation).toMatch(/^@[1-9]\d*$/);
      if (sunset !== null) {
        expect(sunset).toMatch(
          /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} 00:00:00 GMT$/,
        );
        expect(Date.parse(sunset)).toBeGreaterThanOrEqual(Number(deprecation.slice(1)) * 1000);
      }
    }
  });

  it("link a successor only with one replacement whose parameters the path fills", () => {
    const successor = (id: string, path: string): string | undefined =>
      deprecationSignals([entry(id)], place, path).links.find((link) =>
        link.includes("successor-version"),
      );
    expect(successor("devices.04", "/accounts/a%2Fb/devices/revoke")).toBe(
      '</client/v4/accounts/a%2Fb/devices/registrations/revoke>; rel="successor-version"',
    );
    expect(successor("devices.01", "/accounts/a/devices")).toBeUndefined();
    expect(successor("devices.03", "/accounts/a/devices/d/override_codes")).toBeUndefined();
    expect(successor("setting-minify.01", "/zones/z/settings/minify")).toBeUndefined();
  });

  it("have the form that octokit reads its warning from", () => {
    const { links } = deprecationSignals([entry("setting-minify.01")], place, "/x");
    expect(links.join(", ").match(/<([^<>]+)>; rel="deprecation"/)?.[1]).toBe(
      documentationUrl({ id: "setting-minify.01" }, place),
    );
  });
});

describe("withSignals()", () => {
  const sent = deprecationSignals([entry("setting-minify.01")], place, "/x");

  it("merges a Link and exposed headers that are there, and passes status and body on", async () => {
    const page = '<https://x/?page=2>; rel="next"';
    const headers = { link: page, "access-control-expose-headers": "ETag, link", etag: '"1"' };
    const response = withSignals(new Response("body", { status: 418, headers }), sent);
    expect(response.status).toBe(418);
    expect(await response.text()).toBe("body");
    expect(response.headers.get("link")).toMatch(
      /^<https:\/\/x\/\?page=2>; rel="next", <.*rel="deprecation"/,
    );
    expect(response.headers.get("access-control-expose-headers")).toBe(
      "ETag, link, Deprecation, Sunset",
    );
    expect(response.headers.get("etag")).toBe('"1"');
  });

  it("keeps both of two cookies, and bodies that must be absent", () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
    const response = withSignals(new Response(null, { status: 204, headers }), sent);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(withSignals(new Response(null, { status: 304 }), sent).status).toBe(304);
  });
});

describe("parseInstant()", () => {
  it("reads days and date-times with a zone, in UTC", () => {
    expect(parseInstant("2025-09-20")).toBe(Date.UTC(2025, 8, 20));
    expect(parseInstant("2025-09-20T02:00:00+02:00")).toBe(Date.UTC(2025, 8, 20));
    expect(parseInstant("2025-09-20T00:00:00.250Z")).toBe(Date.UTC(2025, 8, 20) + 250);
    expect(formatInstant(Date.UTC(2025, 8, 20))).toBe("2025-09-20T00:00:00Z");
  });

  it("refuses what engines disagree about", () => {
    const bad = [
      "",
      "2025",
      "2025-02-30",
      "2025-13-01",
      "2025-09-20T24:00:00Z",
      "2025-09-20T00:00:00",
      "20 Sep 2025",
    ];
    for (const text of bad) expect(parseInstant(text)).toBeNull();
  });
});
