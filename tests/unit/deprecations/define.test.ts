import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import {
  defineDeprecation,
  type DeprecationsOptions,
  deprecationsMiddleware,
  type OwnDeprecation,
  withDeprecations,
} from "../../../core/deprecations/mod.ts";
import { app as shown } from "../../fakes/deprecations-shown.ts";

const ORDERS: OwnDeprecation = {
  id: "orders-v1",
  on: "GET /v1/orders/{id}",
  since: "2026-01-01",
  sunset: "2026-07-01",
  use: "GET /v2/orders/{id}",
};
const BEFORE = "2026-06-30T23:59:59.999Z";
const AFTER = "2026-07-01";

type Mount = (app: Hono, handler: () => Response) => unknown;

/** An app with the middleware before what `mount` adds. */
function appWith(
  deprecation: OwnDeprecation,
  clock: string,
  mount: Mount,
  options: DeprecationsOptions = {},
): { readonly app: Hono; readonly runs: () => number } {
  let runs = 0;
  const app = new Hono();
  app.use(
    "*",
    deprecationsMiddleware({
      entries: [defineDeprecation(deprecation)],
      basePath: "",
      clock,
      ...options,
    }),
  );
  mount(app, () => {
    runs++;
    return Response.json({ id: 1 });
  });
  return { app, runs: () => runs };
}

const mounts: readonly (readonly [string, Mount])[] = [
  ["a route", (app, handler) => app.get("/v1/orders/:id", handler)],
  ["a proxy for all", (app, handler) => app.all("*", handler)],
  ["a catch-all", (app, handler) => app.get("*", handler)],
  ["a routed app", (app, handler) => app.route("/v1", new Hono().get("/orders/:id", handler))],
  ["a mounted handler", (app, handler) => app.mount("/v1", handler)],
];

describe("an own deprecation of five fields", () => {
  it.each(mounts)("ends %s on its date, before the handler", async (_, mount) => {
    const before = appWith(ORDERS, BEFORE, mount);
    const early = await before.app.request("/v1/orders/7");
    expect([early.status, before.runs()]).toEqual([200, 1]);
    expect(early.headers.get("deprecation")).toBe(`@${Date.UTC(2026, 0, 1) / 1000}`);
    expect(early.headers.get("sunset")).toBe("Wed, 01 Jul 2026 00:00:00 GMT");
    expect(early.headers.get("link")).toContain('</v2/orders/7>; rel="successor-version"');
    const after = appWith(ORDERS, AFTER, mount);
    for (const method of ["GET", "HEAD"]) {
      const gone = await after.app.request("/v1/orders/7", { method });
      expect([gone.status, after.runs()]).toEqual([410, 0]);
    }
    const { errors } = (await (await after.app.request("/v1/orders/7")).json()) as {
      errors: { message: string }[];
    };
    expect(errors[0]?.message).toBe(
      "Use GET /v2/orders/{id}. GET /v1/orders/{id} was retired on 2026-07-01.",
    );
  });

  it("ends below an API root, below route(), and in any handler", async () => {
    const root = appWith(ORDERS, AFTER, (app, run) => app.get("/api/v1/orders/:id", run), {
      basePath: "/api",
    });
    expect((await root.app.request("/api/v1/orders/7")).status).toBe(410);
    const outer = new Hono().route("/shop", appWith(ORDERS, AFTER, mounts[0]![1]).app);
    expect((await outer.request("/shop/v1/orders/7")).status).toBe(410);
    const run = withDeprecations({
      entries: [defineDeprecation(ORDERS)],
      basePath: "",
      clock: AFTER,
    });
    let passed = 0;
    const next = async (): Promise<Response> => {
      passed++;
      return new Response(null, { status: 404 });
    };
    expect((await run(new Request("http://x/v1/orders/7"), next)).status).toBe(410);
    expect((await run(new Request("http://x/v1/other"), next)).status).toBe(404);
    expect(passed).toBe(1);
  });

  it("keeps its own 404 before the end", async () => {
    const { app } = appWith(ORDERS, BEFORE, (on) => on.notFound((c) => c.text("mine", 404)));
    expect(await (await app.request("/v1/orders/7")).text()).toBe("mine");
  });

  it("goes on when it is only announced", async () => {
    const { app, runs } = appWith({ ...ORDERS, after: "announce" }, AFTER, mounts[0]![1]);
    const response = await app.request("/v1/orders/7");
    expect([response.status, runs()]).toEqual([200, 1]);
    expect(response.headers.has("sunset")).toBe(true);
  });

  it("takes the runtime's clock when there is no other", async () => {
    // Its end was in July 2026.
    expect((await shown.request("/v1/orders/7")).status).toBe(410);
  });

  it("lets the host shape the refusal, and adds its headers", async () => {
    const { app } = appWith(ORDERS, AFTER, mounts[0]![1], {
      respond: ({ status, code, message, entry }) =>
        Response.json({ fault: { code, message, of: entry.id } }, { status }),
    });
    const response = await app.request("/v1/orders/7");
    expect(await response.json()).toEqual({
      fault: { code: 10410, message: expect.stringContaining("retired"), of: "orders-v1" },
    });
    expect([response.status, response.headers.get("cache-control")]).toEqual([410, "no-store"]);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("link")).toContain("orders-v1");
  });
});

