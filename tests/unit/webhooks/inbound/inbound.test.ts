import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as fc from "fast-check";
import { openPlatform } from "#platform";
import { agents, defineAgent, NonRetryableError } from "../../../../core/agents/mod.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import type { Platform } from "../../../../core/ports.ts";
import { webhooks } from "../../../../core/webhooks/mod.ts";
import { githubRequest, SECRET, signedRequest } from "../../../fakes/webhooks-sender.ts";

const handled: string[] = [];

const worker = defineAgent<{ seen: number }>({
  name: "TestWorker",
  initialState: { seen: 0 },
  async onEvent(agent, event, run) {
    const { mode } = event.payload as { mode?: string };
    if (mode === "fail-once" && run.attempt === 1) throw new Error("not yet");
    if (mode === "fatal") throw new NonRetryableError("never");
    handled.push(`${agent.name}:${event.id}:${run.attempt}`);
    await agent.setState({ seen: agent.state.seen + 1 });
  },
  retry: { baseMs: 1, maxMs: 5 },
});

const secret = SECRET;
let platform: Platform;
let app: Hono;

beforeAll(async () => {
  platform = await openPlatform();
  app = new Hono();
  app.route(
    "/webhooks",
    webhooks({
      platform,
      auth: "off",
      maxBodyBytes: 10_000,
      retention: { maxAgeDays: 30 },
      sources: {
        demo: { scheme: "generic", secret },
        github: { scheme: "github", secret },
        worker: { scheme: "generic", secret, agent: "TestWorker" },
        queued: { scheme: "generic", secret, agent: "TestWorker", respond: "queued" },
        team: { scheme: "generic", secret, entity: { from: "header", name: "x-team-id" } },
        body: { scheme: "generic", secret, bodyDedupeSeconds: 60 },
        slack: { scheme: "slack", secret },
        zoom: { scheme: "zoom", secret },
        dropbox: { scheme: "dropbox", secret },
        default: { scheme: "generic", secret },
      },
    }),
  );
  app.route("/agents", agents({ platform, auth: "off", agents: [worker] }));
});
afterAll(() => platform.close());

async function post(
  request: Request,
): Promise<{ status: number; body: { result: Record<string, string> } }> {
  const response = await app.fetch(request);
  return {
    status: response.status,
    body: (await response.json()) as { result: Record<string, string> },
  };
}

async function eventsOf(
  entity: string,
  limit = 1000,
  kind = "webhook-agent",
): Promise<EventRecord[]> {
  return (await platform.actors
    .get(`agent:${kind}`, entity)
    .call("getEvents", limit)) as EventRecord[];
}

/** Waits until a condition holds; the runner's own limit ends a wait that never succeeds. */
async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await platform.system.sleep(5);
}

