import { openPlatform } from "#platform";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CachedReply } from "../../../../core/gateway/wire/cached-reply.ts";
import { initialSettings } from "../../../../core/gateway/account/settings/settings.ts";
import type {
  ReplyShelfMethods,
  SealedReply,
} from "../../../../core/gateway/cache/exact/reply-shelf.ts";
import {
  type GatewayStore,
  gatewayStore,
} from "../../../../core/gateway/account/gateways/store.ts";
import {
  packedReply,
  type TimedReply,
  unpackedReply,
} from "../../../../core/gateway/cache/exact/packed-reply.ts";
import {
  type StoredReplies,
  storedReplies,
} from "../../../../core/gateway/cache/exact/stored-replies.ts";
import type { Platform, System } from "../../../../core/ports.ts";

let platform: Platform;
let store: GatewayStore;
let serial = 0;

beforeAll(async () => {
  platform = await openPlatform();
  store = gatewayStore({ platform, gateways: {} });
});
afterAll(() => platform.close());

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const reply = (text: string): CachedReply => ({
  status: 200,
  headers: [
    ["content-type", "application/json"],
    ["x-twice", "1"],
    ["x-twice", "2"],
  ],
  chunks: [bytes(text)],
  streamed: false,
});
const unpacked = (kept: TimedReply | null) => kept && unpackedReply(kept.packed);
/** Of a client that stays. */
const never = new AbortController().signal;
const soon = (): number => platform.system.now() + 60_000;

/** A store whose gateways all have this shelf. */
const shelfOf = (shelf: ReplyShelfMethods) => ({ at: () => shelf });

