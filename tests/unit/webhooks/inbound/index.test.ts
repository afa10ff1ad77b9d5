import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, NonRetryableError } from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks, webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { eventually } from "../../../cases/eventually.ts";
import { SECRET as secret, signedRequest } from "../../../fakes/webhooks-sender.ts";

let isBroken = true;
const worker = defineAgent({
  name: "IndexWorker",
  initialState: { planned: false },
  tasks: { later: () => undefined },
  async onStart(agent) {
    if (agent.name !== "planned") return;
    await agent.setState({ planned: true });
    await agent.scheduleEvery(3600, "later", { n: 1 });
    await agent.queue("later", { n: 2 }, { delaySeconds: 3600 });
  },
  onEvent(_, event) {
    const { mode } = event.payload as { mode?: string };
    if (mode === "dead" && isBroken) throw new NonRetryableError("given up");
    if (mode === "failing" && isBroken) throw new Error("not now");
  },
  async onRequest(agent) {
    await agent.destroy();
    return new Response(null, { status: 204 });
  },
  retry: { maxAttempts: 1000, baseMs: 20, maxMs: 50 },
});
const generic = { scheme: "generic", secret } as const;
const sources = {
  plain: generic,
  work: { ...generic, agent: "IndexWorker", respond: "queued" },
  other: { ...generic, agent: "IndexWorker", respond: "queued" },
} as const;

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

async function post(path: string, id: string, mode = "fine"): Promise<void> {
  const request = await signedRequest(`/webhooks/${path}`, { event_id: id, type: "t", mode });
  const response = await app.fetch(request);
  await response.body?.cancel();
  expect(response.status).toBeLessThan(300);
}

interface Answer {
  readonly status: number;
  readonly result: Record<string, unknown>[];
  readonly result_info: { readonly cursor: string | null; readonly count: number };
  readonly errors: { readonly message: string }[];
}

async function ask(path: string, method = "GET"): Promise<Answer> {
  const url = `http://causey.test/accounts/local/webhooks/${path}`;
  const response = await app.fetch(new Request(url, { method }));
  return { status: response.status, ...((await response.json()) as Omit<Answer, "status">) };
}

async function all(path: string, limit: number): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: Answer = await ask(`${path}&limit=${limit}${cursor && `&cursor=${cursor}`}`);
    expect(page.result_info.count).toBe(page.result.length);
    expect(page.result.length).toBeLessThanOrEqual(limit);
    rows.push(...page.result);
    cursor = page.result_info.cursor;
  }
  return rows;
}

const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const names = (rows: readonly Record<string, unknown>[]): string[] =>
  rows.map((row) => String(row["entity"]));
const holds = async (path: string, count: number): Promise<void> =>
  eventually(async () => (await all(path, 100)).length === count, `${path} has ${count} rows`);

