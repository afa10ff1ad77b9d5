import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, evict, openPlatform } from "#platform";
import { agents, defineAgent, NonRetryableError } from "../../../../core/agents/mod.ts";
import type { IncomingEvent } from "../../../../core/entity/event.ts";
import type { ActorRef, Plain, Platform } from "../../../../core/ports.ts";

const picky = defineAgent({
  name: "picky",
  onEvent(_agent, event) {
    if (event.id === "bad") throw new NonRetryableError("not this one");
  },
});

let platform: Platform;
let app: Hono;
beforeAll(async () => {
  platform = await openPlatform();
  app = new Hono();
  app.route("/agents", agents({ platform, auth: "off", agents: [picky] }));
});
afterAll(() => platform.close());

const feed = (name: string): ActorRef => platform.actors.get("agent:webhook-agent", name);

function incoming(id: string, extra: Partial<IncomingEvent> = {}): IncomingEvent {
  const record = {
    id,
    type: "push",
    action: null,
    title: id,
    description: null,
    url: null,
    actor: null,
    payload: "{}",
    timestamp: new Date(platform.system.now()).toISOString(),
  };
  return {
    record,
    provider: "test",
    headers: "{}",
    bodyHash: null,
    bodyWindowMs: 0,
    canonical: null,
    owners: ["test"],
    claim: "free",
    respond: "queued",
    retention: { maxEvents: null, maxAgeMs: null },
    ...extra,
  };
}

/** Stores `count` events in bursts of up to nine at once, each of them sent twice. */
async function storm(ref: ActorRef, count: number): Promise<void> {
  for (let stored = 0; stored < count;) {
    const burst = Math.min(count - stored, 1 + ((stored * 7) % 9));
    const ids = Array.from({ length: burst }, (_, index) => `e${stored + index}`);
    await Promise.all([...ids, ...ids].map((id) => ref.call("ingest", incoming(id))));
    stored += burst;
    if (stored % 3 === 0) await platform.system.sleep(1);
  }
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
type Frame = { readonly type: string; readonly [key: string]: Plain };

/** Follows by WebSocket and comes back after so many events, again and again, until it has them all. */
async function follow(ref: ActorRef, count: number, patience: number): Promise<number[]> {
  const seen: number[] = [];
  while (seen.length < count) {
    const socket = await connect(ref);
    socket.send(JSON.stringify({ type: "subscribe", since: seen.at(-1) ?? 0 }));
    for (let taken = 0; taken < patience && seen.length < count;) {
      const frame = JSON.parse(String(await socket.next())) as Frame;
      if (frame.type !== "event") continue;
      seen.push(Number(frame["seq"]));
      taken += 1;
    }
    socket.close();
    await socket.closed;
  }
  return seen;
}

/** The same by server-sent events and Last-Event-ID. */
async function stream(name: string, count: number, patience: number): Promise<number[]> {
  const seen: number[] = [];
  while (seen.length < count) {
    const stop = new AbortController();
    const headers = { "last-event-id": String(seen.at(-1) ?? 0) };
    const url = `http://causey.test/agents/webhook-agent/${name}/events`;
    const response = await app.fetch(new Request(url, { headers, signal: stop.signal }));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let taken = 0; taken < patience && seen.length < count;) {
      text += (await reader.read()).value ?? "";
      const whole = text.split("\n\n");
      text = whole.pop() ?? "";
      for (const event of whole) {
        const id = /^id: (\d+)\ndata: /.exec(event)?.[1];
        if (id === undefined || taken >= patience) continue;
        seen.push(Number(id));
        taken += 1;
      }
    }
    stop.abort();
    await reader.cancel();
  }
  return seen;
}

describe("following while events come in", () => {
  it("goes on after the instance was evicted, with what is stored next", async () => {
    const ref = feed("evicted");
    await storm(ref, 3);
    const socket = await connect(ref);
    socket.send(JSON.stringify({ type: "subscribe", since: 0 }));
    const seen: number[] = [];
    const read = async (count: number): Promise<void> => {
      while (seen.length < count) {
        const frame = JSON.parse(String(await socket.next())) as Frame;
        if (frame.type === "event") seen.push(Number(frame["seq"]));
      }
    };
    await read(3);
    await evict();
    await ref.call("ingest", incoming("next"));
    await read(4);
    expect(seen).toEqual([1, 2, 3, 4]);
    socket.close();
  });

  it("is told to reset wherever events are gone, also between two that are kept", async () => {
    const ref = platform.actors.get("agent:picky", "holes");
    await ref.call("ingest", incoming("bad"));
    while (((await ref.call("deadLetters", 1)) as unknown[]).length === 0)
      await platform.system.sleep(5);
    const retention = { maxEvents: 2, maxAgeMs: null };
    for (let i = 2; i <= 6; i++) {
      const receipt = (await ref.call("ingest", incoming(`e${i}`, { retention }))) as {
        job: string;
      };
      await ref.call("process", receipt.job);
    }
    await ref.call("ingest", incoming("e7", { retention }));
    // The first is a dead letter and stays; of the others only the newest are left.
    const socket = await connect(ref);
    for (let i = 0; i < 2; i++) await socket.next();
    socket.send(JSON.stringify({ type: "subscribe", since: 0 }));
    const frames: Plain[] = [];
    while (frames.at(-1) !== 7) {
      const frame = JSON.parse(String(await socket.next())) as Frame;
      frames.push(frame.type === "reset" ? `reset ${Number(frame["oldest"])}` : frame["seq"]);
    }
    const [first, reset, ...rest] = frames;
    expect(first).toBe(1);
    expect(reset).toMatch(/^reset [4-6]$/);
    const oldest = Number((reset as string).slice(6));
    expect(rest).toEqual(range(7).filter((seq) => seq >= oldest));
    socket.close();
  });

  it("by server-sent events starts with an id, so that even its first event can be resumed", async () => {
    await storm(feed("first"), 2);
    const url = "http://causey.test/agents/webhook-agent/first/events";
    const stop = new AbortController();
    const response = await app.fetch(new Request(url, { signal: stop.signal }));
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("id: ")) text += (await reader.read()).value ?? "";
    expect(text).toBe("retry: 3000\n\nid: 2\n\n");
    stop.abort();
    await reader.cancel();
  });

  it("misses and repeats nothing, however often the client comes back", async () => {
    const count = 300;
    const ref = feed("storm");
    const followers = [1, 7, 40, 1000].map((patience) => follow(ref, count, patience * 5));
    const streams = [17, 1000].map((patience) => stream("storm", count, patience));
    await storm(ref, count);
    for (const seen of await Promise.all([...followers, ...streams])) {
      expect(seen).toEqual(range(count));
    }
  });
});
