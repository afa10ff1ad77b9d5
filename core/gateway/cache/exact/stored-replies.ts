import type { SealedReply, ReplyShelfMethods } from "./reply-shelf.ts";
import { quickSha256Hex } from "../../../crypto/digest.ts";
import { fromHex } from "../../../crypto/encoding.ts";
import { rawCipher, type RawCipher } from "../../../crypto/seal.ts";
import type { Log, System } from "../../../ports.ts";
import { TIMER_OVER } from "../../../time/timer-over.ts";
import { whenReady, type NowOrLater } from "../../../work/now-or-later.ts";
import { actorName, type GatewayName } from "../../account/settings/gateway-name.ts";
import type { TimedReply } from "./packed-reply.ts";
import { replyQueue, type WaitingReply } from "./reply-queue.ts";

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
/** Bytes of AES-GCM's nonce (NIST SP 800-38D, 8.2). */
const NONCE = 12;
/** Milliseconds for which a request waits for the database: then its provider is asked. */
const PATIENCE = 5000;
/** Milliseconds between two warnings. */
const WARN_EVERY = 60_000;

/** See {@link StoredReplies}. A database that fails makes misses, not errors. */
export function storedReplies({ store, system, log, capacity }: StoredRepliesDeps): StoredReplies {
  let warnedAt = Number.NEGATIVE_INFINITY;
  const warn = (error: unknown): null => {
    if (system.monotonic() - warnedAt < WARN_EVERY) return null;
    warnedAt = system.monotonic();
    const reason = error instanceof Error ? error.message : String(error);
    log("warn", "The stored cache of a gateway does not answer", { reason: reason.slice(0, 200) });
    return null;
  };
  const queue = replyQueue({
    system,
    async store(name, waiting) {
      await store.at(name).keepReplies(await sealed(name, waiting, system), capacity);
    },
    failed: warn,
  });
  const read = async (name: GatewayName, key: string): Promise<TimedReply | null> => {
    const id = await idOf(key, system);
    const found = await store.at(name).findReply(id);
    if (found === null) return null;
    const cipher = await cipherOf(key, system);
    const plain = await cipher.unseal(new Uint8Array(found.sealed), placeOf(name, id));
    return plain === null ? null : { packed: plain, expiresAt: found.expiresAt };
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
      if (kept.packed.length <= REPLY_LIMIT) queue.push(name, { key, ...kept });
    },
  };
}

/** Seals answers. Their nonces are drawn together: a call of its own for each would cost more than its bytes. */
function sealed(
  name: GatewayName,
  replies: readonly WaitingReply[],
  system: System,
): Promise<SealedReply[]> {
  const nonces = system.random(NONCE * replies.length);
  const sealOne = async (
    { key, packed, expiresAt }: WaitingReply,
    at: number,
  ): Promise<SealedReply> => {
    const nonce = nonces.slice(NONCE * at, NONCE * (at + 1));
    const id = await idOf(key, system);
    const cipher = await cipherOf(key, system);
    const bytes = await cipher.seal(packed, placeOf(name, id), nonce);
    return { id, sealed: bytes, expiresAt };
  };
  return Promise.all(replies.map(sealOne));
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
  // Without `AbortSignal.any`, whose weak references cost the collector more than all the rest of this wait.
  const over = new AbortController();
  const leave = (): void => over.abort(TIMER_OVER);
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  const limit = system.sleep(PATIENCE, over.signal).then(
    () => {
      onLate();
      return null;
    },
    () => null,
  );
  try {
    return await Promise.race([work, limit]);
  } finally {
    signal.removeEventListener("abort", leave);
    leave();
  }
}

/**
 * Returns the name of a row. It tells nothing of the key, which opens the row. Another form of answers needs another word
 * in it: processes of two versions may share a database.
 */
function idOf(key: string, system: System): NowOrLater<string> {
  return quickSha256Hex(`packed reply ${key}`, system);
}

/** The place of an answer, which is sealed with it: a row that is moved cannot be opened. */
function placeOf(name: GatewayName, id: string): string {
  return `${actorName(name)}/${id}`;
}

function cipherOf(key: string, system: System): NowOrLater<RawCipher> {
  return whenReady(quickSha256Hex(`sealed reply ${key}`, system), (hex) =>
    rawCipher(fromHex(hex) ?? new Uint8Array(0), system),
  );
}
