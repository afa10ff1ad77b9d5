import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent } from "../../../../core/agents/mod.ts";
import type { Log, Platform } from "../../../../core/ports.ts";
import { webhooks } from "../../../../core/webhooks/mod.ts";
import { eventually } from "../../../cases/eventually.ts";
import { switchboard } from "../../../fakes/webhooks-shown.ts";
import { SECRET, signedRequest } from "../../../fakes/webhooks-sender.ts";

const runs: string[] = [];
/** Lets the handlers go on that wait. */
let release: () => void = () => undefined;
let released: Promise<void> = Promise.resolve();
function hold(): void {
  released = new Promise((resolve) => (release = resolve));
}

const caller = defineAgent({
  name: "Caller",
  async onEvent(_, event, run) {
    const { mode = "" } = event.payload as { mode?: string };
    runs.push(event.id);
    if (mode === "plain") return { status: 418 };
    if (mode === "wait") await released;
    if (mode === "empty") return new Response(null);
    if (mode === "json") return Response.json({ type: 5 });
    if (mode === "fails" && run.attempt === 1) throw new Error("not yet");
    if (mode === "large") return new Response("x".repeat(70_000));
    if (mode === "status") return new Response("no", { status: 503 });
    return new Response(`<Response><Say>${event.id}</Say></Response>`, {
      status: mode === "refuse" ? 410 : 200,
      headers: { "content-type": "text/xml", "x-other": "1" },
    });
  },
  retry: { baseMs: 1, maxMs: 5 },
});

const lines: { message: string; fields: unknown }[] = [];
let platform: Platform;
let app: Hono;
const secret = SECRET;
const fixed = { type: "text/xml", body: "<Response/>" };

beforeAll(async () => {
  platform = await openPlatform();
  const log: Log = (_, message, fields) => void lines.push({ message, fields });
  app = new Hono();
  app.route(
    "/webhooks",
    webhooks({
      platform: { ...platform, log },
      auth: "off",
      sources: {
        call: { scheme: "generic", secret, agent: "Caller", answerSeconds: 30 },
        brief: { scheme: "generic", secret, agent: "Caller", answerSeconds: 0.1 },
        later: { scheme: "generic", secret, agent: "Caller", respond: "queued" },
        voice: { scheme: "generic", secret, agent: "switchboard" },
        fixed: { scheme: "generic", secret, answer: fixed },
        both: { scheme: "generic", secret, agent: "Caller", answer: { status: 204 } },
      },
    }),
  );
  app.route("/agents", agents({ platform, auth: "off", agents: [caller, switchboard] }));
});
afterAll(() => platform.close());

async function send(
  path: string,
  id: string,
  mode?: string,
): Promise<{ status: number; type: string | null; text: string }> {
  const response = await app.fetch(
    await signedRequest(`/webhooks/${path}`, { event_id: id, mode }),
  );
  const type = response.headers.get("content-type");
  expect(response.headers.get("x-other")).toBeNull();
  return { status: response.status, type, text: await response.text() };
}

const said = (id: string): object => ({
  status: 200,
  type: "text/xml",
  text: `<Response><Say>${id}</Say></Response>`,
});

