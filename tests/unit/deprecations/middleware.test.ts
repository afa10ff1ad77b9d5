import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import {
  type DeprecationsOptions,
  deprecationTable,
  withDeprecations,
} from "../../../core/deprecations/mod.ts";
import { responseNote } from "../../../core/http/response-note.ts";
import { ROOT, body, host } from "../../fakes/deprecations-host.ts";

describe("a retired endpoint that nobody mounts", () => {
  it("answers 410 in the envelope, naming what happened and when", async () => {
    const response = await host().request(`${ROOT}/zones/z1/settings/minify`);
    expect(response.status).toBe(410);
    expect(await body(response)).toEqual({
      result: null,
      success: false,
      errors: [
        {
          code: 10410,
          message:
            "GET /zones/{zone_id}/settings/minify was retired on 2024-08-05; no replacement. None (the feature was retired).",
          documentation_url: "/client/v4/deprecations#setting-minify.01",
        },
      ],
      messages: [],
      deprecation: {
        id: "setting-minify.01",
        date: "2024-08-05",
        eol: null,
        replacement: [],
        rule: "None (the feature was retired).",
      },
    });
    const { headers } = response;
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-should-retry")).toBe("false");
    expect(headers.get("deprecation")).toBe("@1722816000");
    expect(headers.get("sunset")).toBe("Mon, 05 Aug 2024 00:00:00 GMT");
    expect(headers.get("link")).toContain('rel="deprecation"');
    expect(headers.get("content-type")).toContain("application/json");
  });

  it("leaves facts for the log, without a stack that nobody reads", async () => {
    const handle = withDeprecations({ isMounted: () => false, clock: "2026-06-01" });
    const ask = (path: string): Promise<Response> =>
      handle(new Request(`http://x${ROOT}/zones/z1/${path}`), () =>
        Promise.resolve(new Response()),
      );
    const retired = responseNote(await ask("settings/minify"))?.error;
    expect(retired).toMatchObject({ kind: "retired", status: 410, code: 10410 });
    expect(retired?.message).toContain("was retired on 2024-08-05");
    expect(retired).not.toBeInstanceOf(Error);
  });

  it("names today's calls where the announcement names none", async () => {
    const response = await host().request(`${ROOT}/zones/z/script_monitor/scripts/1%2F2`);
    const { errors } = await body(response);
    expect(errors[0]?.message).toContain(
      "PUT /zones/{zone_id}/page_shield (client.pageShield.update)",
    );
    expect(errors[0]?.message).toContain(
      "GET /zones/{zone_id}/page_shield/scripts (client.pageShield.scripts.list)",
    );
  });

  it("answers 410 for every single one, with a message that says what to do instead", async () => {
    const app = host();
    const endpoints = deprecationTable.filter(({ kind }) => kind === "endpoint");
    expect(endpoints).toHaveLength(99);
    for (const { id, methods, path } of endpoints) {
      const method = methods[0] === "*" ? "GET" : methods[0]!;
      const target = path!.replaceAll(/\{[^}]*\}/g, "f00").replaceAll("**", "zones");
      const response = await app.request(`${ROOT}${target}`, { method });
      const { errors, deprecation } = await body(response);
      expect([response.status, deprecation["id"]]).toEqual([410, id]);
      expect(errors[0]?.message).toMatch(
        /^Use (?:[A-Z]+ )?\/\S+.* was retired on \d{4}-\d\d-\d\d\.|; (?:use instead|no replacement)/,
      );
    }
  });

  it("names the replacement in the message, a path or the announcement's prose", async () => {
    const message = async (method: string, path: string): Promise<string | undefined> =>
      (await body(await host().request(`${ROOT}${path}`, { method }))).errors[0]?.message;
    expect(await message("GET", "/radar/verified_bots/top/bots")).toContain(
      "Use GET /radar/bots/summary/bot. GET /radar/verified_bots/top/bots was retired",
    );
    expect(await message("GET", "/accounts/a/devices")).toContain(
      "Use GET /accounts/{account_id}/devices/physical-devices and GET /accounts/{account_id}/devices/registrations",
    );
    expect(await message("DELETE", "/zones/z/filters")).toContain(
      "Use DELETE /zones/{zone_id}/rulesets/{ruleset_id}/rules/{rule_id} (client.rulesets.rules.delete)",
    );
  });

  it("answers HEAD, OPTIONS and wrong verbs as the router does", async () => {
    const path = `${ROOT}/zones/z/settings/minify`;
    const status = async (method: string): Promise<number> =>
      (await host().request(path, { method })).status;
    expect(await status("HEAD")).toBe(404);
    expect(await status("OPTIONS")).toBe(404);
    expect(await status("DELETE")).toBe(404);
    expect(await status("PATCH")).toBe(410);
    const head = await host().request(path, { method: "HEAD" });
    expect(head.headers.get("deprecation")).toBe("@1722816000");
  });

  it("is a plain 404 to the day before, announced by headers", async () => {
    const app = host({ clock: "2024-08-04T23:59:59.999Z" });
    const response = await app.request(`${ROOT}/zones/z/settings/minify`);
    expect(response.status).toBe(404);
    expect(response.headers.get("sunset")).toBe("Mon, 05 Aug 2024 00:00:00 GMT");
    expect(
      (await host({ clock: "2024-08-05" }).request(`${ROOT}/zones/z/settings/minify`)).status,
    ).toBe(410);
  });

  it("asks strangers to authenticate first", async () => {
    const app = host({
      auth: (request) =>
        Promise.resolve(
          request.headers.has("authorization") ? { id: "x", kind: "token", grants: [] } : null,
        ),
    });
    const stranger = await app.request(`${ROOT}/zones/z/settings/minify`);
    expect([stranger.status, (await body(stranger)).errors[0]?.code]).toEqual([401, 10000]);
    const known = await app.request(`${ROOT}/zones/z/settings/minify`, {
      headers: { authorization: "Bearer x" },
    });
    expect(known.status).toBe(410);
  });

  it("follows its mode", async () => {
    const early = { clock: "2020-01-01" };
    const status = async (options: Partial<DeprecationsOptions>): Promise<[number, boolean]> => {
      const response = await host(options).request(`${ROOT}/zones/z/settings/minify`);
      return [response.status, response.headers.has("deprecation")];
    };
    expect(await status({ mode: "warn" })).toEqual([404, true]);
    expect(await status({ mode: "off" })).toEqual([404, false]);
    expect(await status({ mode: "refuse" })).toEqual([410, true]);
    expect(await status({ mode: "strict", ...early })).toEqual([410, true]);
    expect(await status({ mode: "refuse", ...early })).toEqual([404, true]);
    expect(await status({ settings: { "setting-minify": { mode: "off" } } })).toEqual([404, false]);
    expect(await status({ settings: { "setting-minify": { end: "2030-01-01" } } })).toEqual([
      404,
      true,
    ]);
  });
});

