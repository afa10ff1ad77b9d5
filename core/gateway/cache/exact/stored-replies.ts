import type { ReplyShelfMethods } from "./reply-shelf.ts";
import { quickSha256Hex } from "../../../crypto/digest.ts";
import { fromHex, utf8 } from "../../../crypto/encoding.ts";
import { rawSealingKey, sealBytes, type SealingKey, unsealBytes } from "../../../crypto/seal.ts";
import type { Log, System } from "../../../ports.ts";
import type { CachedReply } from "../../wire/cached-reply.ts";
import { actorName, type GatewayName } from "../../account/settings/gateway-name.ts";
import { TIMER_OVER } from "../../../time/timer-over.ts";

/** An answer with the end of its time, Unix ms. */
export interface TimedReply {
  readonly reply: CachedReply;
  readonly expiresAt: number;
}

/**
 * Kept answers in the gateway's database, where a restart, other processes and other isolates find them. An answer is
 * sealed with a key that is made of the request. A reader of the database can open it only by asking the same question
 * with the same credentials.
 */
export interface StoredReplies {
  /** Finds the answer under a cache key; null when it is missing, is not read in time, or `signal` aborts before. */
  find(name: GatewayName, key: string, signal: AbortSignal): Promise<TimedReply | null>;
  /** Keeps a whole answer, in the background; one that is too long, or comes while too many wait, is left out. */
  keep(name: GatewayName, key: string, kept: TimedReply): void;
}

/** Dependencies of the stored replies. */
export interface StoredRepliesDeps {
  /** Sealed answers of all gateways. */
  readonly store: { at(name: GatewayName): ReplyShelfMethods };
  readonly system: System;
  readonly log: Log;
  /** Bytes of answers that one gateway keeps. */
  readonly capacity: number;
}

/** Bytes of one stored answer with its head: a row of Durable Object storage holds 2 MB. */
const REPLY_LIMIT = 1024 * 1024;
/** Bytes that may wait for being stored: a slow database must not fill the memory. */
const WAITING_LIMIT = 32 * 1024 * 1024;
/** Chunks that a stored stream keeps apart; a stream of more is replayed as one. */
const CHUNKS = 2000;
/** The weight of a waiting answer beside its bytes. */
const WAITING_OVERHEAD = 2048;
/** Milliseconds for which a request waits for the database: then its provider is asked. */
const PATIENCE = 5000;
/** Milliseconds between two warnings. */
const WARN_EVERY = 60_000;

/** See {@link StoredReplies}. A database that fails makes misses, not errors. */
export function storedReplies({ store, system, log, capacity }: StoredRepliesDeps): StoredReplies {
  let waiting = 0;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const warn = (error: unknown): null => {
    if (system.monotonic() - warnedAt < WARN_EVERY) return null;
    warnedAt = system.monotonic();
    const reason = error instanceof Error ? error.message : String(error);
    log("warn", "The stored cache of a gateway does not answer", { reason: reason.slice(0, 200) });
    return null;
  };
  const keep = async (name: GatewayName, key: string, { reply, expiresAt }: TimedReply) => {
    const [id, sealing] = await Promise.all([idOf(key, system), sealingOf(key, system)]);
    const place = `${actorName(name)}/${id}`;
    const sealed = await sealBytes(sealing, packed(reply), place, system.random(12));
    await store.at(name).keepReply(id, { sealed, expiresAt }, capacity);
  };
  const read = async (name: GatewayName, key: string): Promise<TimedReply | null> => {
    const id = await idOf(key, system);
    const found = await store.at(name).findReply(id);
    if (found === null) return null;
    const sealed = new Uint8Array(found.sealed);
    const sealing = await sealingOf(key, system);
    const plain = await unsealBytes(sealing, sealed, `${actorName(name)}/${id}`);
    return plain === null ? null : { reply: unpacked(plain), expiresAt: found.expiresAt };
  };
  /** Under way, by key: identical requests share one answer and its memory. */
  const reads = new Map<string, Promise<TimedReply | null>>();
  const forget = (key: string, work: Promise<TimedReply | null>): void => {
    if (reads.get(key) === work) reads.delete(key);
  };
  return {
    find(name, key, signal) {
      const known = reads.get(key);
      const work = known ?? read(name, key).catch(warn);
      if (known === undefined) {
        reads.set(key, work);
        void work.then(() => forget(key, work));
      }
      // A late result may never come: a runtime ends the work of a request that is over.
      return inTime(work, signal, system, () => {
        forget(key, work);
        warn(new RangeError(`No answer within ${PATIENCE} ms`));
      });
    },
    keep(name, key, kept) {
      const size = sizeOf(kept.reply);
      const weight = size + WAITING_OVERHEAD;
      if (size > REPLY_LIMIT || waiting + weight > WAITING_LIMIT) return;
      waiting += weight;
      const work = keep(name, key, kept)
        .catch(warn)
        .finally(() => (waiting -= weight));
      system.waitUntil(work);
    },
  };
}

/**
 * Returns the result of work that does not reject; null, and `onLate`, when it takes too long, and null when `signal`
 * aborts.
 */
async function inTime<T>(
  work: Promise<T | null>,
  signal: AbortSignal,
  system: System,
  onLate: () => void,
): Promise<T | null> {
  const over = new AbortController();
  const limit = system.sleep(PATIENCE, AbortSignal.any([signal, over.signal])).then(
    () => {
      onLate();
      return null;
    },
    () => null,
  );
  try {
    return await Promise.race([work, limit]);
  } finally {
    over.abort(TIMER_OVER);
  }
}

/**
 * Returns the name of a row. It tells nothing of the key, which opens the row. Another form of answers needs another word
 * in it: processes of two versions may share a database.
 */
function idOf(key: string, system: System): Promise<string> | string {
  return quickSha256Hex(`stored reply ${key}`, system);
}

async function sealingOf(key: string, system: System): Promise<SealingKey> {
  const bytes = fromHex(await quickSha256Hex(`sealed reply ${key}`, system));
  return rawSealingKey(bytes ?? new Uint8Array(0));
}

/** The head of a packed answer, as JSON behind four bytes of its length. */
type Head = Pick<CachedReply, "status" | "headers" | "streamed"> & {
  /** Lengths of the chunks; null when they are one. */
  readonly lengths: readonly number[] | null;
};

function sizeOf({ headers, chunks }: CachedReply): number {
  const head = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return chunks.reduce((sum, chunk) => sum + chunk.length, head);
}

function packed({ status, headers, chunks, streamed }: CachedReply): Uint8Array<ArrayBuffer> {
  const lengths = chunks.length > CHUNKS ? null : chunks.map((chunk) => chunk.length);
  const head = utf8(JSON.stringify({ status, headers, streamed, lengths } satisfies Head));
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 4 + head.length);
  const out = new Uint8Array(length);
  new DataView(out.buffer).setUint32(0, head.length);
  out.set(head, 4);
  let at = 4 + head.length;
  for (const chunk of chunks) {
    out.set(chunk, at);
    at += chunk.length;
  }
  return out;
}

/** Undoes {@link packed}; what was sealed with the right key was packed by it. */
function unpacked(bytes: Uint8Array<ArrayBuffer>): CachedReply {
  const start = 4 + new DataView(bytes.buffer).getUint32(0);
  const text = new TextDecoder().decode(bytes.subarray(4, start));
  const { status, headers, streamed, lengths } = JSON.parse(text) as Head;
  let at = start;
  const chunks = (lengths ?? [bytes.length - start]).map((length) => {
    at += length;
    return bytes.subarray(at - length, at);
  });
  return { status, headers, streamed, chunks };
}
