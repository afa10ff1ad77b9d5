import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { evict, openPlatform } from "#platform";
import { platformApi } from "../../../core/api.ts";
import { agents } from "../../../core/agents/mod.ts";
import type { IncomingEvent } from "../../../core/entity/event.ts";
import type { Platform } from "../../../core/ports.ts";
import { LONG, eventually } from "../../cases/eventually.ts";

const incoming = (id: string, retention: IncomingEvent["retention"]): IncomingEvent => ({
  record: {
    id,
    type: "push",
    action: null,
    title: "A push",
    description: null,
    url: null,
    actor: null,
    payload: "{}",
    timestamp: new Date().toISOString(),
  },
  provider: "test",
  headers: "{}",
  bodyHash: null,
  bodyWindowMs: 0,
  canonical: null,
  owners: ["test"],
  reserved: false,
  respond: "queued",
  retention,
});

async function ids(platform: Platform, entity: string): Promise<string[]> {
  const ref = platform.actors.get("agent:webhook-agent", entity);
  const rows = (await ref.call("listEvents", { limit: 100 })) as { readonly id: string }[];
  return rows.map(({ id }) => id);
}

describe("a lowered maxEvents", () => {
  it("shrinks an entity that gets no further event, at its next start", LONG, async () => {
    const data = `lowered-${Math.trunc(performance.now())}`;
    const loose = { maxEvents: 20, maxAgeMs: null };
    const first = await openPlatform({ data });
    agents({ platform: first, auth: "off", retention: loose });
    for (const entity of ["idle", "other"])
      for (let i = 1; i <= 12; i++) {
        const ref = first.actors.get("agent:webhook-agent", entity);
        await ref.call("ingest", incoming(`e${i}`, loose));
      }
    expect(await ids(first, "idle")).toHaveLength(12);
    // What an instance has to tell the index would start it in the second life.
    const index = first.actors.get("webhooks-index", "all");
    await eventually(
      async () => JSON.stringify(await index.call("entities", { limit: 10 })).includes("other"),
      "the index has heard of both",
    );
    await first.close();
    await evict();

    const second = await openPlatform({ data });
    platformApi({
      platform: second,
      auth: () => Promise.resolve(null),
      webhooks: { sources: {}, retention: { maxEvents: 3, maxAgeDays: null } },
    });
    await eventually(
      async () => (await ids(second, "idle")).join() === "e12,e11,e10",
      "the newest three are left",
    );
    await second.close();
    await evict();

    // Without the setting an instance goes by what its last event said.
    const third = await openPlatform({ data });
    const app = new Hono();
    app.route("/agents", agents({ platform: third, auth: "off" }));
    expect(await ids(third, "other")).toHaveLength(12);
    await third.close();
  });
});
