// The floor of a webhook inbox: a Hono route that reads the body and believes it, on Node, Deno and Bun.
import { Hono } from "hono";
import { listen } from "./listen.ts";

const app = new Hono();
app.post("/webhooks/:provider", async (c) => {
  const { byteLength } = await c.req.arrayBuffer();
  return c.json({ success: true, byteLength });
});
listen(app.fetch);
