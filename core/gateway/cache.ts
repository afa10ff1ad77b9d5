import type { HeaderPair, InboundResponse, System } from "../ports.ts";

/** A whole successful answer. Streamed ones keep their chunks, to be replayed as a stream. */
export interface CachedReply {
  readonly status: number;
  readonly headers: readonly HeaderPair[];
  readonly chunks: readonly Uint8Array[];
  readonly streamed: boolean;
  /** Bytes of all chunks. */
  readonly size: number;
}

/** What a lookup found: an answer, or the duty to bring one. */
export type CacheLookup = { readonly hit: CachedReply } | { readonly lead: CacheLead };

/** The one request that asks the provider while identical ones wait for it. */
export interface CacheLead {
  /** Collects a chunk of the answer. */
  add(chunk: Uint8Array): void;
  /** Ends the collection: the answer is whole and is kept for `ttl` seconds, or null = nothing to keep. */
  settle(answer: Omit<CachedReply, "chunks" | "size"> | null, ttl: number): void;
}

/** Answers by key, for one process: least recently used ones go first when the bytes run out. */
export interface ReplyCache {
  /** Waits for an identical request under way; rejects when `signal` aborts. */
  lookup(key: string, signal: AbortSignal): Promise<CacheLookup>;
  /** Bytes held. */
  readonly bytes: number;
}

/** Bytes of one cacheable answer (reference, section 2.4). */
const REPLY_LIMIT = 25 * 1024 * 1024;
/** What an entry costs beside its bytes. */
const ENTRY_OVERHEAD = 1024;

type Entry = CachedReply & { readonly expiresAt: number };

/** A cache of at most `capacity` bytes. */
export function replyCache(system: System, capacity: number): ReplyCache {
  const entries = lruEntries(system, capacity);
  const underway = new Map<string, Promise<CachedReply | null>>();
  const lead = (key: string): CacheLead => {
    const { promise, resolve } = Promise.withResolvers<CachedReply | null>();
    underway.set(key, promise);
    let chunks: Uint8Array[] | null = [];
    let size = 0;
    return {
      add(chunk) {
        size += chunk.length;
        if (size > Math.min(REPLY_LIMIT, capacity - ENTRY_OVERHEAD)) chunks = null;
        chunks?.push(chunk);
      },
      settle(answer, ttl) {
        if (underway.get(key) === promise) underway.delete(key);
        const whole = answer === null || chunks === null ? null : { ...answer, chunks, size };
        if (whole !== null) entries.put(key, { ...whole, expiresAt: system.now() + ttl * 1000 });
        resolve(whole);
      },
    };
  };
  return {
    async lookup(key, signal) {
      for (;;) {
        const hit = entries.get(key);
        if (hit !== null) return { hit };
        const other = underway.get(key);
        if (other === undefined) return { lead: lead(key) };
        const shared = await unlessAborted(other, signal);
        if (shared !== null) return { hit: shared };
      }
    },
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
    bytes -= entry.size + ENTRY_OVERHEAD;
    entries.delete(key);
  };
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return null;
      if (entry.expiresAt <= system.now()) {
        drop(key);
        return null;
      }
      entries.delete(key);
      entries.set(key, entry);
      return entry;
    },
    put(key, entry) {
      drop(key);
      entries.set(key, entry);
      bytes += entry.size + ENTRY_OVERHEAD;
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

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** A cached answer as if it had just come, chunk by chunk when it was a stream. */
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
