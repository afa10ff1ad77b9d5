import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { agents } from "../../../core/agents/mod.ts";
import type { ActorRef, Plain } from "../../../core/ports.ts";
import { watchedSockets } from "../../fakes/agents-refusals.ts";
import { agentsUnderTest, call, greeted, next } from "../../fakes/agents-counter.ts";

const { counter, ingest, platform, refOf, send, until } = agentsUnderTest();

describe("the webhook agent", () => {
  const feed = (name: string): ActorRef => refOf(name, "webhook-agent");

  it("has its newest event as state and tells its clients", async () => {
    const { socket, greeting } = await greeted(feed("live"));
    expect(greeting[1]).toEqual({
      type: "cf_agent_state",
      state: { eventCount: 0, lastEvent: null },
    });
    await ingest(feed("live"), "e1");
    expect(await next(socket)).toMatchObject({ state: { eventCount: 1, lastEvent: { id: "e1" } } });
    socket.close();
  });

  it("answers getEvents and getEventsByType with clamped limits, newest first", async () => {
    const ref = feed("many");
    for (let i = 1; i <= 25; i++) await ingest(ref, `e${i}`);
    const { socket } = await greeted(ref);
    const list = async (method: string, ...args: Plain[]): Promise<string[]> =>
      ((await call(socket, method, ...args))["result"] as { id: string }[]).map(({ id }) => id);
    expect((await list("getEvents")).length).toBe(20);
    expect(await list("getEvents", 2)).toEqual(["e25", "e24"]);
    expect(await list("getEvents", 0)).toEqual([]);
    expect(await list("getEvents", -1)).toEqual([]);
    expect((await list("getEvents", 1e9)).length).toBe(25);
    expect(await list("getEventsByType", "push", 1)).toEqual(["e25"]);
    expect(await list("getEventsByType", "other")).toEqual([]);
    expect(await call(socket, "getEvents", "5")).toMatchObject({
      success: false,
      error: "limit must be a number",
    });
    expect(await call(socket, "getEventsByType")).toMatchObject({
      success: false,
      error: "type must be a string",
    });
    socket.close();
  });

  it("replays to a subscriber from its position, then goes on live, each event once", async () => {
    const ref = feed("resume");
    for (let i = 1; i <= 3; i++) await ingest(ref, `e${i}`);
    const { socket } = await greeted(ref);
    socket.send(JSON.stringify({ type: "subscribe", since: 1 }));
    await Promise.all([4, 5, 6].map((i) => ingest(ref, `e${i}`)));
    const seqs: Plain[] = [];
    while (seqs.length < 5) {
      const frame = await next(socket);
      if (frame.type === "event") seqs.push(frame["seq"]);
    }
    expect(seqs).toEqual([2, 3, 4, 5, 6]);
    socket.close();
  });

  it("tells a subscriber whose position is gone to reset", async () => {
    const ref = feed("reset");
    const retention = { maxEvents: 2, maxAgeMs: null };
    for (let i = 1; i <= 5; i++) await ingest(ref, `e${i}`, { retention });
    const { socket } = await greeted(ref);
    socket.send(JSON.stringify({ type: "subscribe", since: 1 }));
    expect(await next(socket)).toEqual({ type: "reset", oldest: 4 });
    expect([(await next(socket))["seq"], (await next(socket))["seq"]]).toEqual([4, 5]);
    socket.close();
  });

  it("drops events by age from the alarm, with nothing else happening", async () => {
    const ref = feed("old");
    await ingest(ref, "e1", { retention: { maxEvents: null, maxAgeMs: 30 } });
    await until(async () => ((await ref.call("getEvents")) as unknown[]).length === 0);
    expect(await ingest(ref, "e2")).toMatchObject({ seq: 2 });
  });
});

describe("the routes", () => {
  it("pass requests to onRequest and refuse what no agent answers", async () => {
    const response = await send("/counter-agent/http/some/path", { method: "POST" });
    expect(await response.json()).toEqual({ name: "http", method: "POST", state: { count: 0 } });
    expect((await send("/webhook-agent/x")).status).toBe(404);
    expect((await send("/nobody/x")).status).toBe(404);
    expect((await send("/counter-agent/%ZZ")).status).toBe(400);
    expect((await send("/counter-agent")).status).toBe(404);
  });

  it("stream events with their seq as id and resume after Last-Event-ID", async () => {
    const ref = refOf("sse", "webhook-agent");
    for (let i = 1; i <= 3; i++) await ingest(ref, `e${i}`);
    const stop = new AbortController();
    const init = { headers: { "last-event-id": "1" }, signal: stop.signal };
    const response = await send("/webhook-agent/sse/events", init);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("id: 3\n")) text += (await reader.read()).value ?? "";
    await ingest(ref, "e4");
    while (!text.includes("id: 4\n")) text += (await reader.read()).value ?? "";
    expect(text.match(/^id: .*$/gm)).toEqual(["id: 2", "id: 3", "id: 4"]);
    stop.abort();
    await reader.cancel();
  });

  it("refuse WebSockets from pages of other origins, and no others", async () => {
    const upgrade = { upgrade: "websocket", connection: "upgrade" };
    const from = async (origin: Record<string, string>): Promise<string> => {
      const headers = { ...upgrade, ...origin };
      const seen: string[] = [];
      const actors = {
        define: () => undefined,
        get: (kind: string, name: string) => ({
          call: () => Promise.resolve(null),
          fetch() {
            seen.push(`${kind} ${name}`);
            return Promise.resolve(new Response());
          },
        }),
      };
      const webSockets = watchedSockets((code) => seen.push(`refused ${code}`));
      const watched = { ...platform(), actors, webSockets };
      const options = {
        platform: watched,
        auth: "off",
        agents: [counter],
        origins: ["https://app.test"],
      } as const;
      await agents(options).fetch(new Request("http://causey.test/counter-agent/x", { headers }));
      return seen.join();
    };
    expect(await from({ origin: "https://evil.test" })).toBe("refused 4003");
    expect(await from({ origin: "https://app.test" })).toBe("agent:counter-agent x");
    expect(await from({})).toBe("agent:counter-agent x");
  });

  it("ask for a token", async () => {
    const guarded = new Hono();
    guarded.route(
      "/agents",
      agents({ platform: platform(), agents: [counter], auth: () => Promise.resolve(null) }),
    );
    const response = await guarded.fetch(new Request("http://causey.test/agents/counter-agent/x"));
    expect(response.status).toBe(401);
  });
});