describe("the lists across entities", () => {
  it("name every entity with its source, newest first, in pages", async () => {
    const entities = Array.from({ length: 7 }, (_, n) => `list-${n}`);
    for (const entity of entities) await post(`plain/${entity}`, "1");
    await post("work/a%2Fü", "1");
    await holds("entities?source=plain", 7);
    await holds("entities?source=work", 1);
    const rows = await all("entities?source=plain", 2);
    expect(names(rows).toSorted(byText)).toEqual(entities);
    const times = rows.map((row) => String(row["last_seen"]));
    expect(times).toEqual(times.toSorted().toReversed());
    expect(rows[0]).toMatchObject({ agent: "webhook-agent", source: "plain" });
    expect(names(await all("entities?agent=IndexWorker", 100))).toEqual(["a/ü"]);
    expect(await all("entities?source=nobody", 100)).toEqual([]);
  });

  it("hold what fails until it succeeds, and dead letters until they are replayed", async () => {
    isBroken = true;
    await post("work/f-1", "e1", "failing");
    await post("other/f-2", "e2", "failing");
    for (const n of [1, 2, 3]) await post(`work/d-${n}`, `dead-${n}`, "dead");
    await post("other/d-4", "dead-4", "dead");
    await holds("failures?agent=index-worker", 2);
    await holds("dead-letters?agent=index-worker", 4);
    const [failing] = (await ask("failures?source=work")).result;
    expect(failing).toMatchObject({
      agent: "index-worker",
      entity: "f-1",
      source: "work",
      event: "e1",
      seq: 1,
      task: "processWebhook",
      error: "not now",
    });
    expect(Number(failing?.["attempts"])).toBeGreaterThan(0);
    const dead = await all("dead-letters?source=work", 1);
    expect(names(dead).toSorted(byText)).toEqual(["d-1", "d-2", "d-3"]);
    expect(dead[0]).toMatchObject({ attempts: 1, error: "given up", next_at: null });
    const times = dead.map((row) => String(row["failed_at"]));
    expect(times).toEqual(times.toSorted().toReversed());
    isBroken = false;
    await holds("failures?agent=index-worker", 0);
    for (const row of dead) {
      const [entity, id] = [String(row["entity"]), String(row["id"])];
      const replay = `dead-letters/${id}/replay?entity=${entity}&source=work`;
      expect((await ask(replay, "POST")).status).toBe(202);
    }
    await holds("dead-letters?source=work", 0);
    await holds("dead-letters?source=other", 1);
  });

  it("forget an entity that is destroyed, and hear of it when it comes back", async () => {
    isBroken = true;
    await post("work/gone", "1", "dead");
    const listed = async (): Promise<boolean> =>
      names(await all("entities?agent=index-worker", 100)).includes("gone");
    await eventually(listed, "the entity is listed");
    await eventually(
      async () => names(await all("dead-letters?source=work", 100)).includes("gone"),
      "its dead letter is listed",
    );
    const request = new Request("http://causey.test/agents/index-worker/gone", {
      method: "DELETE",
    });
    expect((await app.fetch(request)).status).toBe(204);
    await eventually(async () => !(await listed()), "the entity is forgotten");
    expect(names(await all("dead-letters?source=work", 100))).not.toContain("gone");
    await post("work/gone", "2");
    await eventually(listed, "the entity is listed again");
  });

  it("refuse what is no cursor, no limit and no parameter", async () => {
    for (const query of ["cursor=x", "cursor=WzFd", "limit=many", "curser=x", "sourc=work"]) {
      for (const list of ["entities", "failures", "dead-letters"]) {
        const answer = await ask(`${list}?${query}`);
        expect([query, list, answer.status]).toEqual([query, list, 400]);
        expect(answer.errors[0]?.message).toMatch(/cursor|limit|source/);
      }
    }
  });
});

describe("the events of one entity", () => {
  it("come in pages by position", async () => {
    for (let n = 1; n <= 5; n++) await post("plain/paged", `p${n}`);
    const seqs: unknown[] = [];
    let before = "";
    for (;;) {
      const { result } = await ask(`events?entity=paged&limit=2${before}`);
      if (result.length === 0) break;
      seqs.push(...result.map((row) => row["seq"]));
      before = `&before=${String(result.at(-1)?.["seq"])}`;
    }
    expect(seqs).toEqual([5, 4, 3, 2, 1]);
    expect((await ask("events?entity=paged&before=1")).result).toEqual([]);
    expect((await ask("events?entity=paged&before=x")).status).toBe(400);
    expect((await ask("events?entity=paged&before=-1")).status).toBe(400);
  });
});

it("an entity's agent shows its state and its schedules", async () => {
  await post("work/planned", "1");
  const path = "entities/state?entity=planned";
  const { status, result } = await ask(`${path}&agent=IndexWorker`);
  expect(status).toBe(200);
  expect(result).toEqual({
    state: { planned: true },
    schedules: [expect.objectContaining({ task: "later", kind: "interval", payload: { n: 1 } })],
    queue: [expect.objectContaining({ task: "later", attempt: 0, payload: { n: 2 } })],
    callables: expect.arrayContaining(["getEvents"]) as unknown,
  });
  expect((await ask(`${path}&agent=index-worker`)).status).toBe(200);
  expect((await ask(`${path}&agent=unknown-class`)).status).toBe(404);
  expect((await ask("entities/state")).status).toBe(400);
});