describe("stored replies", () => {
  const name = { account: "acme", gateway: "stored" };
  const works: Promise<unknown>[] = [];
  let replies: StoredReplies;

  beforeAll(async () => {
    await store.create("acme", initialSettings("stored", 1, false));
    const { log } = platform;
    const system: System = { ...platform.system, waitUntil: (work) => void works.push(work) };
    replies = storedReplies({ store, system, log, capacity: 8 * 1024 * 1024 });
  });
  const keep = async (key: string, given: CachedReply, expiresAt = soon()): Promise<void> => {
    replies.keep(name, key, { packed: packedReply(given), expiresAt });
    await Promise.all(works.splice(0));
  };

  it("gives back what was kept: status, headers in order, and the bytes of a stream", async () => {
    const chunks = ["data: ä\n\n", "", "data: [DONE]\n\n"].map(bytes);
    const stream = { ...reply(""), status: 203, chunks, streamed: true };
    const whole = [bytes("data: ä\n\ndata: [DONE]\n\n")];
    const until = soon();
    await keep("a", stream, until);
    const found = await replies.find(name, "a", never);
    expect(found?.expiresAt).toBe(until);
    expect(unpacked(found)).toEqual({ ...stream, chunks: whole });
    await keep("none", { ...reply(""), chunks: [] });
    expect(unpacked(await replies.find(name, "none", never))?.chunks).toEqual([]);
  });

  it("finds nothing under another key or gateway, or when the time is over", async () => {
    await keep("b", reply("b"));
    await keep("late", reply("late"), platform.system.now() - 1);
    expect(await replies.find(name, "other", never)).toBeNull();
    expect(await replies.find({ ...name, gateway: "else" }, "b", never)).toBeNull();
    expect(await replies.find(name, "late", never)).toBeNull();
  });

  it("replaces an answer by a newer one", async () => {
    await keep("c", reply("old"));
    await keep("c", reply("new"));
    expect(unpacked(await replies.find(name, "c", never))).toEqual(reply("new"));
  });

  it("leaves out what is longer than 1 MiB", async () => {
    await keep("long", reply("x".repeat(1024 * 1024 + 1)));
    expect(await replies.find(name, "long", never)).toBeNull();
    const edge = reply("x".repeat(1024 * 1024 - 200));
    await keep("edge", edge);
    expect(unpacked(await replies.find(name, "edge", never))).toEqual(edge);
  });

  it("hands the database neither text nor key, and opens nothing that was tampered with", async () => {
    const seen: { id: string; sealed: Uint8Array }[] = [];
    const spied = storedReplies({
      store: shelfOf({
        findReply: async (id) => ({ id, sealed: seen[0]!.sealed, expiresAt: soon() }),
        async keepReplies(rows) {
          for (const { id, sealed } of rows) seen.push({ id, sealed: new Uint8Array(sealed) });
        },
      }),
      system: { ...platform.system, waitUntil: (work) => void works.push(work) },
      log: platform.log,
      capacity: 1,
    });
    spied.keep(name, "0123456789abcdef", {
      packed: packedReply(reply("a secret answer")),
      expiresAt: soon(),
    });
    await Promise.all(works.splice(0));
    const [row] = seen;
    const text = new TextDecoder("latin1").decode(row!.sealed);
    for (const known of ["secret", "x-twice", "0123456789abcdef"]) {
      expect(`${row!.id} ${text}`).not.toContain(known);
    }
    expect(unpacked(await spied.find(name, "0123456789abcdef", never))).toEqual(
      reply("a secret answer"),
    );
    expect(await spied.find(name, "another key", never)).toBeNull();
    row!.sealed[20]! ^= 1;
    expect(await spied.find(name, "0123456789abcdef", never)).toBeNull();
  });

  it("makes misses of a database that fails, and warns once a minute", async () => {
    const warnings: string[] = [];
    const broken = storedReplies({
      store: shelfOf({
        findReply: () => Promise.reject(new Error("down")),
        keepReplies: () => Promise.reject(new Error("down")),
      }),
      system: { ...platform.system, waitUntil: (work) => void works.push(work) },
      log: (level, message) => void warnings.push(`${level} ${message}`),
      capacity: 1,
    });
    broken.keep(name, "k", { packed: packedReply(reply("x")), expiresAt: soon() });
    await Promise.all(works.splice(0));
    expect(await broken.find(name, "k", never)).toBeNull();
    expect(warnings).toEqual(["warn The stored cache of a gateway does not answer"]);
  });

  it("reads an answer once for all who ask for it at the same time", async () => {
    const seen: string[] = [];
    const { promise: gate, resolve: open } = Promise.withResolvers<null>();
    const counted = storedReplies({
      store: shelfOf({
        findReply: (id) => (seen.push(id), gate),
        keepReplies: () => Promise.resolve(),
      }),
      system: platform.system,
      log: platform.log,
      capacity: 1,
    });
    const asked = ["a", "a", "b", "a"].map((key) => counted.find(name, key, never));
    open(null);
    expect(await Promise.all(asked)).toEqual([null, null, null, null]);
    expect(seen.length).toBe(2);
    await counted.find(name, "a", never);
    expect(seen.length).toBe(3);
  });

  it("waits for a database neither without end nor for a client that left", async () => {
    const warnings: string[] = [];
    const client = new AbortController();
    let reads = 0;
    let late = false;
    const { system } = platform;
    const standing = storedReplies({
      store: shelfOf({
        findReply() {
          reads++;
          return new Promise(() => undefined);
        },
        keepReplies: () => Promise.resolve(),
      }),
      system: {
        ...system,
        sleep: (ms, signal) => system.sleep(late ? 1 : ms, signal),
      },
      log: (level, message) => void warnings.push(`${level} ${message}`),
      capacity: 1,
    });
    const left = standing.find(name, "k", client.signal);
    client.abort();
    expect(await left).toBeNull();
    expect(warnings).toEqual([]);
    late = true;
    expect(await standing.find(name, "k", never)).toBeNull();
    expect(warnings).toEqual(["warn The stored cache of a gateway does not answer"]);
    // What came too late is not waited for again.
    expect(reads).toBe(1);
    expect(await standing.find(name, "k", never)).toBeNull();
    expect(reads).toBe(2);
  });

  it("lets only so many bytes wait for a slow database", async () => {
    let stored = 0;
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const slow = storedReplies({
      store: shelfOf({
        findReply: async () => null,
        async keepReplies() {
          stored++;
          await gate;
        },
      }),
      system: { ...platform.system, waitUntil: (work) => void works.push(work) },
      log: platform.log,
      capacity: 1,
    });
    const big = reply("x".repeat(1_000_000));
    const keepMany = (): void => {
      for (let index = 0; index < 50; index++)
        slow.keep(name, `k${index}`, { packed: packedReply(big), expiresAt: soon() });
    };
    keepMany();
    open();
    await Promise.all(works.splice(0));
    expect(stored).toBe(33);
    // There is room again.
    keepMany();
    await Promise.all(works.splice(0));
    expect(stored).toBe(66);
  });

  it("seals each answer of a moment under a nonce of its own", async () => {
    const stored: SealedReply[] = [];
    const shelf = shelfOf({
      findReply: () => Promise.resolve(null),
      keepReplies: (sealed) => Promise.resolve(void stored.push(...sealed)),
    });
    const { log } = platform;
    const system: System = { ...platform.system, waitUntil: (work) => void works.push(work) };
    const own = storedReplies({ store: shelf, system, log, capacity: 8 * 1024 * 1024 });
    for (const text of ["one", "two", "one"])
      own.keep(name, "same", { packed: packedReply(reply(text)), expiresAt: soon() });
    await Promise.all(works.splice(0));
    const nonces = stored.map(({ sealed }) => [...sealed.subarray(0, 12)].join());
    expect([stored.length, new Set(nonces).size]).toEqual([3, 3]);
  });

  it("stores the answers of a moment together, those of each gateway apart", async () => {
    const calls: string[] = [];
    const together = storedReplies({
      store: {
        at: ({ gateway }) => ({
          findReply: async () => null,
          async keepReplies(rows) {
            calls.push(`${gateway} ${rows.length}`);
            if (gateway === "down") throw new Error("down");
          },
        }),
      },
      system: { ...platform.system, waitUntil: (work) => void works.push(work) },
      log: () => undefined,
      capacity: 1,
    });
    const kept = { packed: packedReply(reply("x")), expiresAt: soon() };
    for (const gateway of ["down", "one", "two"])
      for (const key of ["a", "b", "c"]) together.keep({ ...name, gateway }, key, kept);
    for (let index = 0; index < 70; index++) together.keep(name, `k${index}`, kept);
    await Promise.all(works.splice(0));
    expect(calls).toEqual(["down 3", "one 3", "two 3", "stored 64", "stored 6"]);
  });
});