it("tells the host which of several entries was refused", async () => {
  const announced = defineDeprecation({ ...ORDERS, id: "announced", after: "announce" });
  const entries = [announced, defineDeprecation(ORDERS)];
  const { app } = appWith(ORDERS, AFTER, mounts[0]![1], {
    entries,
    respond: ({ entry }) => Response.json(entry.id, { status: 410 }),
  });
  expect(await (await app.request("/v1/orders/7")).json()).toBe("orders-v1");
});

describe("fields of an own table", () => {
  const base = { id: "f", on: "POST /v1/orders", since: "2026-01-01", sunset: "2026-07-01" };
  const post = (
    one: OwnDeprecation,
    clock: string,
    sent: unknown,
    query = "",
  ): Promise<Response> | Response =>
    appWith(one, clock, (app) => app.all("*", async (c) => c.json(await c.req.json()))).app.request(
      `/v1/orders${query}`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(sent),
      },
    );

  it("refuse a parameter by name", async () => {
    const own = { ...base, fields: ["sort"], where: "query", use: "POST /v2/orders" } as const;
    expect((await post(own, BEFORE, {}, "?sort=a")).headers.has("sunset")).toBe(true);
    expect((await post(own, BEFORE, {}, "?order=a")).headers.has("sunset")).toBe(false);
    const refused = await post(own, AFTER, {}, "?sort=a");
    expect([refused.status, await refused.text()]).toEqual([
      400,
      expect.stringContaining("Instead: use POST /v2/orders"),
    ]);
    expect((await post(own, AFTER, {}, "?order=a")).status).toBe(200);
  });

  it("refuse a member of a body, wherever it lies", async () => {
    const own = { ...base, fields: ["customer.fax"], rule: "send customer.phone" };
    const nested = { lines: [{ customer: { fax: "1" } }] };
    expect((await post(own, BEFORE, nested)).headers.has("deprecation")).toBe(true);
    expect((await post(own, AFTER, nested)).status).toBe(400);
    expect((await post(own, AFTER, { fax: 1, customer: { phone: 2 } })).status).toBe(200);
  });

  it.each([
    [{ total: 1, id: 2 }, { id: 2 }],
    [
      [{ total: 1 }, { id: 2 }],
      [{}, { id: 2 }],
    ],
    [
      { orders: [{ id: 1, total: { a: 1 } }], next: null },
      { orders: [{ id: 1 }], next: null },
    ],
    [{ data: { deep: [{ total: 1 }] } }, { data: { deep: [{}] } }],
    ["total", "total"],
  ])("leave any JSON of a response: %j", async (sent, left) => {
    const own = { ...base, fields: ["total"], where: "response" } as const;
    const before = await post(own, BEFORE, sent);
    expect([await before.json(), before.headers.has("deprecation")]).toEqual([
      sent,
      sent !== "total",
    ]);
    expect(await (await post(own, AFTER, sent)).json()).toEqual(left);
  });
});