describe("an inbound webhook", () => {
  it("is stored with exactly the nine documented fields and answered 200", async () => {
    const payload = {
      action: "opened",
      issue: { title: "Bug" },
      repository: { full_name: "Octo/Hello" },
    };
    const answer = await post(await githubRequest("/webhooks/github", payload, "d-1", "issues"));
    expect(answer.status).toBe(200);
    expect(answer.body.result).toMatchObject({
      id: "d-1",
      entity: "octo-hello",
      status: "processed",
    });
    const [event] = await eventsOf("octo-hello");
    expect(Object.keys(event ?? {}).join(" ")).toBe(
      "id type action title description url actor payload timestamp",
    );
    expect(event).toMatchObject({
      id: "d-1",
      type: "issues",
      action: "opened",
      title: "Bug",
      actor: null,
    });
    expect(JSON.parse(event?.payload ?? "")).toEqual(payload);
    expect(event?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it("reaches the entity of its path, decoded exactly once", async () => {
    expect((await post(await signedRequest("/webhooks/demo/m%C3%BCnchen%2541", {}))).status).toBe(
      200,
    );
    expect(await eventsOf("münchen%41")).toHaveLength(1);
  });

  it("with an unknown first segment goes to the source named default", async () => {
    expect((await post(await signedRequest("/webhooks/some-entity", {}))).status).toBe(200);
    expect(await eventsOf("some-entity")).toHaveLength(1);
  });

  it("takes its entity from a header when the source says so", async () => {
    expect(
      (await post(await signedRequest("/webhooks/team", {}, { "x-team-id": "T1" }))).status,
    ).toBe(200);
    expect(await eventsOf("T1")).toHaveLength(1);
    expect((await post(await signedRequest("/webhooks/team", {}))).status).toBe(400);
  });

  it("is refused with the documented status", async () => {
    const unsigned = (path: string, init: RequestInit = {}): Request =>
      new Request(`http://causey.test${path}`, { method: "POST", body: "{}", ...init });
    const cases: [number, Request][] = [
      [401, unsigned("/webhooks/demo/x")],
      [401, await signedRequest("/webhooks/demo/x", {}, { "x-signature": "sha256=zz" })],
      [400, await signedRequest("/webhooks/demo/x", "{not json")],
      [400, await signedRequest("/webhooks/demo", {})],
      [400, await signedRequest("/webhooks/demo/%ZZ", {})],
      [400, await signedRequest(`/webhooks/demo/${"x".repeat(1025)}`, {})],
      [400, await githubRequest("/webhooks/github", { zen: "no repository" }, "d-2", "ping")],
      [
        400,
        await githubRequest("/webhooks/github/other", { repository: { full_name: "a/b" } }, "d-3"),
      ],
      [404, unsigned("/webhooks/nobody/x")],
      [404, unsigned("/webhooks/a/b/c")],
      [404, unsigned("/webhooks/constructor/x")],
      [413, unsigned("/webhooks/demo/x", { body: "x".repeat(10_001) })],
    ];
    for (const [status, request] of cases) {
      const response = await app.fetch(request);
      const body = (await response.json()) as { success: boolean; errors: { code: number }[] };
      expect([response.status, body.success, body.errors.length], request.url.slice(0, 80)).toEqual(
        [status, false, 1],
      );
    }
    const put = await app.fetch(unsigned("/webhooks/demo/x", { method: "PUT" }));
    expect([put.status, put.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it("answers the handshakes of its provider", async () => {
    const get = await app.fetch(new Request("http://causey.test/webhooks/dropbox?challenge=abc"));
    expect([get.status, await get.text(), get.headers.get("x-content-type-options")]).toEqual([
      200,
      "abc",
      "nosniff",
    ]);
    const head = await app.fetch(new Request("http://causey.test/webhooks/dropbox"));
    expect([head.status, head.headers.get("allow")]).toEqual([405, "GET, POST"]);
  });

  it("never fails with 5xx, whatever the body, path and header", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.webPath(), fc.string(), async (body, path, header) => {
        const value = header.replaceAll(/[^\x20-\x7e]/g, "");
        const url = new URL(`http://causey.test/webhooks${path}`);
        const response = await app.fetch(
          new Request(url, { method: "POST", body, headers: { "x-signature": value } }),
        );
        expect(response.status).toBeLessThan(500);
        const signed = await app.fetch(await signedRequest("/webhooks/demo/fuzz", body));
        expect(signed.status).toBeLessThan(500);
      }),
      { numRuns: 25 },
    );
  });
});

describe("deduplication", () => {
  it("stores one of many concurrent deliveries of one id and answers all with 200", async () => {
    const requests = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        signedRequest("/webhooks/demo/dup", { i }, { "x-webhook-id": "same" }),
      ),
    );
    const answers = await Promise.all(requests.map(post));
    expect(answers.map(({ status }) => status)).toEqual(Array<number>(20).fill(200));
    expect(answers.filter(({ body }) => body.result["status"] === "processed")).toHaveLength(1);
    expect(await eventsOf("dup")).toHaveLength(1);
  });

  it("numbers concurrent events without gaps", async () => {
    const requests = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        signedRequest("/webhooks/demo/gapless", { i }, { "x-webhook-id": `id-${i % 20}` }),
      ),
    );
    await Promise.all(requests.map(post));
    const page = await platform.actors
      .get("agent:webhook-agent", "gapless")
      .call("nextEvents", 0, 0);
    const { events } = page as { events: { seq: number }[] };
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });

  it("treats an equal body as a duplicate only where the source asks for it", async () => {
    for (const [source, count] of [
      ["body", 1],
      ["demo", 2],
    ] as const) {
      for (const id of ["one", "two"]) {
        await post(
          await signedRequest(
            `/webhooks/${source}/by-body-${source}`,
            { same: 1 },
            { "x-webhook-id": id },
          ),
        );
      }
      expect(await eventsOf(`by-body-${source}`)).toHaveLength(count);
    }
  });
});