describe("a route that the host mounts", () => {
  const live = (api: Hono): unknown => api.get("/zones/:id/settings/:name", (c) => c.text("live"));

  it("always wins, under every mode, and is announced", async () => {
    for (const mode of ["warn", "translate", "refuse", "strict"] as const) {
      const response = await host({ mode }, live).request(`${ROOT}/zones/z/settings/minify`);
      expect([response.status, await response.text()]).toEqual([200, "live"]);
      expect(response.headers.get("deprecation")).toBe("@1722816000");
    }
  });

  it("keeps its own errors and streams", async () => {
    const app = host({}, (api) => {
      api.get("/zones/:id/settings/minify", (c) => c.json({ mine: true }, 404));
      api.get(
        "/zones/:id/rate_limits",
        () => new Response(new ReadableStream({ pull: (c) => c.close() })),
      );
    });
    const missing = await app.request(`${ROOT}/zones/z/settings/minify`);
    expect([missing.status, await missing.json()]).toEqual([404, { mine: true }]);
    expect((await app.request(`${ROOT}/zones/z/rate_limits`)).headers.has("sunset")).toBe(true);
  });

  it("does not save another method of the same path", async () => {
    expect(
      (await host({}, live).request(`${ROOT}/zones/z/settings/minify`, { method: "PATCH" })).status,
    ).toBe(410);
  });

  it("leaves undeprecated routes exactly as they were", async () => {
    const path = `${ROOT}/zones/z/settings/ssl`;
    const headers = async (app: Hono): Promise<unknown> => [...(await app.request(path)).headers];
    const bare = new Hono();
    live(bare);
    expect(await headers(host({}, live))).toEqual(await headers(new Hono().route(ROOT, bare)));
  });

  it("is dark in a brownout that the operator asked for", async () => {
    const window = { start: "2024-08-01T00:00:00Z", end: "2024-08-01T01:00:00Z" };
    const settings = { "setting-minify": { brownouts: [window] } };
    const at = (clock: string) =>
      host({ clock, settings }, live).request(`${ROOT}/zones/z/settings/minify`);
    const dark = await at("2024-08-01T00:59:00Z");
    expect([
      dark.status,
      dark.headers.get("retry-after"),
      dark.headers.get("x-should-retry"),
    ]).toEqual([410, "60", "false"]);
    expect((await body(dark)).errors[0]?.code).toBe(10411);
    expect((await at("2024-08-01T01:00:00Z")).status).toBe(200);
  });
});

describe("requests with two kinds of framing", () => {
  const headers = { "transfer-encoding": "chunked", "content-length": "5" };

  it("are declined with 400 from 2023-07-01 on, whatever the route", async () => {
    const plain = (clock: string, mode: DeprecationsOptions["mode"] = "translate") =>
      withDeprecations({ clock, mode })(new Request("http://x/any", { headers }), () =>
        Promise.resolve(new Response()),
      );
    // Runtimes whose Request drops a framing header decline such requests in their own parser.
    const kept = new Request("http://x/", { headers }).headers;
    const both = kept.has("transfer-encoding") && kept.has("content-length");
    const response = await plain("2023-07-01");
    expect(response.status).toBe(both ? 400 : 200);
    if (both) expect((await body(response)).errors[0]?.code).toBe(10413);
    expect((await plain("2023-06-30")).status).toBe(200);
    expect((await plain("2026-01-01", "off")).status).toBe(200);
  });
});