describe("mistakes are told at the start", () => {
  const cases: [Partial<OwnDeprecation>, string][] = [
    [{ on: "GET /v1/orders/:id" }, 'write "/v1/orders/{id}"'],
    [{ on: "get /v1/orders" }, 'write "GET"'],
    [{ on: "/v1/orders" }, "write METHOD and path"],
    [{ on: "GET v1/orders" }, "leading slash"],
    [{ on: "GET /v1/orders/" }, 'write "/v1/orders"'],
    [{ on: "GET /v1/*" }, 'write "/v1/**"'],
    [{ on: "GET /v1/o-{id}" }, 'nor a whole "{name}"'],
    [{ on: "GET /v1/**/items" }, '"**" can only be its last segment'],
    [{ on: "GET /v1/{id}/items/{id}" }, '"{id}" is there twice'],
    [{ fields: [""] }, 'fields "": write a name'],
    [{ fields: ["customer."] }, 'fields "customer.": write a name'],
    [{ sunset: "2025-12-31" }, "ends before it is deprecated"],
    [{ since: "01.01.2026" }, 'invalid date "01.01.2026"'],
    [{ use: "v2" }, 'use "v2": write METHOD and path'],
    [{ use: "GET /v2/orders/:id" }, 'write "/v2/orders/{id}"'],
    [{ sunSet: "2026-07-01" } as never, 'did you mean "sunset"'],
    [{ after: "410" as never }, 'it is one of "gone", "announce"'],
    [{ where: "body" as never, fields: ["a"] }, 'it is one of "query"'],
    [{ where: "query" }, "where needs fields"],
    [{ id: "" }, "needs an id"],
  ];
  it.each(cases)("of an entry: %j", (change, message) => {
    expect(() => defineDeprecation({ ...ORDERS, ...change })).toThrow(message);
  });

  const entry = defineDeprecation(ORDERS);
  const query = defineDeprecation({ ...ORDERS, id: "q", fields: ["a"] });
  const window = (start: string, end: string): DeprecationsOptions => ({
    settings: { "orders-v1": { brownouts: [{ start, end }] } },
  });
  const DAY = { start: "2026-06-01", end: "2026-06-02" };
  const options: [DeprecationsOptions, string][] = [
    [{ mode: "translat" as never }, 'did you mean "translate"'],
    [{ settings: { "orders-v1": { mode: "on" as never } } }, 'Unknown mode "on": use one of warn'],
    [
      { settings: { "orders-v1": { brownouts: Array.from({ length: 51 }, () => DAY) } } },
      "at most 50",
    ],
    [{ settings: { "order-v1": { mode: "off" } } }, 'did you mean "orders-v1"'],
    [{ basepath: "/api" } as never, 'did you mean "basePath"'],
    [{ entrees: [] } as never, 'did you mean "entries"'],
    [{ entris2: [] } as never, 'did you mean "entries"'],
    [{ basePath: "/api/" }, 'write "/api"'],
    [{ basePath: "api" }, 'write "/api"'],
    [{ basePath: "/" }, 'write ""'],
    [window("2026-06-02", "2026-06-01"), "ends before it begins"],
    [window("2026-06-30", "2026-07-02"), "ends after the end 2026-07-01T00:00:00Z"],
    [
      { settings: { q: { brownouts: [{ start: "2026-06-01", end: "2026-06-02" }] } } },
      "only a whole endpoint",
    ],
    [{ settings: { "orders-v1": { brownouts: "progresive" as never } } }, 'expected "progressive"'],
    [{ settings: { "orders-v1": { end: "2025-01-01" } } }, "must not be earlier"],
    [{ entries: ORDERS as never }, "expected a list"],
  ];
  it.each(options)("of options: %j", (given, message) => {
    expect(() =>
      deprecationsMiddleware({ clock: AFTER, basePath: "", entries: [entry, query], ...given }),
    ).toThrow(message);
  });
});
