import { type Context, Hono } from "hono";
import { describe, expect, it } from "vitest";
import {
  type DeprecationsOptions,
  deprecationTable,
  deprecationsMiddleware,
  withDeprecations,
} from "../../../core/deprecations/mod.ts";
import { closeRoutes } from "../../../core/http/routes.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

const ROOT = "/client/v4";
const platform = fakePlatform({ now: Date.UTC(2026, 5, 1) });

/** An API below the root, closed as all of ours are, with the middleware before it. */
function host(
  options: Partial<DeprecationsOptions> = {},
  mount: (api: Hono) => void = () => undefined,
): Hono {
  const api = new Hono();
  mount(api);
  closeRoutes(api, ["/*"], "api", platform);
  const app = new Hono();
  app.use(`${ROOT}/*`, deprecationsMiddleware({ platform, ...options }));
  app.route(ROOT, api);
  return app;
}

interface Refusal {
  readonly result: null;
  readonly success: boolean;
  readonly errors: readonly {
    readonly code: number;
    readonly message: string;
    readonly documentation_url?: string;
  }[];
  readonly messages: readonly { readonly code: number; readonly message: string }[];
  readonly deprecation: Record<string, unknown>;
}

const body = async (response: Response): Promise<Refusal> => (await response.json()) as Refusal;

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
          message: "GET /zones/{zone_id}/settings/minify was retired on 2024-08-05; no replacement",
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
      expect(errors[0]?.message).toMatch(/ was retired on \d{4}-\d\d-\d\d; (use |no replacement)/);
    }
  });

  it("names the replacement in the message, a path or the announcement's prose", async () => {
    const message = async (method: string, path: string): Promise<string | undefined> =>
      (await body(await host().request(`${ROOT}${path}`, { method }))).errors[0]?.message;
    expect(await message("GET", "/radar/verified_bots/top/bots")).toContain(
      "use GET /radar/bots/summary/bot",
    );
    expect(await message("GET", "/accounts/a/devices")).toContain(
      "use GET /accounts/{account_id}/devices/physical-devices and GET /accounts/{account_id}/devices/registrations",
    );
    expect(await message("DELETE", "/zones/z/filters")).toContain(
      "use instead: Custom rules of the web application",
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
    expect(await status({ modes: { "setting-minify": "off" } })).toEqual([404, false]);
    expect(await status({ eolOverrides: { "setting-minify": "2030-01-01" } })).toEqual([404, true]);
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
    const brownouts = { "setting-minify": [window] };
    const at = (clock: string) =>
      host({ clock, brownouts }, live).request(`${ROOT}/zones/z/settings/minify`);
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
    const old = await post('{ "name":"x", "self_hosted_domains":["a.example"] }');
    const modern = await post('{ "name":"x",  "destinations":[] }');
    await post("no json");
    expect(JSON.parse(received[0]!)).toEqual({
      name: "x",
      destinations: [{ type: "public", uri: "a.example" }],
    });
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

  it("refuse SRV fields only after a configured end of life, and only on SRV records", async () => {
    const mount = (api: Hono): unknown =>
      api.post("/zones/:z/dns_records", (c) => c.json({ result: {} }));
    const post = (type: string, options: Partial<DeprecationsOptions>) =>
      host(options, mount).request(dns, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ type, data: { service: "_sip" } }),
      });
    const ended = { eolOverrides: { "dns-srv-data": "2026-01-01" } };
    expect((await post("SRV", {})).status).toBe(200);
    expect((await post("SRV", {})).headers.has("deprecation")).toBe(true);
    expect((await post("SRV", ended)).status).toBe(400);
    expect((await post("CAA", ended)).status).toBe(200);
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

describe("withDeprecations()", () => {
  const minify = new Request(`http://x${ROOT}/zones/z/settings/minify`);

  it("takes 404 and 405 for not mounted, unless it is told", async () => {
    const clock = "2026-01-01";
    const status = async (options: DeprecationsOptions, own: number): Promise<number> =>
      (
        await withDeprecations(options)(minify, () =>
          Promise.resolve(new Response(null, { status: own })),
        )
      ).status;
    expect(await status({ clock }, 404)).toBe(410);
    expect(await status({ clock }, 405)).toBe(410);
    expect(await status({ clock }, 200)).toBe(200);
    expect(await status({ clock, isMounted: () => true }, 404)).toBe(404);
    expect(await status({ clock, isMounted: () => false }, 200)).toBe(410);
  });

  it("asks isMounted with the path below another API root", async () => {
    const asked: string[] = [];
    const isMounted = (method: string, path: string): boolean =>
      asked.push(`${method} ${path}`) > 0;
    const run = withDeprecations({ clock: () => 0, basePath: "/api", isMounted });
    await run(new Request("http://x/api/zones/z%2F/settings/minify/?a=b"), () =>
      Promise.resolve(new Response()),
    );
    await run(minify, () => Promise.resolve(new Response()));
    expect(asked).toEqual(["GET /zones/z%2F/settings/minify/"]);
  });

  it("refuses options that cannot be right", () => {
    expect(() => withDeprecations({})).toThrow("need a clock");
    expect(() => withDeprecations({ clock: "yesterday" })).toThrow('Invalid clock "yesterday"');
  });
});

describe("a plain Hono host without closed routes", () => {
  it("gets 410 for its 404s and keeps its catch-alls", async () => {
    const open = (): Hono => {
      const app = new Hono();
      app.use(`${ROOT}/*`, deprecationsMiddleware({ platform }));
      return app;
    };
    const path = `${ROOT}/zones/z/settings/minify`;
    expect((await open().request(path)).status).toBe(410);
    const proxy = open().all("*", (c) => c.text("mine"));
    expect(await (await proxy.request(path)).text()).toBe("mine");
  });
});

describe("a refusal changes nothing at the host", () => {
  const zone = `${ROOT}/zones/z1`;
  const counted = (mount: (api: Hono, ran: () => void) => void, options = {}) => {
    let runs = 0;
    const app = host(options, (api) => mount(api, () => runs++));
    return { app, runs: () => runs };
  };

  it.each(["DELETE", "POST", "PUT", "PATCH", "GET"])(
    "%s of a route that isMounted denies never runs its handler",
    async (method) => {
      const path = method === "POST" ? `${zone}/rate_limits` : `${zone}/rate_limits/1`;
      const mount = (api: Hono, ran: () => void): void => {
        api.all("/zones/*", (c) => {
          ran();
          return c.json({ result: "done" });
        });
      };
      const { app, runs } = counted(mount, { isMounted: () => false });
      const response = await app.request(path, { method });
      expect([response.status === 410, runs()]).toEqual([
        method !== "PATCH",
        method === "PATCH" ? 1 : 0,
      ]);
      const plain = withDeprecations({ platform, isMounted: () => false });
      let passed = 0;
      await plain(new Request(`http://x${path}`, { method }), async () => {
        passed++;
        return new Response();
      });
      expect(passed).toBe(runs());
    },
  );

  it.each([
    ["minify", 'The setting "minify" is no longer supported'],
    ["brotli", 'The setting "brotli" is no longer supported'],
    ["mobile_redirect", "redirect rules"],
  ])("a bulk change of settings with %s is refused as a whole", async (id, message) => {
    const { app, runs } = counted((api, ran) => {
      api.patch("/zones/:id/settings", (c) => {
        ran();
        return c.json({ result: [] });
      });
    });
    const send = (items: unknown): Promise<Response> =>
      Promise.resolve(
        app.request(`${zone}/settings`, {
          method: "PATCH",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ items }),
        }),
      );
    const mixed = await send([
      { id: "always_online", value: "on" },
      { id, value: "on" },
    ]);
    expect([mixed.status, runs()]).toEqual([400, 0]);
    expect((await body(mixed)).errors[0]?.message).toContain(message);
    const live = await send([{ id: "always_online", value: "on" }]);
    expect([live.status, runs()]).toEqual([200, 1]);
  });

  it("an operator that nobody knows is refused, and SDK 3.0.0's brackets are rewritten", async () => {
    const seen: string[] = [];
    const { app } = counted((api) => {
      api.get("/zones/:id/dns_records", (c) => {
        seen.push(new URL(c.req.url).search);
        return c.json({ result: [] });
      });
    });
    expect((await app.request(`${zone}/dns_records?name[contains]=a`)).status).toBe(200);
    const refused = await app.request(`${zone}/dns_records?name[contain]=a`);
    expect(refused.status).toBe(400);
    expect((await body(refused)).errors[0]?.message).toContain("name.contains");
    expect(seen).toEqual(["?name.contains=a"]);
  });
});