describe("two identifiers with one name form", () => {
  it("get two agents", async () => {
    for (const name of ["foo-bar/baz", "foo/bar-baz"]) {
      await post(
        await githubRequest("/webhooks/github", { repository: { full_name: name } }, `id-${name}`),
      );
    }
    const first = await eventsOf("foo-bar-baz");
    expect(first.map(({ id }) => id)).toEqual(["id-foo-bar/baz"]);
    const again = await post(
      await githubRequest(
        "/webhooks/github",
        { repository: { full_name: "foo/bar-baz" } },
        "second",
      ),
    );
    expect(again.body.result["entity"]).toMatch(/^foo-bar-baz-[0-9a-f]{8}$/);
    expect(await eventsOf(again.body.result["entity"] ?? "")).toHaveLength(2);
  });
});

describe("a handler", () => {
  it("has run when the answer is 200, once, in order", async () => {
    for (const id of ["a", "b", "c"]) {
      const answer = await post(
        await signedRequest("/webhooks/worker/ordered", {}, { "x-webhook-id": id }),
      );
      expect([answer.status, answer.body.result["status"]]).toEqual([200, "processed"]);
    }
    expect(handled.filter((one) => one.startsWith("ordered:"))).toEqual([
      "ordered:a:1",
      "ordered:b:1",
      "ordered:c:1",
    ]);
  });

  it("runs behind a 202 named processWebhook where the source says queued", async () => {
    const answer = await post(
      await signedRequest("/webhooks/queued/later", {}, { "x-webhook-id": "q" }),
    );
    expect([answer.status, answer.body.result["job"]]).toEqual([202, "processWebhook"]);
    await until(() => handled.includes("later:q:1"));
  });

  it("that fails answers 202 and runs again with the next attempt", async () => {
    const answer = await post(
      await signedRequest("/webhooks/worker/retry", { mode: "fail-once" }, { "x-webhook-id": "r" }),
    );
    expect(answer.status).toBe(202);
    await until(() => handled.includes("retry:r:2"));
  });

  it("that throws NonRetryableError leaves a dead letter, which can be replayed", async () => {
    await post(
      await signedRequest("/webhooks/worker/fatal", { mode: "fatal" }, { "x-webhook-id": "f" }),
    );
    const agent = platform.actors.get("agent:test-worker", "fatal");
    const dead = (await agent.call("deadLetters", 10)) as {
      id: string;
      error: string;
      attempts: number;
    }[];
    expect(dead).toMatchObject([{ error: "never", attempts: 1 }]);
    expect(await agent.call("replay", dead[0]?.id ?? "")).not.toBeNull();
    await until(
      async () =>
        ((await agent.call("deadLetters", 10)) as { id: string }[])[0]?.id !== dead[0]?.id,
    );
  });
});

describe("retention", () => {
  it("keeps the newest maxEvents of an entity and goes on counting", async () => {
    const own = new Hono();
    const sources = { few: { scheme: "generic", secret } };
    own.route(
      "/webhooks",
      webhooks({ platform, auth: "off", sources, retention: { maxEvents: 5 } }),
    );
    for (let i = 1; i <= 12; i++) {
      const request = await signedRequest(
        "/webhooks/few/short",
        { i },
        { "x-webhook-id": `e${i}` },
      );
      expect((await own.fetch(request)).status).toBe(200);
    }
    expect((await eventsOf("short")).map(({ id }) => id)).toEqual([
      "e12",
      "e11",
      "e10",
      "e9",
      "e8",
    ]);
    const page = await platform.actors.get("agent:webhook-agent", "short").call("nextEvents", 0, 0);
    expect(page).toMatchObject({ reset: 8, last: 12 });
  });
});

describe("webhooks()", () => {
  it("refuses sources that cannot be verified", () => {
    const bad = [
      { scheme: "generic" },
      { scheme: "generic", secret: "" },
      { scheme: "generic", secret: "short" },
      { scheme: "nobody", secret },
      { scheme: "constructor", secret },
    ];
    for (const source of bad) {
      expect(() => webhooks({ platform, auth: "off", sources: { bad: source } })).toThrow(
        TypeError,
      );
    }
  });
});
