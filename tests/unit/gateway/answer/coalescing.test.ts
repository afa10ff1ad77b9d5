import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { replyCache } from "../../../../core/gateway/cache/exact/reply-cache.ts";
import type { Leader } from "../../../../core/gateway/cache/exact/shared-call.ts";
import type { InboundResponse, System } from "../../../../core/ports.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply } from "../../../fakes/gateway-transport.ts";

const text = (chunk: Uint8Array | undefined): string => new TextDecoder().decode(chunk);

/** A stream that a test feeds; it tells how many chunks were asked for, and whether it was cancelled. */
function fedStream() {
  let control: ReadableStreamDefaultController<Uint8Array> | undefined;
  const fed = { pulls: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        control = controller;
      },
      pull() {
        fed.pulls++;
      },
      cancel() {
        fed.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    get pulls() {
      return fed.pulls;
    },
    get cancelled() {
      return fed.cancelled;
    },
    send: (chunk: string | Uint8Array) =>
      control?.enqueue(typeof chunk === "string" ? bytes(chunk) : chunk),
    end: () => control?.close(),
    fail: () => control?.error(new TransportError("broken", "cut off")),
  };
}

const never = new AbortController().signal;
/** Lets everything happen that only waits for promises. */
const settled = async (): Promise<void> => {
  for (let i = 0; i < 50; i++) await Promise.resolve();
};