describe("a gateway's shelf of replies", () => {
  let gateway: string;
  const sealed = (length: number) => ({ sealed: new Uint8Array(length), expiresAt: soon() });
  const at = () => ({ account: "acme", gateway });
  type Row = Pick<SealedReply, "sealed" | "expiresAt">;
  const keepAs = (id: string, row: Row, capacity: number) =>
    store.at(at()).keepReplies([{ id, ...row }], capacity);
  const has = async (...ids: string[]) =>
    Promise.all(ids.map(async (id) => (await store.at(at()).findReply(id)) !== null));
  /** Bytes of a row: its own and what it costs beside. */
  const ROW = 1000 + 512;

  beforeEach(async () => {
    gateway = `shelf-${serial++}`;
    await store.create("acme", {
      ...initialSettings(gateway, 1, false),
      cache_invalidate_on_update: false,
    });
  });

  it("lets those go first that were kept first, when its bytes run out", async () => {
    for (const id of ["a", "b", "c", "d"]) {
      await keepAs(id, sealed(1000), 3 * ROW);
      await platform.system.sleep(3);
    }
    expect(await has("a", "b", "c", "d")).toEqual([false, true, true, true]);
    // One as large as two.
    await keepAs("e", sealed(2 * ROW - 512), 3 * ROW);
    expect(await has("b", "c", "d", "e")).toEqual([false, false, true, true]);
  });

  it("counts what it replaces, and what expired, only once", async () => {
    for (let round = 0; round < 5; round++)
      for (const id of ["a", "b"]) await keepAs(id, sealed(1000), 3 * ROW);
    const over = { sealed: new Uint8Array(1000), expiresAt: platform.system.now() - 1 };
    for (let round = 0; round < 5; round++) await keepAs(`over-${round}`, over, 3 * ROW);
    await keepAs("c", sealed(1000), 3 * ROW);
    expect(await has("a", "b", "c", "over-4")).toEqual([true, true, true, false]);
  });

  it("keeps the last of each id, and as many as there is room for, of those that come together", async () => {
    const rows = ["a", "b", "a", "c", "d"].map((id, n) => ({ id, ...sealed(1000 - n) }));
    await store.at(at()).keepReplies(rows, 3 * ROW);
    expect(await has("a", "b", "c", "d")).toEqual([true, true, true, false]);
    expect((await store.at(at()).findReply("a"))?.sealed.length).toBe(998);
    // The bytes that are left are counted: two of these three go.
    await store.at(at()).keepReplies([rows[0]!, rows[4]!], 3 * ROW);
    expect((await has("a", "b", "c", "d")).filter(Boolean).length).toBe(3);
    expect(await has("a", "d")).toEqual([true, true]);
  });

  it("drops what exceeds its bytes by itself, and all that comes for a gateway that is gone", async () => {
    await keepAs("a", sealed(1000), 3 * ROW);
    await keepAs("huge", sealed(4 * ROW), 3 * ROW);
    expect(await has("a", "huge")).toEqual([true, false]);
    await store.remove(at());
    await keepAs("b", sealed(1000), 3 * ROW);
    expect(await has("a", "b")).toEqual([false, false]);
  });

  it("is emptied by a change of settings, when the gateway says so", async () => {
    await keepAs("a", sealed(1000), 3 * ROW);
    await store.update(at(), { cache_ttl: 60 });
    expect(await has("a")).toEqual([true]);
    await store.update(at(), { cache_invalidate_on_update: true });
    expect(await has("a")).toEqual([false]);
    for (const id of ["a", "b", "c"]) await keepAs(id, sealed(1000), 3 * ROW);
    expect(await has("a", "b", "c")).toEqual([true, true, true]);
  });

  it("never holds more than its bytes, also where a large answer comes among very many small ones", async () => {
    const capacity = 600 * 520;
    const small = Array.from({ length: 600 }, (_, index) => `s${index}`);
    await Promise.all(small.map((id) => keepAs(id, sealed(8), capacity)));
    // Its room would take all 600; only so many go at once.
    const large = async () => {
      await keepAs("large", sealed(599 * 520 - 512), capacity);
      const left = await has(...small);
      return [left.filter(Boolean).length, (await has("large"))[0]];
    };
    expect(await large()).toEqual([100, false]);
    expect(await large()).toEqual([1, true]);
  });
});
