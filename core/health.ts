import { Hono } from "hono";
import { json } from "./http/envelope.ts";
import { closeRoutes } from "./http/routes.ts";
import type { ActorKind, Platform } from "./ports.ts";

/** Reads its own database, so that an answer proves that storage works; tells why writes fail, if they do. */
const healthKind: ActorKind = {
  name: "health",
  schema: [],
  start: ({ sql }) => ({
    methods: {
      async ping() {
        await sql.all("SELECT 1 AS one");
        return sql.failure?.() ?? null;
      },
    },
  }),
};

/**
 * `GET /healthz`: the process answers. `GET /readyz`: storage answers and takes writes, else 503 with the reason; the
 * body tells which capabilities this runtime has, and why it lacks the others.
 */
export function health(options: { readonly platform: Platform }): Hono {
  const { platform } = options;
  platform.actors.define(healthKind);
  const app = new Hono();
  app.get("/healthz", () => json({ status: "ok" }));
  app.get("/readyz", async () => {
    try {
      const failure = await platform.actors.get("health", "ready").call("ping");
      if (typeof failure === "string")
        return unavailable(platform, `The database takes no writes: ${failure}`);
      return json({
        status: "ready",
        runtime: platform.runtime,
        capabilities: platform.capabilities,
      });
    } catch (error) {
      platform.log("warn", "Not ready", { error: String(error) });
      return unavailable(platform, "The database does not answer");
    }
  });
  closeRoutes(app, [], "api", platform);
  return app;
}

function unavailable({ runtime }: Platform, reason: string): Response {
  return json({ status: "unavailable", runtime, reason }, 503, { "retry-after": "1" });
}