describe("middleware that has read the body first", () => {
  const path = `${ROOT}/accounts/a/access/apps`;
  const old = JSON.stringify({ type: "self_hosted", self_hosted_domains: ["a.example"] });
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: old };
  const appWith = (read: (c: Context) => Promise<unknown>): Hono => {
    const api = new Hono();
    api.post("/accounts/:a/access/apps", async (c) => c.json({ result: await c.req.json() }));
    const app = new Hono();
    app.use(async (c, next) => {
      await read(c);
      await next();
    });
    app.use(`${ROOT}/*`, deprecationsMiddleware({ platform }));
    app.route(ROOT, api);
    return app;
  };

  it.each<[string, (c: Context) => Promise<unknown>]>([
    ["json()", (c) => c.req.json()],
    ["text()", (c) => c.req.text()],
    ["arrayBuffer()", (c) => c.req.arrayBuffer()],
  ])("by %s does not hide the rewrite from the handler", async (_, read) => {
    const response = await appWith(read).request(path, init);
    expect([response.status, (await body(response)).result]).toEqual([
      200,
      { type: "self_hosted", destinations: [{ type: "public", uri: "a.example" }] },
    ]);
  });

  it("and kept it to itself is no error of ours", async () => {
    const api = new Hono();
    api.post("/accounts/:a/access/apps", (c) => c.json({ result: "reached" }));
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.raw.text();
      await next();
    });
    app.use(`${ROOT}/*`, deprecationsMiddleware({ platform }));
    app.route(ROOT, api);
    expect((await app.request(path, init)).status).toBe(200);
  });
});

