import { type Context, Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import {
  type DeprecationsOptions,
  deprecationTable,
  deprecationsMiddleware,
  withDeprecations,
} from "../../../core/deprecations/mod.ts";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { ROOT, body, host, platform } from "../../fakes/deprecations-host.ts";

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
    expect(() => withDeprecations({ clock: "yesterday" })).toThrow('Invalid clock "yesterday"');
  });
});

it("reads a query once, however many entries have forms of it", async () => {
  const lists = deprecationTable.filter(({ row }) => row === "dns-list-filters");
  const readers = new Set(lists.map(({ usedIds }) => usedIds));
  expect([lists.length, readers.size]).toEqual([9, 1]);
  let reads = 0;
  const usedIds = (): string[] => {
    reads += 1;
    return [];
  };
  const app = host({ entries: lists.map((entry) => ({ ...entry, usedIds })), clock: () => 0 });
  await app.request(`${ROOT}/zones/z/dns_records?name=contains:shop`);
  expect(reads).toBe(1);
});

it("leaves a body unread whose route does not take the method", async () => {
  const app = host({ clock: "2026-06-01" }, (api) => {
    api.get("/accounts/:account", (c) => c.text("account"));
  });
  const pull = vi.fn((controller: ReadableStreamDefaultController<Uint8Array>) => {
    controller.enqueue(utf8('{"settings":{"default_nameservers":"custom.account"}}'));
    controller.close();
  });
  const sent = new ReadableStream({ pull }, { highWaterMark: 0 });
  const headers = { "content-type": "application/json" };
  const init = { method: "PUT", headers, body: sent, duplex: "half" } as RequestInit;
  const response = await app.request(`${ROOT}/accounts/a`, init);
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  expect(pull).not.toHaveBeenCalled();
});

describe("a query of many parameters", () => {
  const records = `${ROOT}/zones/z/dns_records`;
  const served = (path: string, mode: "off" | "translate" = "translate") => {
    const isMounted = (): boolean => true;
    const run = withDeprecations({ clock: "2026-06-01", isMounted, mode });
    return run(new Request(`http://x${path}`), () => Promise.resolve(new Response("served")));
  };
  const many = (count: number): string =>
    Array.from({ length: count }, (_, n) => `a${n}=1`).join("&");

  it("is refused with the reason where some have ended, and nowhere else", async () => {
    expect(await (await served(`${records}?${many(2000)}`)).text()).toBe("served");
    const refused = await served(`${records}?${many(2001)}`);
    expect([
      refused.status,
      refused.headers.get("deprecation"),
      refused.headers.get("link"),
    ]).toEqual([400, null, null]);
    expect((await body(refused)).errors[0]?.message).toContain("more than 2000 parameters");
    expect((await served(`${records}/r?${many(2001)}`)).status).toBe(200);
    expect((await served(`${records}?${many(2001)}`, "off")).status).toBe(200);
  });

  it("has each of them decoded once", async () => {
    const decode = vi.spyOn(globalThis, "decodeURIComponent");
    try {
      await served(`${records}?${"a=%41&".repeat(50)}name=www`);
      expect(decode).toHaveBeenCalledTimes(50);
    } finally {
      decode.mockRestore();
    }
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
      // Routers undo the escape of a letter.
      const name = "rate%5flim%69ts";
      const path = method === "POST" ? `${zone}/${name}` : `${zone}/${name}/1`;
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
    ["minify", 'The setting "minify" of PATCH /zones/{zone_id}/settings is no longer supported'],
    ["brotli", 'The setting "brotli" of PATCH /zones/{zone_id}/settings is no longer supported'],
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
