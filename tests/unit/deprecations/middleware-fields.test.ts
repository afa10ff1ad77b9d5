import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { bodyBudget } from "../../../core/work/body-budget.ts";
import { type DeprecationsOptions } from "../../../core/deprecations/mod.ts";
import { ROOT, body, host, platform } from "../../fakes/deprecations-host.ts";

describe("parameters and fields", () => {
  const echo = (api: Hono): unknown =>
    api
      .get("/zones/:id/dns_records", (c) =>
        c.json({ result: [{ url: c.req.url, query: c.req.queries() }], messages: [] }),
      )
      .get("/radar/attacks/layer7/top/attacks", (c) => c.json({ result: c.req.url, messages: [] }));
  const dns = `${ROOT}/zones/z/dns_records`;

  it("signal only when they are there", async () => {
    const clean = await host({}, echo).request(`${dns}?name=www`);
    expect([clean.status, clean.headers.has("deprecation")]).toEqual([200, false]);
    const old = await host({}, echo).request(`${dns}?name=contains:www`);
    expect(old.headers.get("link")).toContain("dns-list-filters.01");
    expect(old.headers.get("link")).not.toContain("dns-list-filters.02");
  });

  it("pass unchanged before their own cut-off and are rewritten after it", async () => {
    const url = async (clock: string): Promise<string> => {
      const response = await host({ clock }, echo).request(
        `${dns}?name=contains:www&content=1,2&page=2`,
      );
      return ((await response.json()) as { result: { url: string }[] }).result[0]!.url;
    };
    expect(await url("2025-02-20")).toContain("?name=contains:www&content=1,2&page=2");
    expect(await url("2025-02-21")).toContain("?name.contains=www&content=1,2&page=2");
  });

  it("note a rewrite whose meaning hangs on a condition", async () => {
    const response = await host({}, echo).request(`${dns}?name=a,b`);
    const { messages, result } = (await response.json()) as {
      messages: { message: string }[];
      result: unknown;
    };
    expect(JSON.stringify(result)).toContain("?match=any&name=a&name=b");
    expect(messages[0]?.message).toContain("dns-list-filters.04");
  });

  it("are refused with 400 when no single request means the same", async () => {
    for (const query of ["type=contains:A", "type=A&name=a,b", "name=contains:"]) {
      const response = await host({}, echo).request(`${dns}?${query}`);
      expect(response.status).toBe(400);
      const { errors, deprecation } = await body(response);
      expect(errors[0]?.code).toBe(10412);
      expect(errors[0]?.message).toMatch(
        /^http.* is no longer supported\. See .*#2025-0\d-\d\d for more information/,
      );
      expect(deprecation["id"]).toMatch(/^dns-list-filters/);
    }
    expect((await host({ mode: "refuse" }, echo).request(`${dns}?name=contains:a`)).status).toBe(
      400,
    );
    expect((await host({ mode: "warn" }, echo).request(`${dns}?type=contains:A`)).status).toBe(200);
  });

  it("are not looked at where the route is not mounted", async () => {
    expect((await host().request(`${dns}?type=contains:A`)).status).toBe(404);
  });

  it("drop magnitude on layer 7, with a note", async () => {
    const path = `${ROOT}/radar/attacks/layer7/top/attacks?limit=5&magnitude=AFFECTED_ZONES&name=x`;
    const { result, messages } = (await (await host({}, echo).request(path)).json()) as {
      result: string;
      messages: unknown[];
    };
    expect(result).toMatch(/attacks\?limit=5&name=x$/);
    expect(messages).toHaveLength(1);
  });

  it("rewrite self_hosted_domains of a body and leave other bodies byte for byte", async () => {
    const received: string[] = [];
    const app = host({}, (api) =>
      api.post("/accounts/:id/access/apps", async (c) => {
        received.push(await c.req.raw.text());
        return c.json({ result: {} });
      }),
    );
    const post = (text: string) =>
      app.request(`${ROOT}/accounts/a/access/apps`, {
        method: "POST",
        body: text,
        headers: { "content-type": "application/json" },
      });
    const old = await post(
      '{ "name":"x", "id":12345678901234567890, "self_hosted_domains":["a.example"],"rate":[ 1.0 ] }',
    );
    const modern = await post('{ "name":"x",  "destinations":[] }');
    await post("no json");
    expect(received[0]).toBe(
      '{"name":"x","id":12345678901234567890,"rate":[ 1.0 ],"destinations":[{"type":"public","uri":"a.example"}]}',
    );
    expect(received.slice(1)).toEqual(['{ "name":"x",  "destinations":[] }', "no json"]);
    expect([old.headers.has("deprecation"), modern.headers.has("deprecation")]).toEqual([
      true,
      false,
    ]);
  });

  it("are omitted from responses after the date, and stay before", async () => {
    const record = { id: "1", name: "a", zone_id: "z", zone_name: "example.com", locked: false };
    const mount = (api: Hono): unknown =>
      api.get("/zones/:z/dns_records/:id", (c) => c.json({ result: record }));
    const at = async (clock: string): Promise<Response> =>
      host({ clock }, mount).request(`${dns}/1`);
    const after = await at("2024-12-01");
    expect(await after.json()).toEqual({ result: { id: "1", name: "a" } });
    expect(after.headers.get("deprecation")).toBe(`@${Date.UTC(2024, 6, 14) / 1000}`);
    expect(await (await at("2024-11-30T12:00:00Z")).json()).toEqual({
      result: { ...record, locked: undefined },
    });
    expect(await (await at("2024-07-13")).json()).toEqual({ result: record });
  });

  it("leave the bytes of the others", async () => {
    const [first, second] = ['{"n":12345678901234567890, "s":"\\u00e9"}', '{ "id": 1.0 }'];
    const text = `{"result":[ {"locked":false,"data":${first}},${second} ],"success" : true}`;
    const app = host({ clock: "2024-12-01" }, (api) =>
      api.get("/zones/:z/dns_records", (c) =>
        c.body(text, 200, { "content-type": "application/json" }),
      ),
    );
    expect(await (await app.request(dns)).text()).toBe(
      `{"result":[ {"data":${first}},${second} ],"success" : true}`,
    );
  });

  it("unwrap error_chain of a failed record creation, and nowhere else", async () => {
    const errors = [
      {
        code: 1004,
        message: "DNS Validation Error",
        error_chain: [{ code: 9999, message: "root" }],
      },
    ];
    const app = host({}, (api) =>
      api
        .post("/zones/:z/dns_records", (c) => c.json({ result: null, errors }, 400))
        .put("/zones/:z/dns_records/:id", (c) => c.json({ result: null, errors }, 400)),
    );
    const created = await app.request(dns, { method: "POST" });
    expect(created.status).toBe(400);
    expect((await body(created)).errors).toEqual([{ code: 9999, message: "root" }]);
    expect((await body(await app.request(`${dns}/1`, { method: "PUT" }))).errors).toEqual(errors);
  });

  it("refuse SRV fields since their end, or another that is configured, and only on SRV records", async () => {
    const mount = (api: Hono): unknown =>
      api.post("/zones/:z/dns_records", (c) => c.json({ result: {} }));
    const post = (type: string, options: Partial<DeprecationsOptions>) =>
      host(options, mount).request(dns, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ type, data: { service: "_sip" } }),
      });
    const never = { settings: { "dns-srv-data": { end: null } } };
    expect((await post("SRV", never)).status).toBe(200);
    expect((await post("SRV", never)).headers.has("deprecation")).toBe(true);
    expect((await post("SRV", {})).status).toBe(400);
    expect((await post("CAA", {})).status).toBe(200);
    expect((await post("SRV", { clock: "2024-07-24T23:59:59Z" })).status).toBe(200);
  });

  it("hand a body over the inspection limit on untouched", async () => {
    const size = 1024 * 1024 + 7;
    const app = host({}, (api) =>
      api.post("/zones/:z/dns_records", async (c) =>
        c.json({ result: (await c.req.raw.text()).length }),
      ),
    );
    const response = await app.request(dns, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `"${"x".repeat(size - 2)}"`,
    });
    expect(await response.json()).toEqual({ result: size });
  });

  describe("of a body that is looked into", () => {
    const KIBI = 1024;
    const bodies = bodyBudget(KIBI);
    const hurried = { ...platform.system, sleep: () => Promise.resolve() };
    const mount = (api: Hono): unknown =>
      api.post("/zones/:z/dns_records", async (c) =>
        c.json({ result: (await c.req.raw.text()).length }),
      );
    const post = (app: Hono, sent: string | ReadableStream): Response | Promise<Response> =>
      app.request(dns, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: sent,
        duplex: "half",
      } as RequestInit);

    it("count it among the bodies in memory", async () => {
      const app = host({ platform: { ...platform, bodies } }, mount);
      const refused = await post(app, `"${"x".repeat(40 * KIBI)}"`);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
      expect(bodies.used).toBe(0);
      expect(await (await post(app, `"x"`)).json()).toEqual({ result: 3 });
      const roomy = { ...platform, bodies: bodyBudget(100 * KIBI) };
      const taken = await post(host({ platform: roomy }, mount), `"${"x".repeat(40 * KIBI)}"`);
      expect(await taken.json()).toEqual({ result: 40 * KIBI + 2 });
      expect(roomy.bodies.used).toBe(0);
    });

    it("give it up when it stands still", async () => {
      let isCancelled = false;
      const stalled = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array(40 * KIBI)),
        cancel: () => {
          isCancelled = true;
        },
      });
      const app = host({ platform: { ...platform, system: hurried } }, mount);
      expect((await post(app, stalled)).status).toBe(408);
      expect(isCancelled).toBe(true);
    });
  });
});