describe("identical requests", () => {
  const head = { status: 200, headers: [] };
  const waited: Promise<unknown>[] = [];
  const system = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => new Promise(() => undefined),
    waitUntil: (work: Promise<unknown>) => void waited.push(work),
  } as Partial<System> as System;

  /** A cache with a leader whose answer has begun, and that many followers. */
  async function taking(followers: number, capacity: number = 1_000_000) {
    const cache = replyCache(system, capacity);
    const client = new AbortController();
    const found = await cache.lookup("k", 10, client.signal);
    if (!("leader" in found)) throw new TransportError("broken", "no leader");
    const { leader } = found;
    const waiting = Array.from({ length: followers }, () => cache.lookup("k", 10, never));
    const source = fedStream();
    const ends: string[] = [];
    const own = leader
      .share(head, source.body, { onChunk: () => undefined, onEnd: (end) => void ends.push(end) })
      .getReader();
    const landed = (await Promise.all(waiting)).map(
      (one) => ("follow" in one ? one.follow.body : null) as ReadableStream<Uint8Array>,
    );
    const followed = landed.map((body) => body.getReader());
    return { cache, client, leader, source, ends, own, followed };
  }

  it("brings every follower each chunk as it comes, whoever asks for it", async () => {
    const { source, own, followed, cache } = await taking(2);
    const [first, second] = followed;
    const reads = [first!.read(), second!.read()];
    await settled();
    source.send("one");
    expect((await Promise.all(reads)).map(({ value }) => text(value))).toEqual(["one", "one"]);
    // The leader has asked for nothing yet, and gets everything all the same.
    expect(text((await own.read()).value)).toBe("one");
    const late = await cache.lookup("k", 10, never);
    expect(Object.keys(late)).toEqual(["follow"]);
    const third = ("follow" in late ? late.follow.body : null) as ReadableStream<Uint8Array>;
    const all = new Response(third).text();
    await settled();
    source.send("two");
    await settled();
    source.end();
    expect(await all).toBe("onetwo");
    expect(text((await own.read()).value)).toBe("two");
    expect((await own.read()).done).toBe(true);
    const after = await cache.lookup("k", 10, never);
    expect("hit" in after && after.hit.chunks.map(text)).toEqual(["onetwo"]);
  });

  it("asks the provider for nothing that no reader waits for", async () => {
    const { source, own, followed } = await taking(1);
    await settled();
    expect(source.pulls).toBe(0);
    const read = own.read();
    await settled();
    source.send("one");
    await read;
    await settled();
    expect(source.pulls).toBe(1);
    await followed[0]!.read();
    expect(source.pulls).toBe(1);
  });

  it("goes on for the followers when the leader leaves, and for the leader when they leave", async () => {
    const { source, own, followed, client, leader, ends, cache } = await taking(2);
    client.abort();
    await own.cancel();
    await settled();
    expect([leader.signal.aborted, source.cancelled]).toEqual([false, false]);
    await followed[0]!.cancel();
    const read = followed[1]!.read();
    await settled();
    source.send("one");
    expect(text((await read).value)).toBe("one");
    const end = followed[1]!.read();
    await settled();
    source.end();
    expect((await end).done).toBe(true);
    expect(ends).toEqual(["complete"]);
    expect(waited.length).toBeGreaterThan(0);
    expect("hit" in (await cache.lookup("k", 10, never))).toBe(true);
  });

  it("ends with the last one, whoever that is", async () => {
    const { source, own, followed, client, leader, ends, cache } = await taking(1);
    await own.cancel();
    client.abort();
    const pending = followed[0]!.read();
    await settled();
    await followed[0]!.cancel();
    await settled();
    expect([leader.signal.aborted, source.cancelled, ends]).toEqual([true, true, ["aborted"]]);
    expect((await pending).done).toBe(true);
    expect("leader" in (await cache.lookup("k", 10, never))).toBe(true);
  });

  it("keeps the call when the leader leaves before the answer, and ends it with the last who waits", async () => {
    const cache = replyCache(system, 10_000);
    const client = new AbortController();
    const found = await cache.lookup("k", 10, client.signal);
    const { signal } = (found as { leader: Leader }).leader;
    const other = new AbortController();
    const waiting = cache.lookup("k", 10, other.signal);
    client.abort();
    await settled();
    expect(signal.aborted).toBe(false);
    other.abort();
    await expect(waiting).rejects.toThrow();
    await settled();
    expect(signal.aborted).toBe(true);
  });

  it("breaks for everybody, after what came, when the provider breaks off", async () => {
    const { source, own, followed, ends, cache } = await taking(1);
    const read = own.read();
    await settled();
    source.send("one");
    await read;
    source.fail();
    await expect(own.read()).rejects.toThrow("cut off");
    expect(text((await followed[0]!.read()).value)).toBe("one");
    await expect(followed[0]!.read()).rejects.toThrow("cut off");
    expect(ends).toEqual(["broken"]);
    expect("leader" in (await cache.lookup("k", 10, never))).toBe(true);
  });

  it("past its limit lets nobody join, breaks off who lags, and waits for the leader", async () => {
    // Room for four chunks of 1000 bytes and their overhead.
    const { source, own, followed, cache } = await taking(2, 4 * 1064 + 1024);
    const [quick, slow] = followed;
    const block = new Uint8Array(1000);
    for (let i = 0; i < 5; i++) {
      const read = quick!.read();
      await settled();
      source.send(block);
      await read;
    }
    // `slow` has taken nothing and is now behind by five; so is the leader, which nobody breaks off.
    await expect(slow!.read()).rejects.toThrow("too slowly");
    expect("leader" in (await cache.lookup("k", 10, never))).toBe(true);
    const { pulls } = source;
    const ahead = quick!.read();
    await settled();
    expect(source.pulls).toBe(pulls);
    for (let i = 0; i < 5; i++) expect((await own.read()).value?.length).toBe(1000);
    await settled();
    source.send("last");
    expect(text((await ahead).value)).toBe("last");
    expect(text((await own.read()).value)).toBe("last");
    const ends = [own.read(), quick!.read()];
    await settled();
    source.end();
    expect((await Promise.all(ends)).map(({ done }) => done)).toEqual([true, true]);
  });

  it("shares nothing that says itself to be too long", async () => {
    const cache = replyCache(system, 10_000);
    const found = await cache.lookup("k", 10, never);
    const { leader } = found as { leader: Leader };
    const waiting = cache.lookup("k", 10, never);
    const long = { status: 200, headers: [["content-length", "20000"]] as const };
    const source = fedStream();
    leader.share(long, source.body, { onChunk: () => undefined, onEnd: () => undefined });
    expect("leader" in (await waiting)).toBe(true);
  });
});

