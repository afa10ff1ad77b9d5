import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, NonRetryableError } from "../../../../core/agents/mod.ts";
import { startTally, type Counts } from "../../../../core/entity/tally.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks, webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { fakeClock, settled } from "../../../fakes/rendering-system.ts";
import { githubRequest, SECRET as secret, signedRequest } from "../../../fakes/webhooks-sender.ts";

describe("startTally()", () => {
  it("writes all counts of a second at once, and keeps those that could not be written", async () => {
    const { advance, system } = fakeClock();
    const written: Counts[] = [];
    let fails = true;
    const tally = startTally(system, (counts) => {
      if (fails) return Promise.reject(new Error("full"));
      written.push(counts);
      return Promise.resolve();
    });
    tally.add("a", "x");
    tally.add("a", "x", 2);
    await advance(1000);
    expect(written).toEqual([]);
    fails = false;
    tally.add("b", "y");
    await advance(999);
    expect(written).toEqual([]);
    await advance(1);
    expect(written).toEqual([{ a: { x: 3 }, b: { y: 1 } }]);
    await tally.flush();
    expect(written).toHaveLength(1);
    tally.add("a", "x");
    await tally.flush();
    await settled();
    expect(written.at(-1)).toEqual({ a: { x: 1 } });
  });
});

const worker = defineAgent({
  name: "CountedWorker",
  onEvent(_agent, event, run) {
    const { mode } = event.payload as { mode?: string };
    if (mode === "once" && run.attempt === 1) throw new Error("not yet");
    if (mode === "never") throw new NonRetryableError("never");
  },
  retry: { baseMs: 1, maxMs: 5 },
});

let platform: Platform;
let app: Hono;
beforeAll(async () => {
  platform = await openPlatform();
  const options = {
    platform,
    auth: "off" as const,
    maxBodyBytes: 2000,
    sources: {
      github: { scheme: "github", secret },
      worker: { scheme: "generic", secret, agent: "CountedWorker" },
      slack: { scheme: "slack", secret },
    },
  };
  app = new Hono();
  app.route("/webhooks", webhooks(options));
  app.route("/agents", agents({ platform, auth: "off", agents: [worker] }));
  app.route("/", webhooksManagement(options));
});
afterAll(() => platform.close());

interface Inbound {
  readonly [source: string]: { readonly [name: string]: unknown };
}

async function stats(account = "local"): Promise<{ inbound?: Inbound; pending: number }> {
  const response = await app.request(`/accounts/${account}/webhooks/stats`);
  return ((await response.json()) as { result: { inbound?: Inbound; pending: number } }).result;
}

describe("GET /stats", () => {
  it("counts inbound requests by source: what was stored, refused and handled, and why not", async () => {
    const body = { repository: { full_name: "octo/hello" } };
    const send = async (request: Request | Promise<Request>): Promise<number> =>
      (await app.fetch(await request)).status;
    expect(await send(githubRequest("/webhooks/github", body, "1"))).toBe(200);
    expect(await send(githubRequest("/webhooks/github", body, "1"))).toBe(200);
    expect(await send(githubRequest("/webhooks/github", {}, "2"))).toBe(400);
    expect(await send(githubRequest("/webhooks/github", "x".repeat(3000), "3"))).toBe(413);
    expect(await send(new Request("http://causey.test/webhooks/github"))).toBe(405);
    const bare = new Request("http://causey.test/webhooks/github", { method: "POST", body: "{}" });
    expect(await send(bare)).toBe(401);
    const wrong = await githubRequest("/webhooks/github", body, "4");
    wrong.headers.set("x-hub-signature-256", `sha256=${"0".repeat(64)}`);
    expect(await send(wrong)).toBe(401);
    for (const mode of ["", "once", "never"])
      await send(signedRequest("/webhooks/worker/e", { mode }, { "x-webhook-id": mode }));

    const count = { received: 0, verified: 0, handshakes: 0, stored: 0, duplicates: 0 };
    const expected = {
      github: {
        received: 7,
        verified: 3,
        handshakes: 0,
        stored: 1,
        duplicates: 1,
        handled: 0,
        failed: 0,
        dead: 0,
        refused: {
          entity_missing: 1,
          too_large: 1,
          method_not_allowed: 1,
          missing: 1,
          mismatch: 1,
        },
      },
      worker: {
        ...count,
        received: 3,
        verified: 3,
        stored: 3,
        handled: 2,
        failed: 2,
        dead: 1,
        refused: {},
      },
      slack: { ...count, handled: 0, failed: 0, dead: 0, refused: {} },
    };
    // Counts are written behind: at most about two seconds later they are all there.
    let found = await stats();
    while (JSON.stringify(sorted(found.inbound)) !== JSON.stringify(sorted(expected))) {
      await platform.system.sleep(50);
      found = await stats();
    }
    expect(found).toMatchObject({ pending: 0, inbound: expected });
  });

  it("shows them to the account that receives, and to no other", async () => {
    expect(await stats("other")).not.toHaveProperty("inbound");
  });
});

/** The same with the members of every object in one order. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}