describe("the response that onEvent returns", () => {
  it("is the answer to the sender, and to every later delivery of the event", async () => {
    expect(await send("call/said", "one")).toEqual(said("one"));
    expect(await send("call/said", "one")).toEqual(said("one"));
    expect(await send("call/said", "two")).toEqual(said("two"));
    expect(await send("call/said", "two")).toEqual(said("two"));
    expect(runs.filter((id) => id === "one" || id === "two")).toEqual(["one", "two"]);
  });

  it("may be empty, JSON, or a refusal", async () => {
    expect(await send("call/kinds", "empty", "empty")).toEqual({
      status: 200,
      type: null,
      text: "",
    });
    const json = { status: 200, text: '{"type":5}' };
    const sent = await send("call/kinds", "json", "json");
    expect(sent).toMatchObject(json);
    expect(sent.type).toMatch(/^application\/json/);
    expect(await send("call/kinds", "refuse", "refuse")).toMatchObject({ status: 410 });
    expect(await send("call/kinds", "refuse", "refuse")).toMatchObject({ status: 410 });
  });

  it("is nothing else: other values leave the API's answer", async () => {
    const plain = await send("call/plain", "plain", "plain");
    expect([plain.status, plain.text]).toEqual([200, expect.stringContaining('"processed"')]);
    const again = await send("call/plain", "plain", "plain");
    expect([again.status, again.text]).toEqual([200, expect.stringContaining('"duplicate"')]);
  });

  it("reaches a sender that repeats itself while the handler runs", async () => {
    hold();
    const first = send("call/twice", "t1", "wait");
    await eventually(() => runs.includes("t1"), "the handler runs");
    const second = send("call/twice", "t1", "wait");
    await platform.system.sleep(5);
    release();
    expect(await Promise.all([first, second])).toEqual([said("t1"), said("t1")]);
    expect(runs.filter((id) => id === "t1")).toHaveLength(1);
  });

  it("is dropped after the sender's limit, for its duplicates too, and logged", async () => {
    hold();
    const late = await send("brief/late", "late", "wait");
    expect([late.status, late.text]).toEqual([202, expect.stringContaining('"queued"')]);
    release();
    const message = "The answer of a webhook's handler was dropped";
    await eventually(() => lines.some((line) => line.message === message), "it is logged");
    const reason = "it came after the sender's limit";
    expect(lines.at(-1)).toEqual({ message, fields: { source: "brief", entity: "late", reason } });
    const again = await send("brief/late", "late", "wait");
    expect([again.status, again.text]).toEqual([200, expect.stringContaining('"duplicate"')]);
  });

  it.each([
    ["large", "its body is over 65536 bytes"],
    ["status", "its status 503 is above 499"],
  ])("is dropped when it cannot be kept (%s)", async (mode, reason) => {
    expect((await send("call/odd", mode, mode)).text).toContain('"processed"');
    expect(lines.at(-1)?.fields).toMatchObject({ reason });
    expect((await send("call/odd", mode, mode)).text).toContain('"duplicate"');
  });

  it("does not count where nobody waits: in the queue, and in a later attempt", async () => {
    expect((await send("later/q", "q1")).status).toBe(202);
    await eventually(() => runs.includes("q1"), "the queue runs");
    expect((await send("call/fails", "f1", "fails")).status).toBe(202);
    await eventually(() => runs.filter((id) => id === "f1").length === 2, "it runs again");
    expect((await send("call/fails", "f1", "fails")).text).toContain('"duplicate"');
    expect((await send("later/q", "q1")).text).toContain('"duplicate"');
  });
});

it("is TwiML in the example of the documentation", async () => {
  for (const [id, n] of [
    ["CA1", 1],
    ["CA2", 2],
    ["CA1", 1],
  ] as const) {
    const text = `<Response><Say>You are caller ${n}</Say></Response>`;
    expect(await send("voice/acme", id)).toEqual({ status: 200, type: "text/xml", text });
  }
});

describe("a source's own answer", () => {
  it("is given to every accepted event, and to no other request", async () => {
    const answer = { status: 200, type: "text/xml", text: "<Response/>" };
    expect(await send("fixed/a", "1")).toEqual(answer);
    expect(await send("fixed/a", "1")).toEqual(answer);
    const unsigned = new Request("http://causey.test/webhooks/fixed/a", { method: "POST" });
    expect((await app.fetch(unsigned)).status).toBe(401);
  });

  it("stands back behind the handler's", async () => {
    expect(await send("both/b", "b1")).toEqual(said("b1"));
    expect(await send("both/b", "b2", "plain")).toEqual({ status: 204, type: null, text: "" });
  });

  it.each([
    [{ answerSeconds: 0 }, "answerSeconds"],
    [{ answerSeconds: 31 }, "answerSeconds"],
    [{ answer: { status: 500 } }, "answer.status"],
    [{ answer: { type: "text/xml\r\nx: y" } }, "answer.type"],
  ])("%j is refused at the start", (options, named) => {
    const sources = { wrong: { scheme: "generic", secret, ...options } };
    expect(() => webhooks({ platform, auth: "off", sources })).toThrow(named);
  });
});
