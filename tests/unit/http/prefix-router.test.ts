import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { prefixRouter } from "../../../core/http/prefix-router.ts";

function app(): Hono {
  const routes = new Hono({ router: prefixRouter() });
  routes.use("/api/*", async (c, next) => {
    await next();
    c.header("x-seen", "middleware");
  });
  routes.get("/api/:kind/list", (c) => c.text(`list of ${c.req.param("kind")}`));
  routes.get("/api/things/:id", (c) => c.text(`thing ${c.req.param("id")}`));
  routes.get("/v1/:account/*", (c) => c.text(`gateway of ${c.req.param("account")}`));
  routes.get("/:page", (c) => c.text(`page ${c.req.param("page")}`));
  routes.get("/", (c) => c.text("root"));
  return routes;
}

async function text(path: string): Promise<string> {
  return (await app().request(path)).text();
}

describe("prefixRouter()", () => {
  it("finds routes by their first segment", async () => {
    expect(await text("/v1/acme/openai/chat")).toBe("gateway of acme");
    expect(await text("/v1/acme")).toBe("gateway of acme");
    expect(await text("/api/things/7")).toBe("thing 7");
  });

  it("keeps the order of ambiguous routes", async () => {
    expect(await text("/api/things/list")).toBe("list of things");
  });

  it("runs middleware of the same prefix", async () => {
    expect((await app().request("/api/things/7")).headers.get("x-seen")).toBe("middleware");
    expect((await app().request("/v1/acme")).headers.get("x-seen")).toBeNull();
  });

  it("gives paths that begin with a pattern to every prefix", async () => {
    expect(await text("/about")).toBe("page about");
    expect(await text("/v1")).toBe("page v1");
    expect(await text("/")).toBe("root");
  });

  it("matches encoded segments as it matches plain ones", async () => {
    expect(await text("/%76%31/acme")).toBe("gateway of acme");
  });

  it("takes routes that are added after a match", async () => {
    const routes = app();
    expect((await routes.request("/late/one")).status).toBe(404);
    routes.get("/late/one", (c) => c.text("late"));
    expect(await (await routes.request("/late/one")).text()).toBe("late");
  });

  it("finds the routes of the same request again, and not those of another one", () => {
    const { router } = app();
    const things = router.match("GET", "/api/things/7");
    expect(router.match("GET", "/api/things/7")).toBe(things);
    expect(router.match("POST", "/api/things/7")[0]).toHaveLength(1);
    expect(router.match("GET", "/api/things/8")[0]).toHaveLength(things[0].length);
    expect(router.match("GET", "/about")).not.toBe(things);
  });

  it("answers 404 for a segment that no route names", async () => {
    expect((await app().request("/nowhere/at/all")).status).toBe(404);
  });
});
