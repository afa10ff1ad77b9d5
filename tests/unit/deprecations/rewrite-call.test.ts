import fc from "fast-check";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { deprecationsMiddleware, withDeprecations } from "../../../core/deprecations/mod.ts";
import { modernApi, type ModernApi, SHARES } from "../../fakes/deprecations-modern.ts";

const ROOT = "http://x/client/v4";
const clock = "2026-06-01";
const isMounted = (method: string, path: string): boolean =>
  !/^\/organizations|script_monitor|cname_flattening|dns_settings\/|\/images\/v1|devices\/(?:un)?revoke|radar\/(?:attacks\/layer\d\/top|verified)/.test(
    path,
  ) && method !== "";

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: { readonly result: never; readonly messages: readonly { message: string }[] };
}

/** Calls an old route of a host that has today's routes only. */
async function call(
  path: string,
  init: RequestInit = {},
  { api = modernApi(), knows = true }: { readonly api?: ModernApi; readonly knows?: boolean } = {},
): Promise<Answer & { readonly api: ModernApi }> {
  const options = { clock, ...(knows && { isMounted }) };
  const response = await withDeprecations(options)(new Request(`${ROOT}${path}`, init), api.answer);
  const { status, headers } = response;
  return { status, headers, json: await response.json(), api };
}