it("a body that curl calls a form is looked into as the JSON that it is", async () => {
  const app = host({}, (api) => {
    api.post("/accounts/:a/access/apps", async (c) => c.json({ result: await c.req.json() }));
  });
  const response = await app.request(`${ROOT}/accounts/a/access/apps`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: JSON.stringify({ self_hosted_domains: ["a.example"] }),
  });
  expect((await body(response)).result).toEqual({
    destinations: [{ type: "public", uri: "a.example" }],
  });
});

describe("an API that a host has put below a path of its own", () => {
  const outer = (prefix: string): Hono => {
    const app = new Hono();
    app.route(prefix, host());
    app.get("/client/v4/zones/z1/settings/minify", (c) => c.text("the host's own"));
    return app;
  };

  it.each([
    ["/platform", "/platform"],
    ["/a/b", "/a/b"],
    ["/:tenant", "/acme"],
  ])("refuses below %s too, with links that lead there", async (prefix, path) => {
    const response = await outer(prefix).request(`${path}${ROOT}/zones/z1/settings/minify`);
    expect(response.status).toBe(410);
    expect((await body(response)).errors[0]?.documentation_url).toBe(
      `${path}${ROOT}/deprecations#setting-minify.01`,
    );
    const announced = await outer(prefix).request(
      `${path}${ROOT}/accounts/a/images/v1/direct_upload`,
      {
        method: "POST",
      },
    );
    expect(announced.headers.get("link")).toContain(
      `<${path}${ROOT}/accounts/a/images/v2/direct_upload>; rel="successor-version"`,
    );
  });

  it("leaves the host's own routes alone", async () => {
    const response = await outer("/platform").request(`${ROOT}/zones/z1/settings/minify`);
    expect(await response.text()).toBe("the host's own");
  });
});