describe("identical requests to a streaming provider", () => {
  let gate: GatewayUnderTest;
  let serial = 0;
  beforeAll(async () => {
    gate = await gatewayUnderTest();
  });
  afterAll(() => gate.close());
  beforeEach(() => {
    gate.transport.requests.length = 0;
  });

  const TTL = { "cf-aig-cache-ttl": "60" };
  const fresh = () => ({ ...chat, user: `coalescing-${serial++}` });
  const stream = (body: ReadableStream<Uint8Array>): InboundResponse => ({
    status: 200,
    headers: [["content-type", "text/event-stream"]],
    body,
  });
  const usage = 'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\n';

  it("ask once, follow each other live, and leave a row each", async () => {
    const source = fedStream();
    gate.transport.behave = () => stream(source.body);
    const body = fresh();
    const event = `coalescing-event-${serial++}`;
    const init = () => jsonInit(body, { ...TTL, "cf-aig-event-id": event });
    const [leader, follower] = await Promise.all([
      gate.send("open/openai/x", init()),
      gate.send("open/openai/x", init()),
    ]);
    const status = (one: Response) => one.headers.get("cf-aig-cache-status");
    expect([status(leader), status(follower)]).toEqual(["MISS", "HIT"]);
    const reader = follower.body!.getReader();
    const first = reader.read();
    await gate.platform.system.sleep(1);
    source.send("data: 1\n\n");
    expect(text((await first).value)).toBe("data: 1\n\n");
    const rest = leader.text();
    const end = (async () => {
      let out = "";
      for (let next = await reader.read(); !next.done; next = await reader.read())
        out += text(next.value);
      return out;
    })();
    source.send(usage);
    source.end();
    expect([await rest, await end]).toEqual([`data: 1\n\n${usage}`, usage]);
    expect(gate.transport.requests.length).toBe(1);
    const rows = await gate.rowsOf("open", event, 2);
    const told = rows.map(({ cached, success, tokens_in }) => ({ cached, success, tokens_in }));
    expect(told).toHaveLength(2);
    for (const cached of [false, true]) {
      expect(told).toContainEqual({ cached, success: true, tokens_in: 5 });
    }
  });

  it("wait for the leader's answer no longer than for one of their own", async () => {
    const answer = Promise.withResolvers<InboundResponse>();
    gate.transport.behave = (_, index) =>
      index === 0 ? answer.promise : jsonReply({ answer: index });
    const body = fresh();
    const led = gate.send("open/openai/x", jsonInit(body, TTL));
    while (gate.transport.requests.length === 0) await gate.platform.system.sleep(1);
    const event = `coalescing-event-${serial++}`;
    const hurried = { ...TTL, "cf-aig-request-timeout": "20", "cf-aig-event-id": event };
    const step = (provider: string) => ({ provider, endpoint: "x", query: body });
    const fallback = await gate.send("open", jsonInit([step("openai"), step("groq")], hurried));
    expect([fallback.status, fallback.headers.get("cf-aig-step")]).toEqual([200, "1"]);
    const rows = await gate.rowsOf("open", event, 2);
    expect(new Set(rows.map(({ step: index, success }) => [index, success].join()))).toEqual(
      new Set(["0,false", "1,true"]),
    );
    const retried = await gate.send(
      "open/openai/x",
      jsonInit(body, { ...hurried, "cf-aig-max-attempts": "2" }),
    );
    expect([retried.headers.get("cf-aig-cache-status"), await retried.json()]).toEqual([
      "MISS",
      { answer: 2 },
    ]);
    expect((await gate.send("open/openai/x", jsonInit(body, hurried))).status).toBe(502);
    const patient = gate.send("open/openai/x", jsonInit(body, TTL));
    answer.resolve(jsonReply({ answer: 0 }));
    expect([await (await patient).json(), await (await led).json()]).toEqual([
      { answer: 0 },
      { answer: 0 },
    ]);
  });

  it("a leader whose client leaves keeps the followers' answer going; its row is no success", async () => {
    const source = fedStream();
    gate.transport.behave = () => stream(source.body);
    const body = fresh();
    const client = new AbortController();
    const event = `coalescing-event-${serial++}`;
    const leader = await gate.send("open/openai/x", {
      ...jsonInit(body, { ...TTL, "cf-aig-event-id": event }),
      signal: client.signal,
    });
    const follower = await gate.send("open/openai/x", jsonInit(body, TTL));
    client.abort();
    await expect(leader.text()).rejects.toThrow();
    const answer = follower.text();
    await gate.platform.system.sleep(1);
    source.send(usage);
    source.end();
    expect(await answer).toBe(usage);
    expect(source.cancelled).toBe(false);
    const again = await gate.send("open/openai/x", jsonInit(body, TTL));
    expect([again.headers.get("cf-aig-cache-status"), await again.text()]).toEqual(["HIT", usage]);
    const [row] = await gate.rowsOf("open", event, 1);
    expect(row).toMatchObject({ success: false, cached: false, tokens_in: 5, tokens_out: 2 });
  });
});
