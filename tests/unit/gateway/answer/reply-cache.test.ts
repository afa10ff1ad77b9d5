import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ReplyCache, replyCache } from "../../../../core/gateway/cache/exact/reply-cache.ts";
import type { System } from "../../../../core/ports.ts";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;

beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  gate.transport.behave = (_, index) => jsonReply({ answer: index });
});

describe("replyCache()", () => {
  const clock = { now: 0 };
  const system = {
    now: () => clock.now,
    monotonic: () => clock.now,
    sleep: () => new Promise<void>(() => undefined),
    waitUntil: () => undefined,
  } as Partial<System> as System;
  const { signal } = new AbortController();
  const head = { status: 200, headers: [] };
  const put = async (cache: ReplyCache, key: string, size: number) => {
    const found = await cache.lookup(key, 10, signal);
    if ("leader" in found) found.leader.keep(head, new Uint8Array(size));
  };
  const has = async (cache: ReplyCache, key: string) => {
    const found = await cache.lookup(key, 10, signal);
    if ("leader" in found) found.leader.nothing();
    return "hit" in found;
  };

  it("drops the least recently used answers when its bytes run out", async () => {
    const cache = replyCache(system, 10_000);
    await put(cache, "a", 3000);
    await put(cache, "b", 3000);
    // Within a second an entry keeps its place.
    clock.now += 1000;
    expect(await has(cache, "a")).toBe(true);
    await put(cache, "c", 3000);
    expect([await has(cache, "a"), await has(cache, "b"), await has(cache, "c")]).toEqual([
      true,
      false,
      true,
    ]);
    expect(cache.bytes).toBeLessThanOrEqual(10_000);
    await put(cache, "huge", 20_000);
    expect(await has(cache, "huge")).toBe(false);
  });

  // Not `bytes()`: servers in this process may have put a `Response` of their own in place, which has none.
  const bytesOf = async (body: BodyInit): Promise<Uint8Array> =>
    new Uint8Array(await new Response(body).arrayBuffer());

  it("keeps a stream of many small chunks in few pieces", async () => {
    const cache = replyCache(system, 1_000_000);
    const share = async (key: string, chunks: readonly Uint8Array<ArrayBuffer>[]) => {
      const found = await cache.lookup(key, 10, signal);
      if (!("leader" in found)) throw new Error("Nobody else asks");
      const watch = { onChunk: () => undefined, onEnd: () => undefined };
      const source = new ReadableStream<Uint8Array>({
        start(controller) {
          for (const chunk of chunks) controller.enqueue(chunk);
          controller.close();
        },
      });
      const all = await bytesOf(found.leader.share(head, source, watch));
      const { chunks: kept = [], streamed } = cache.kept(key) ?? {};
      expect(streamed).toBe(true);
      expect(await bytesOf(new Blob(kept as Uint8Array<ArrayBuffer>[]))).toEqual(all);
      return kept.map(({ length }) => length);
    };
    const tiny = Array.from({ length: 100 }, (_, at) => new Uint8Array([at]));
    expect(await share("tiny", tiny)).toEqual([100]);
    expect(cache.bytes).toBeLessThan(2000);
    const sizes = [40_000, 40_000, 100, 100_000, 1, 2].map((size) => new Uint8Array(size).fill(7));
    expect(await share("large", sizes)).toEqual([65_536, 65_536, 49_031]);
  });

  it("keeps the others when an answer is too large with its head", async () => {
    const cache = replyCache(system, 10_000);
    await put(cache, "a", 1000);
    const found = await cache.lookup("large", 10, signal);
    const headers: [string, string][] = [["x-large", "x".repeat(2000)]];
    if ("leader" in found) found.leader.keep({ status: 200, headers }, new Uint8Array(8500));
    expect([await has(cache, "a"), await has(cache, "large")]).toEqual([true, false]);
  });

  it("forgets an answer when its time is over", async () => {
    const cache = replyCache(system, 10_000);
    await put(cache, "a", 10);
    clock.now += 9999;
    expect(await has(cache, "a")).toBe(true);
    clock.now += 1;
    expect(await has(cache, "a")).toBe(false);
    expect(cache.bytes).toBe(0);
  });

  it("lets a waiting request lead when the leader brought nothing, and the others go their own way", async () => {
    const cache = replyCache(system, 10_000);
    const first = await cache.lookup("k", 10, signal);
    const others = [1, 2, 3].map(() => cache.lookup("k", 10, signal));
    if ("leader" in first) first.leader.nothing();
    const found = await Promise.all(others);
    expect(found.map((one) => Object.keys(one))).toEqual([["leader"], ["alone"], ["alone"]]);
  });

  it("lets a waiting request go when it aborts", async () => {
    const cache = replyCache(system, 10_000);
    await cache.lookup("k", 10, signal);
    const control = new AbortController();
    const waiting = cache.lookup("k", 10, control.signal);
    control.abort(new DOMException("gone", "AbortError"));
    await expect(waiting).rejects.toThrow("gone");
  });
});
