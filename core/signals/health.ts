import { Hono } from "hono";
import { json } from "../http/envelope.ts";
import { closeRoutes } from "../http/routes.ts";
import type { ActorContext, ActorKind, Platform } from "../ports.ts";

/** The state of a part. `failing`: it takes requests, and its last one failed elsewhere. */
export interface PartHealth {
  readonly status: "ready" | "failing" | "unavailable";
  /** Public, so it names neither an address nor a key. */
  readonly reason?: string;
  /** A shortcoming of a ready part, e.g. missing fonts. */
  readonly detail?: string;
}

export type Health = Readonly<Record<string, PartHealth>>;

const READY: PartHealth = { status: "ready" };

/**
 * Reads its own database, so that an answer proves that storage works; reports why writes fail or alarms do not go off,
 * if so.
 */
const healthKind: ActorKind = {
  name: "health",
  schema: [],
  // Another process that does not answer says nothing about this one.
  detached: { methods: { ping: storageFault } },
  start: (context) => ({
    methods: {
      async ping() {
        const fault = await storageFault(context);
        if (fault !== null) return fault;
        const alarms = context.alarmFailure?.() ?? null;
        return alarms === null ? null : `The alarms cannot be read: ${alarms}`;
      },
    },
  }),
};

async function storageFault({ sql }: Pick<ActorContext, "sql">): Promise<string | null> {
  await sql.all("SELECT 1 AS one");
  const writes = (await sql.failure?.()) ?? null;
  return writes === null ? null : `The database takes no writes: ${writes}`;
}

/** The health of the models, by the part that uses them. */
type Watched = Readonly<Record<"rendering" | "search", { readonly part: () => PartHealth }>>;

/** Checks every part, and the last results of its models. */
export function healthOf(platform: Platform, models: Watched): () => Promise<Health> {
  platform.actors.define(healthKind);
  return async () => ({
    server:
      platform.system.closing?.aborted === true
        ? { status: "unavailable", reason: "The server is shutting down" }
        : READY,
    database: await databaseHealth(platform),
    rendering: renderingHealth(platform, models.rendering.part()),
    search: models.search.part(),
  });
}

async function databaseHealth(platform: Platform): Promise<PartHealth> {
  // The object may be at another node, which says nothing about this one.
  const failure = platform.actors.failure?.() ?? null;
  if (failure !== null) return { status: "unavailable", reason: failure };
  try {
    const reason = await platform.actors.get("health", "ready").call("ping");
    return typeof reason === "string" ? { status: "unavailable", reason } : READY;
  } catch (error) {
    platform.log("warn", "Not ready", { error: String(error) });
    return { status: "unavailable", reason: "The database does not answer" };
  }
}

function renderingHealth({ browser, capabilities }: Platform, model: PartHealth): PartHealth {
  if (capabilities.browser !== true) return { status: "unavailable", reason: capabilities.browser };
  const { failure = null, lacks = null } = browser.trouble?.() ?? {};
  if (failure !== null) return { status: "failing", reason: failure };
  return lacks === null ? model : { ...model, detail: lacks };
}

/** Without these nothing works: `/readyz` is 503. Any other failure concerns one part. */
const needed = ["server", "database"];

/**
 * Serves `GET /healthz`: the process answers. `GET /readyz`: storage answers and takes writes, and no shutdown has
 * begun; else 503 with the reason. The body lists the state of every part, and the runtime's capabilities, with a
 * reason for each missing one.
 */
export function healthRoutes(platform: Platform, health: () => Promise<Health>): Hono {
  const app = new Hono();
  app.get("/healthz", () => json({ status: "ok" }));
  app.get("/readyz", async () => {
    const parts = await health();
    const { runtime, capabilities } = platform;
    const broken = needed.map((name) => parts[name]).find((part) => part?.status !== "ready");
    if (broken === undefined) return json({ status: "ready", runtime, parts, capabilities });
    const { reason } = broken;
    return json({ status: "unavailable", runtime, reason, parts }, 503, { "retry-after": "1" });
  });
  closeRoutes(app, [], "api", platform);
  return app;
}