const json = (method: string, body: unknown): RequestInit => ({
  method,
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

describe("a call of an endpoint that has ended, where its replacement is served", () => {
  const moved: [string, string, string][] = [
    ["GET", "/organizations/o%2F1", "/accounts/o%2F1"],
    ["GET", "/organizations/o/members?page=2&x=%2c", "/accounts/o/members?page=2&x=%2c"],
    ["GET", "/organizations/o/members/m", "/accounts/o/members/m"],
    ["DELETE", "/organizations/o/members/m", "/accounts/o/members/m"],
    ["GET", "/organizations/o/roles", "/accounts/o/roles"],
    ["GET", "/organizations/o/roles/r", "/accounts/o/roles/r"],
    ["GET", "/organizations/o/audit_logs?since=1", "/accounts/o/audit_logs?since=1"],
    ["GET", "/zones/z/script_monitor", "/zones/z/page_shield"],
    ["PUT", "/zones/z/script_monitor/a/b%2Fc?d=e", "/zones/z/page_shield/a/b%2Fc?d=e"],
    ["POST", "/accounts/a/images/v1/direct_upload", "/accounts/a/images/v2/direct_upload"],
  ];
  it.each(moved)("%s %s goes to %s", async (method, path, modern) => {
    for (const knows of [true, false]) {
      const { status, headers, api } = await call(path, { method }, { knows });
      expect([status, api.calls.at(-1)]).toEqual([200, `${method} ${modern}`]);
      expect(headers.get("deprecation")).toMatch(/^@\d+$/);
      expect(headers.get("link")).toContain('rel="deprecation"');
    }
  });

  it("keeps the bytes of its body, and of the answer", async () => {
    const text = '{ "n": 12345678901234567890 }';
    for (const knows of [true, false]) {
      const { api, json: answer } = await call(
        "/zones/z/script_monitor",
        { method: "PUT", body: text },
        { knows },
      );
      expect(api.bodies.at(-1)).toBe(text);
      expect(answer.result).toEqual({ path: "/zones/z/page_shield", body: text });
    }
  });

  it("says in messages that it was rewritten, if that hangs on a condition", async () => {
    const { json: members } = await call("/organizations/o/members");
    expect(members.messages[0]?.message).toBe(
      "The deprecated GET /organizations/{organization_identifier}/members was rewritten (organizations.08). The accounts API (backwards compatible).",
    );
    expect((await call("/zones/z/script_monitor")).json.messages).toEqual([]);
  });

  it("is refused where the host lacks the replacement, or has no form for it", async () => {
    const none: ModernApi = {
      ...modernApi(),
      answer: async () => new Response(null, { status: 404 }),
    };
    const refused = [
      await call("/organizations/o/members", {}, { api: none, knows: false }),
      await call("/organizations/o/invites"),
      await call("/organizations/o", json("PATCH", { name: "x" })),
      await call("/zones/z/settings/cname_flattening", json("PATCH", { value: "never" })),
      await call("/zones/z/dns_settings/use_apex_ns", json("PATCH", { value: "true" })),
      await call("/accounts/a/devices/revoke", json("POST", { ids: ["a"] })),
      await call("/accounts/a/devices/revoke", json("POST", [1])),
      await call(
        "/accounts/a/devices/revoke",
        json(
          "POST",
          Array.from({ length: 999 }, () => "0123456789"),
        ),
      ),
      await call("/radar/attacks/layer3/top/industry?format=csv"),
    ];
    for (const { status, json: body } of refused) {
      expect(status).toBe(410);
      expect(JSON.stringify(body)).toMatch(/"message":"Use [A-Z]+ \//);
    }
  });

  it("never reaches the host before its end, nor in another mode than translate", async () => {
    const api = modernApi();
    const early = withDeprecations({ clock: "2020-01-01", isMounted: () => false });
    await early(new Request(`${ROOT}/organizations/o`), api.answer);
    const strict = withDeprecations({ clock, mode: "refuse", isMounted: () => false });
    const answer = await strict(new Request(`${ROOT}/organizations/o`), api.answer);
    expect([answer.status, api.calls]).toEqual([410, ["GET /organizations/o"]]);
  });

  it("is the host's own where that serves the old route", async () => {
    const own = async (request: Request): Promise<Response> =>
      Response.json({ own: await request.text() });
    const put = new Request(`${ROOT}/zones/z/script_monitor`, { method: "PUT", body: "text" });
    const answer = await withDeprecations({ clock })(put, own);
    expect(await answer.json()).toEqual({ own: "text" });
  });

  it("keeps a failure of the replacement", async () => {
    const failed = async (): Promise<Response> =>
      Response.json({ errors: [{ code: 1, message: "No such zone" }] }, { status: 403 });
    const options = { clock, isMounted };
    const asked = new Request(`${ROOT}/zones/z/settings/cname_flattening`);
    const answer = await withDeprecations(options)(asked, failed);
    expect([answer.status, await answer.text()]).toEqual([
      403,
      expect.stringContaining("No such zone"),
    ]);
  });

  it("is asked of a Hono app by its fetch", async () => {
    const app: Hono = new Hono()
      .use("*", deprecationsMiddleware({ clock, fetch: (request) => app.fetch(request) }))
      .get("/client/v4/zones/:id/page_shield", (c) => c.json({ id: c.req.param("id") }))
      .put("/client/v4/zones/:id/page_shield", async (c) => c.json(await c.req.json()));
    const old = `${ROOT}/zones/z/script_monitor`;
    expect(await (await app.request(old)).json()).toEqual({ id: "z" });
    expect(await (await app.request(old, json("PUT", { a: 1 }))).json()).toEqual({ a: 1 });
    expect((await app.request(`${old}/none`)).status).toBe(410);
  });

  it("passes a body that is too long to be kept to the host alone", async () => {
    const long = "x".repeat(1024 * 1024 + 1);
    const init = { method: "PUT", body: long };
    const asked = await call("/zones/z/script_monitor", init, { knows: false });
    expect([asked.status, asked.api.bodies.map((one) => one.length)]).toEqual([410, [long.length]]);
    const known = await call("/zones/z/script_monitor", init);
    expect([known.status, known.api.bodies.map((one) => one.length)]).toEqual([200, [long.length]]);
  });
});

/** Old request → today's → old answer: nothing that the old form could say is lost. */
describe("laws of rewriting", () => {
  it("a setting reads back as it was written, in the words in which it was asked", async () => {
    const written = fc.constantFrom(
      ["settings/cname_flattening", "on", "on", "flatten_all_cnames", true],
      ["settings/cname_flattening", "off", "off", "flatten_all_cnames", false],
      // The announcement: the two behave the same.
      ["settings/cname_flattening", "apex", "off", "flatten_all_cnames", false],
      ["settings/cname_flattening", "flatten_all", "flatten_all", "flatten_all_cnames", true],
      [
        "settings/cname_flattening",
        "flatten_at_root",
        "flatten_at_root",
        "flatten_all_cnames",
        false,
      ],
      ...[true, false].flatMap((value) => [
        ["dns_settings/use_apex_ns", value, value, "multi_provider", value],
        ["dns_settings/secondary_overrides", value, value, "secondary_overrides", value],
      ]),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(written, { minLength: 1, maxLength: 6 }), async (changes) => {
        const api = modernApi();
        for (const [path, value, shown, field, modern] of changes) {
          const id = String(path).split("/")[1];
          const patch = await call(`/zones/z/${path}`, json("PATCH", { id, value }), { api });
          expect(patch.json.result).toEqual({
            id,
            value: shown,
            editable: true,
            modified_on: null,
          });
          expect(api.settings[String(field)]).toBe(modern);
          const get = await call(`/zones/z/${path}`, {}, { api });
          const announced = { flatten_all: "on", flatten_at_root: "off" }[String(shown)] ?? shown;
          expect(get.json.result).toMatchObject({ id, value: announced });
        }
        expect(api.settings["ns_ttl"]).toBe(86_400);
      }),
    );
  });

  it("every id of a list arrives, in order, and no body", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string(), { maxLength: 40 }), async (ids) => {
        const which = ids.length % 2 === 0 ? "revoke" : "unrevoke";
        const { status, api } = await call(`/accounts/a/devices/${which}?x=%2c`, json("POST", ids));
        const [asked = ""] = api.calls;
        expect([status, api.bodies]).toEqual([200, [""]]);
        expect(asked.split("?")[0]).toBe(`POST /accounts/a/devices/registrations/${which}`);
        const query = new URLSearchParams(asked.split("?")[1]);
        expect(query.getAll("id")).toEqual(ids);
        expect(query.get("x")).toBe(",");
      }),
    );
  });

  it("a top list has the shares of its summary, largest first, and as many as were asked for", async () => {
    const tops = fc.constantFrom(
      "attacks/layer3/top/industry",
      "attacks/layer7/top/VERTICAL",
      "verified_bots/top/categories",
    );
    await fc.assert(
      fc.asyncProperty(tops, fc.option(fc.integer({ min: 1, max: 9 })), async (top, limit) => {
        const query = limit === null ? "" : `&limit=${limit}`;
        const { api, json: body } = await call(`/radar/${top}?dateRange=7d%2C14d${query}&name=x`);
        const label = top.includes("bots") ? "botCategory" : "name";
        const wanted = Object.entries(SHARES)
          .filter(([name]) => name !== "other")
          .toSorted(([, a], [, b]) => Number(b) - Number(a))
          .slice(0, limit ?? undefined)
          .map(([name, value]) => ({ [label]: name, value }));
        expect(body.result).toEqual({
          meta: { lastUpdated: "2026-01-01T00:00:00Z" },
          top_0: wanted,
        });
        const perGroup = limit === null ? "" : `&limitPerGroup=${Math.max(2, limit)}`;
        expect(api.calls[0]).toMatch(new RegExp(`\\?dateRange=7d%2C14d${perGroup}&name=x$`));
      }),
    );
  });

  it("the fields of an upload arrive as a form, and a form as it came", async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.date({ noInvalidDate: true }), async (isSigned, date) => {
        const expiry = date.toISOString();
        const fields = { requireSignedURLs: isSigned, expiry, metadata: { a: [1] } };
        const { api } = await call("/accounts/a/images/v1/direct_upload", json("POST", fields));
        const [sent = ""] = api.bodies;
        for (const text of [String(isSigned), expiry, '{"a":[1]}']) expect(sent).toContain(text);
        expect(sent).toContain('name="requireSignedURLs"');
      }),
      { numRuns: 10 },
    );
    const body = new FormData();
    body.set("expiry", "2026-01-01");
    const { api } = await call("/accounts/a/images/v1/direct_upload", { method: "POST", body });
    expect(api.bodies[0]).toContain("2026-01-01");
  });
});
