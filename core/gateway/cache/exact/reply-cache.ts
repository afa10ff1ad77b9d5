import type { InboundResponse, System } from "../../../ports.ts";
import { type Leader, type SharedCall, startSharedCall, type JoinedAnswer } from "./shared-call.ts";
import type { CachedReply } from "../../wire/cached-reply.ts";
import { withinMs } from "../../../time/within-ms.ts";
import { packedReply, type TimedReply, unpackedReply } from "./packed-reply.ts";

/** The result of a lookup: an answer, the leadership of a new call, or neither (then the request is sent alone). */
export type CacheLookup = JoinedAnswer | { readonly leader: Leader } | { readonly alone: true };

export interface LookupOptions {
  /** Milliseconds to wait for the leader's answer to begin; then the lookup rejects. @default as long as the client */
  readonly maxWait?: number;
  /** Whether a whole answer that the leader brought is worth keeping. @default each is */
  readonly isSound?: (reply: CachedReply) => boolean;
  /** Called with the leader's answer once it is kept. */
  readonly onKept?: (reply: TimedReply) => void;
}

/** Answers by key, for one process: least recently used ones go first when the bytes run out. */
export interface ReplyCache {
  /**
   * Looks for an answer that is kept, or under way: then waits, once, for it to begin. Otherwise the request leads, for
   * `client`, a call whose answer is kept for `ttl` seconds.
   */
  lookup(
    key: string,
    ttl: number,
    client: AbortSignal,
    options?: LookupOptions,
  ): Promise<CacheLookup>;
  /** Keeps an answer that came from elsewhere. */
  put(key: string, reply: TimedReply): void;
  kept(key: string): CachedReply | null;
  /** Whether an answer is kept, or under way. */
  has(key: string): boolean;
  /** Bytes held. */
  readonly bytes: number;
}

/** Bytes of one cacheable answer; see docs/compatibility.md. */
const REPLY_LIMIT = 25 * 1024 * 1024;
/** The weight of an entry beside its bytes. */
const ENTRY_OVERHEAD = 1024;

/** Milliseconds for which an entry that was just used keeps its place: each move leaves a hole in the `Map`. */
const SETTLED = 1000;

interface Entry extends Pick<TimedReply, "packed"> {
  /** When it expires, and when it took its place among the entries, in `monotonic()` ms. */
  readonly until: number;
  movedAt: number;
}

/** Makes a cache of at most `capacity` bytes; as much again may be held of answers under way. */
export function replyCache(system: System, capacity: number): ReplyCache {
  const entries = lruEntries(system, capacity);
  const underway = new Map<string, SharedCall>();
  const limit = Math.min(REPLY_LIMIT, capacity - ENTRY_OVERHEAD);
  const budget = { left: capacity };
  const put = (key: string, { packed, expiresAt }: TimedReply): void => {
    const now = system.monotonic();
    entries.put(key, { packed, until: now + expiresAt - system.now(), movedAt: now });
  };
  const kept = (key: string): CachedReply | null => {
    const entry = entries.get(key);
    return entry === null ? null : unpackedReply(entry.packed);
  };
  const startLeading = (
    key: string,
    ttl: number,
    client: AbortSignal,
    { isSound, onKept }: LookupOptions,
  ): Leader => {
    const onClose = (reply: CachedReply | null): void => {
      if (underway.get(key) === started) underway.delete(key);
      if (reply === null || isSound?.(reply) === false) return;
      const timed = { packed: packedReply(reply), expiresAt: system.now() + ttl * 1000 };
      put(key, timed);
      onKept?.(timed);
    };
    const started = startSharedCall({ system, client, limit, budget, onClose });
    // A client that had left before does not lead: others would wait in vain for its answer.
    if (!client.aborted) underway.set(key, started);
    return started.leader;
  };
  return {
    put,
    async lookup(key, ttl, client, options = {}) {
      const hit = kept(key);
      if (hit !== null) return { hit };
      const other = underway.get(key);
      if (other !== undefined) {
        const answer = await (options.maxWait === undefined
          ? other.join(client)
          : withinMs({ ms: options.maxWait, signal: client, system }, (signal) =>
              other.join(signal),
            ));
        if (answer !== null) return answer;
        const arrived = kept(key);
        if (arrived !== null) return { hit: arrived };
        if (underway.has(key)) return { alone: true };
      }
      return { leader: startLeading(key, ttl, client, options) };
    },
    kept,
    has: (key) => underway.has(key) || entries.get(key) !== null,
    get bytes() {
      return entries.bytes;
    },
  };
}

interface LruEntries {
  get(key: string): Entry | null;
  put(key: string, entry: Entry): void;
  readonly bytes: number;
}

function lruEntries(system: System, capacity: number): LruEntries {
  // A Map keeps the order of insertion, so its first key is the least recently used one.
  const entries = new Map<string, Entry>();
  let bytes = 0;
  const drop = (key: string): void => {
    const entry = entries.get(key);
    if (entry === undefined) return;
    bytes -= entry.packed.length + ENTRY_OVERHEAD;
    entries.delete(key);
  };
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      const now = system.monotonic();
      if (entry.until <= now) {
        drop(key);
        return null;
      }
      if (now - entry.movedAt < SETTLED) return entry;
      entry.movedAt = now;
      entries.delete(key);
      entries.set(key, entry);
      return entry;
    },
    put(key, entry) {
      drop(key);
      // It would throw out all others, and then itself.
      if (entry.packed.length + ENTRY_OVERHEAD > capacity) return;
      entries.set(key, entry);
      bytes += entry.packed.length + ENTRY_OVERHEAD;
      for (const oldest of entries.keys()) {
        if (bytes <= capacity) break;
        drop(oldest);
      }
    },
    get bytes() {
      return bytes;
    },
  };
}

/** Returns a cached answer as if it had just come, chunk by chunk when it was a stream. */
export function replay({ status, headers, chunks, streamed }: CachedReply): InboundResponse {
  const [first] = chunks;
  if (first === undefined) return { status, headers, body: null };
  if (!streamed) return { status, headers, body: first };
  let next = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[next++];
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    },
    { highWaterMark: 0 },
  );
  return { status, headers, body };
}
