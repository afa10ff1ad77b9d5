import { Hono } from "hono";
import { json } from "./http/envelope.ts";
import { closeRoutes } from "./http/routes.ts";
import type { ActorKind, Platform } from "./ports.ts";

/** Reads its own database, so that an answer proves that storage works. */
const healthKind: ActorKind = {
  name: "health",
  schema: [],
  start: ({ sql }) => ({
    methods: { ping: async () => (await sql.all("SELECT 1 AS one")).length },
  }),
};

/**
 * `GET /healthz`: the process answers. `GET /readyz`: storage answers too, else 503; the body tells which
 * capabilities this runtime has, and why it lacks the others.
 */
export function health(options: { readonly platform: Platform }): Hono {
  const { platform } = options;
  platform.actors.define(healthKind);
  const app = new Hono();
  app.get("/healthz", () => json({ status: "ok" }));
  app.get("/readyz", async () => {
    try {
      await platform.actors.get("health", "ready").call("ping");
      return json({
        status: "ready",
        runtime: platform.runtime,
        capabilities: platform.capabilities,
      });
    } catch (error) {
      platform.log("warn", "Not ready", { error: String(error) });
      return json({ status: "unavailable", runtime: platform.runtime }, 503, {
        "retry-after": "1",
      });
    }
  });
  closeRoutes(app, [], "api", platform);
  return app;
}
