import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, NonRetryableError } from "../../../core/agents/mod.ts";
import type { Platform } from "../../../core/ports.ts";
import { webhooks, webhooksManagement } from "../../../core/webhooks/mod.ts";
import { eventually } from "../../cases/eventually.ts";
import { SECRET as secret, signedRequest } from "../../fakes/webhooks-sender.ts";

let isBroken = false;
const runs: string[] = [];
const worker = defineAgent({
  name: "replay-worker",
  onEvent(agent, event, run) {
    if (isBroken) throw new NonRetryableError("given up");
    runs.push(`${agent.name} ${event.id}${run.isReplay ? " again" : ""}`);
  },
});
const generic = { scheme: "generic", secret, agent: "replay-worker", respond: "queued" } as const;
const sources = { one: generic, two: generic };

let platform: Platform;
let app: Hono;

beforeAll(async () => {
  platform = await openPlatform();
  app = new Hono();
  app.route("/webhooks", webhooks({ platform, auth: "off", sources }));
  app.route("/agents", agents({ platform, auth: "off", agents: [worker] }));
  app.route("/", webhooksManagement({ platform, auth: "off", sources }));
});
afterAll(() => platform.close());

async function post(path: string, id: string): Promise<void> {
  const request = await signedRequest(`/webhooks/${path}`, { event_id: id, type: "t" });
  const response = await app.fetch(request);
  await response.body?.cancel();
  expect(response.status).toBe(202);
}

interface Answer {
  readonly status: number;
  readonly result: Record<string, unknown>;
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const url = `http://causey.test/accounts/local/webhooks/${path}`;
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await app.fetch(new Request(url, { method, ...init }));
  return { status: response.status, ...((await response.json()) as { result: Answer["result"] }) };
}

async function rows(list: string): Promise<number> {
  return Object.keys((await ask("GET", `${list}?limit=100`)).result).length;
}

async function replay(filter: Record<string, string>): Promise<Record<string, unknown>> {
  const { result, status } = await ask("POST", "replays", filter);
  expect(status).toBe(202);
  const path = `replays/${String(result["id"])}`;
  await eventually(
    async () => (await ask("GET", path)).result["status"] === "completed",
    "the replay is completed",
  );
  return (await ask("GET", path)).result;
}

describe("replays over entities", () => {
  it("run events again that had succeeded, each once, in order, and say so", async () => {
    const ids = Array.from({ length: 250 }, (_, n) => `e${n}`);
    for (const id of ids) await post("one/a", id);
    await post("two/b", "other");
    await eventually(() => runs.length === 251, "all have run");
    await eventually(async () => (await rows("entities")) === 2, "both are listed");
    runs.length = 0;
    const done = await replay({ of: "events", source: "one" });
    expect(done).toMatchObject({ of: "events", source: "one", entities: 1, done: 1, queued: 250 });
    await eventually(() => runs.length >= 250, "all have run again");
    expect(runs).toEqual(ids.map((id) => `a ${id} again`));
    runs.length = 0;
    expect(await replay({ of: "events", until: "2020-01-01" })).toMatchObject({ queued: 0 });
    const single = await ask("POST", "events/other/replay?entity=b&source=two");
    expect(single.status).toBe(202);
    await eventually(() => runs.length === 1, "it has run again");
    expect(runs).toEqual(["b other again"]);
    expect((await ask("POST", "events/nobody/replay?entity=b&source=two")).status).toBe(404);
  });

  it("run dead letters again, of all entities", async () => {
    isBroken = true;
    for (const n of [1, 2, 3]) await post("one/dead-1", `d${n}`);
    await post("two/dead-2", "d4");
    await eventually(async () => (await rows("dead-letters")) === 4, "all are given up");
    isBroken = false;
    runs.length = 0;
    expect(await replay({ of: "dead-letters" })).toMatchObject({ entities: 2, queued: 4 });
    await eventually(() => runs.length === 4, "all have run");
    expect(runs.filter((run) => run.startsWith("dead-1"))).toEqual([
      "dead-1 d1 again",
      "dead-1 d2 again",
      "dead-1 d3 again",
    ]);
    await eventually(async () => (await rows("dead-letters")) === 0, "none is left");
  });

  it("are listed, cancelled, and refused with a filter that nobody knows", async () => {
    const { result } = await ask("POST", "replays", { of: "events" });
    const { status } = (await ask("POST", `replays/${String(result["id"])}/cancel`)).result;
    expect(["canceled", "completed"]).toContain(status);
    expect(await rows("replays")).toBeGreaterThan(3);
    expect((await ask("GET", "replays/nobody")).status).toBe(404);
    expect((await ask("POST", "replays/nobody/cancel")).status).toBe(404);
    for (const bad of [
      {},
      { of: "all" },
      { of: "events", sorce: "one" },
      { of: "events", since: "x" },
    ])
      expect((await ask("POST", "replays", bad)).status).toBe(400);
  });
});
