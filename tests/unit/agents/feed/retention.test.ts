import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { evict, openPlatform } from "#platform";
import { platformApi } from "../../../../core/api.ts";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { IncomingEvent } from "../../../../core/entity/event.ts";
import type { Platform } from "../../../../core/ports.ts";
import { LONG, eventually } from "../../../cases/eventually.ts";

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
  claim: "free",
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

  it("reaches entities that nobody touches, a few at a time", LONG, async () => {
    const data = `swept-${Math.trunc(performance.now())}`;
    const loose = { maxEvents: 20, maxAgeMs: null };
    let atOnce = 0;
    let most = 0;
    const started: string[] = [];
    const watched = defineAgent({
      name: "watched",
      async onStart(agent) {
        most = Math.max(most, ++atOnce);
        await Promise.resolve();
        started.push(agent.name);
        atOnce -= 1;
      },
    });
    const names = Array.from({ length: 40 }, (_, n) => `idle-${n}`);
    const first = await openPlatform({ data });
    agents({ platform: first, auth: "off", retention: loose, agents: [watched] });
    for (const name of names)
      for (let i = 1; i <= 5; i++)
        await first.actors.get("agent:watched", name).call("ingest", incoming(`e${i}`, loose));
    const index = first.actors.get("webhooks-index", "all");
    await eventually(async () => {
      const { rows } = (await index.call("entities", { limit: 100 })) as { rows: unknown[] };
      return rows.length === names.length;
    }, "the index has heard of all");
    await first.close();
    await evict();

    started.length = 0;
    most = 0;
    const tight = { maxEvents: 2, maxAgeMs: null };
    const second = await openPlatform({ data });
    agents({ platform: second, auth: "off", retention: tight, agents: [watched] });
    // By an event of one entity the others hear of it.
    await second.actors.get("agent:watched", "busy").call("ingest", incoming("e1", tight));
    await eventually(() => new Set(started).size === names.length + 1, "all have been started");
    expect(most).toBeLessThanOrEqual(17);
    for (const name of names) {
      const ref = second.actors.get("agent:watched", name);
      await eventually(async () => {
        const rows = (await ref.call("listEvents", { limit: 100 })) as { readonly id: string }[];
        return rows.map(({ id }) => id).join() === "e5,e4";
      }, `the newest two of ${name} are left`);
    }
    // Once for a setting: a later report, even to a new instance of the index, starts nobody.
    await evict();
    started.length = 0;
    await second.actors.get("agent:watched", "new").call("ingest", incoming("e1", tight));
    await eventually(async () => {
      const query = { limit: 1, entity: "new" };
      const again = second.actors.get("webhooks-index", "all");
      const { rows } = (await again.call("entities", query)) as { rows: unknown[] };
      return rows.length === 1;
    }, "the index has heard of it");
    await evict();
    await second.close();
    expect(started.filter((name) => name.startsWith("idle-"))).toEqual([]);
  });
});
