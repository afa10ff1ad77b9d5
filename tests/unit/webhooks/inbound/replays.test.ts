import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, NonRetryableError } from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks, webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { eventually, LONG } from "../../../cases/eventually.ts";
import { SECRET as secret, signedRequest } from "../../../fakes/webhooks-sender.ts";

let isBroken = false;
/** Replayed events wait for their turn. */
const held = { replays: false };
const runs: string[] = [];
const worker = defineAgent({
  name: "replay-worker",
  async onEvent(agent, event, run) {
    while (held.replays && run.isReplay) await new Promise((resolve) => setTimeout(resolve, 5));
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
  return Object.keys((await ask("GET", list.includes("?") ? list : `${list}?limit=100`)).result)
    .length;
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

  it("queue no more once they are cancelled, and what is queued runs", LONG, async () => {
    const ids = Array.from({ length: 250 }, (_, n) => `c${n}`);
    runs.length = 0;
    for (const id of ids) await post("one/cancelled", id);
    await eventually(() => runs.length === ids.length, "all have run");
    runs.length = 0;
    held.replays = true;
    const { result } = await ask("POST", "replays", { of: "events", entity: "cancelled" });
    const path = `replays/${String(result["id"])}`;
    await eventually(
      async () => (await ask("GET", path)).result["queued"] === 100,
      "the first slice is queued",
    );
    // A second one of the same range finds no event that does not wait already in that part.
    const other = await ask("POST", "replays", { of: "events", entity: "cancelled" });
    expect(other.status).toBe(202);
    const done = await ask("POST", `${path}/cancel`);
    expect(done.result).toMatchObject({ status: "canceled", queued: 100 });
    expect((await ask("POST", `${path}/cancel`)).result).toMatchObject({ status: "canceled" });
    await ask("POST", `replays/${String(other.result["id"])}/cancel`);
    held.replays = false;
    await eventually(() => runs.length >= 100, "what was queued has run");
    await post("one/cancelled", "last");
    await eventually(() => runs.at(-1) === "cancelled last", "it comes behind them");
    expect(runs.slice(0, 100)).toEqual(ids.slice(0, 100).map((id) => `cancelled ${id} again`));
    expect(runs).toHaveLength(101);
    // Longer under way than the cancelled one would have rested.
    expect(await replay({ of: "events", entity: "cancelled" })).toMatchObject({ queued: 251 });
    expect((await ask("GET", path)).result).toMatchObject({ status: "canceled", queued: 100 });
  });

  it("are 20 at a time, also when all are asked for at once", LONG, async () => {
    held.replays = true;
    runs.length = 0;
    await post("one/many", "m1");
    await eventually(() => runs.length === 1, "it has run");
    await eventually(async () => (await rows("entities?source=one")) > 0, "it is listed");
    for (let n = 2; n <= 250; n++) await post("one/many", `m${n}`);
    await eventually(() => runs.length === 250, "all have run");
    const first = await ask("POST", "replays", { of: "events", entity: "many" });
    const path = `replays/${String(first.result["id"])}`;
    await eventually(async () => (await ask("GET", path)).result["queued"] === 100, "it is busy");
    const many = Array.from({ length: 60 }, () =>
      ask("POST", "replays", { of: "events", entity: "many" }),
    );
    const answers = await Promise.all(many);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(19);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(41);
    const running = [first, ...answers].filter(({ status }) => status === 202);
    for (const { result } of running) await ask("POST", `replays/${String(result["id"])}/cancel`);
    held.replays = false;
    expect(await rows("replays")).toBeGreaterThan(19);
  });

  it("look through events that do not fit without a pause", async () => {
    const ref = platform.actors.get("agent:replay-worker", "many");
    const slice = { of: "events", type: "nothing", until: "2999-01-01T00:00:00.000Z" };
    const next = (): Promise<unknown> => ref.call("replaySlice", { ...slice, id: "rp_looks" });
    await eventually(async () => {
      const { isBehind } = (await next()) as { isBehind: boolean };
      return !isBehind;
    }, "what was queued before has run");
    const receipt = { queued: 0, isDone: false, isBehind: false };
    expect(await next()).toEqual(receipt);
    expect(await next()).toEqual({ ...receipt, isDone: true });
    expect(await next()).toEqual({ ...receipt, isDone: true });
  });

  it("give a dead letter one chance, whatever the clock says", async () => {
    isBroken = true;
    const ids = Array.from({ length: 120 }, (_, n) => `x${n}`);
    for (const id of ids) await post("one/doomed", id);
    await eventually(
      async () => (await rows("dead-letters?entity=doomed&source=one&limit=200")) === 120,
      "all are dead",
    );
    const until = "2999-01-01T00:00:00Z";
    const done = await replay({ of: "dead-letters", entity: "doomed", until });
    expect(done).toMatchObject({ queued: 120 });
    isBroken = false;
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
      { of: "events", since: "2026-01-02", until: "2026-01-01" },
    ])
      expect((await ask("POST", "replays", bad)).status).toBe(400);
  });
});
