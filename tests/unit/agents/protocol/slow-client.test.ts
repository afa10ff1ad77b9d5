import { describe, expect, it } from "vitest";
import { startLive } from "../../../../core/agents/feed/live.ts";
import { startStateFrames } from "../../../../core/agents/state/state-frames.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import type { SqlRow } from "../../../../core/ports.ts";
import { fakeClient, fakeContext, settled } from "../../../fakes/agents-crowd.ts";

const KIB = 1024;

describe("state frames", () => {
  it("of 16 ms are one, the newest, and spare the connection that set it", async () => {
    const [one, two] = [fakeClient("one"), fakeClient("two")];
    const { context, advance } = fakeContext([one, two]);
    let state = 0;
    const frames = startStateFrames(context, () => state);
    for (state = 1; state < 50; state++) frames.announce("one");
    await advance(15);
    expect(two.frames).toEqual([]);
    await advance(1);
    expect([one.frames.length, two.frames]).toEqual([0, [{ type: "cf_agent_state", state: 50 }]]);
  });

  it("pass a client that does not read, which gets the newest once it does; the others notice nothing", async () => {
    const [slow, fast] = [fakeClient("slow"), fakeClient("fast")];
    const { context, advance } = fakeContext([slow, fast]);
    let state = 0;
    const frames = startStateFrames(context, () => state);
    slow.reads = false;
    slow.buffered = 300 * KIB;
    for (state = 1; state <= 100; state++) {
      frames.announce(undefined);
      await advance(16);
    }
    expect([slow.frames.length, slow.peak, fast.frames.length]).toEqual([0, 0, 100]);
    slow.buffered = 0;
    state = 101;
    await advance(100);
    expect(slow.frames).toEqual([{ type: "cf_agent_state", state: 101 }]);
    await advance(1000);
    expect(slow.frames).toHaveLength(1);
  });

  it("are waited for 30 s; then the client is closed with 1013, to come back", async () => {
    const slow = fakeClient("slow");
    const { context, advance } = fakeContext([slow]);
    const frames = startStateFrames(context, () => 1);
    slow.buffered = 300 * KIB;
    frames.announce(undefined);
    await advance(16);
    for (let second = 0; second < 29; second++) await advance(1000);
    expect(slow.closedWith).toBeUndefined();
    for (let second = 0; second < 3; second++) await advance(1000);
    expect(slow.closedWith).toBe(1013);
  });
});

const SIZE = 10 * KIB;
const event = (seq: number): EventRecord => ({
  id: `e${seq}`,
  type: "push",
  action: null,
  title: "",
  description: null,
  url: null,
  actor: null,
  payload: "x".repeat(SIZE),
  timestamp: "2026-01-01T00:00:00.000Z",
});

/** A table of `count` events, as the feed asks for them. */
function table(count: () => number): (sql: string, params: readonly unknown[]) => SqlRow[] {
  return (sql, params) => {
    if (sql.includes("last_seq")) return [{ last: count(), oldest: count() === 0 ? null : 1 }];
    const [, since, limit] = params.map(Number);
    const rows: SqlRow[] = [];
    for (let seq = (since ?? 0) + 1; seq <= count() && rows.length < (limit ?? 0); seq++)
      rows.push({ seq, ...event(seq) });
    return rows;
  };
}

describe("a replay", () => {
  it("waits for its client: what is unsent stays far below the budget, and no event is lost", async () => {
    const client = fakeClient("slow");
    client.reads = false;
    let count = 500;
    const { context, advance } = fakeContext(
      [client],
      table(() => count),
    );
    const live = await startLive(context, "a", () => false);
    live.subscribe(client, 0);
    await settled();
    const sent = (): number => client.frames.length;
    expect(sent()).toBeLessThan(40);
    // Stored while the replay is under way: the table hands it on.
    count += 1;
    live.publish(count, event(count));
    while (sent() < count) {
      const before = sent();
      client.buffered = 0;
      await advance(10);
      expect(sent()).toBeGreaterThan(before);
    }
    expect(client.frames.map((frame) => frame["seq"])).toEqual(
      Array.from({ length: count }, (_, index) => index + 1),
    );
    expect(client.peak).toBeLessThan(512 * KIB);
    await settled();
    client.buffered = 0;
    await advance(10);
    count += 1;
    live.publish(count, event(count));
    expect(client.frames.at(-1)?.["seq"]).toBe(count);
  });

  it("gives a client up that does not read for 30 s, with 1013", async () => {
    const client = fakeClient("stuck");
    client.reads = false;
    const { context, advance } = fakeContext(
      [client],
      table(() => 500),
    );
    const live = await startLive(context, "a", () => false);
    live.subscribe(client, 0);
    await settled();
    for (let second = 0; second < 29; second++) await advance(1000);
    expect(client.closedWith).toBeUndefined();
    for (let second = 0; second < 3; second++) await advance(1000);
    expect(client.closedWith).toBe(1013);
  });

  it("sets right what was told in another order than it was stored in", async () => {
    const client = fakeClient("one");
    let count = 0;
    const { context } = fakeContext(
      [client],
      table(() => count),
    );
    const live = await startLive(context, "a", () => false);
    live.subscribe(client, 0);
    await settled();
    count = 3;
    for (const seq of [2, 3, 1]) live.publish(seq, event(seq));
    await settled();
    await settled();
    expect(client.frames.map((frame) => frame["seq"])).toEqual([1, 2, 3]);
  });
});
