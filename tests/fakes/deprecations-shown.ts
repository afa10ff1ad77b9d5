import { Hono } from "hono";
import { defineDeprecation, deprecationsMiddleware } from "../../core/deprecations/mod.ts";

// shown: orders
export const orders = defineDeprecation({
  id: "orders-v1",
  on: "GET /v1/orders/{id}",
  since: "2026-01-01",
  sunset: "2026-07-01",
  use: "GET /v2/orders/{id}",
});

export const app = new Hono();
app.use("*", deprecationsMiddleware({ entries: [orders], basePath: "" }));
app.get("/v1/orders/:id", (c) => c.json({ id: c.req.param("id") }));
// end
