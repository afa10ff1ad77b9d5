import { utf8 } from "../crypto/encoding.ts";
import type { HeaderPair, System, Transport } from "../ports.ts";
import type { Attribute, OtlpRecord } from "./otlp-json.ts";
import { pauseOrClosing } from "../time/pause-or-closing.ts";

/** Collects telemetry and sends it to collectors in batches, off the path of requests. */
export interface OtlpQueue<D, R> {
  /** Takes a record for a destination; a full queue drops it. */
  push(to: D, record: R): void;
  /** Sends what is queued within the interval, also where nothing is pushed. */
  plan(): void;
  /** Sends what is queued; resolves when it was taken or given up. */
  flush(): Promise<void>;
  /** Records dropped so far: those that did not fit, and those that no collector took. */
  readonly dropped: number;
}

/** A collector as a request reaches it. */
export interface Collector {
  readonly url: string;
  readonly headers: readonly HeaderPair[];
  /** Milliseconds that it may take. */
  readonly timeout: number;
}

export interface OtlpQueueOptions<D, R> {
  readonly system: System;
  readonly transport: Transport;
  /** Destinations with the same key share requests. */
  readonly keyOf: (to: D) => string;
  /** Finds the collector; asked before each attempt. */
  readonly collectorOf: (to: D) => Collector | Promise<Collector>;
  /** Makes the body of a request. */
  readonly bodyOf: (to: D, records: readonly R[]) => object;
  /** Called before the queue is emptied, for records that are made no earlier; true plans the next time as well. */
  readonly onFlush?: () => boolean;
  /** Called when a batch was given up, with a reason that holds no secret. */
  readonly onFailure: (to: D, count: number, reason: string) => void;
  /** Called with the number of records that did not fit since the last time that the queue was emptied. @default they are only counted */
  readonly onOverflow?: (count: number) => void;
  /** Milliseconds that a record may wait. */
  readonly interval: number;
  /** Records that are sent at once. */
  readonly batch: number;
  /** Records in the queue and on their way. */
  readonly capacity: number;
}

/** The pauses before a batch is sent again, in ms. */
const RETRIES = [500, 2000];
/** Statuses that OTLP/HTTP calls retryable. */
const RETRYABLE: readonly number[] = [429, 502, 503, 504];
/** Milliseconds that a collector may take, and without a second attempt, once the process is to end. */
const LAST_MS = 2000;
/** Milliseconds behind its time after which a planned flush counts as lost: a runtime may end a request's background work. */
const OVERDUE = 10_000;
/** Characters of records in a queue and on their way. */
const HEAVIEST = 16 * 1024 * 1024;

interface Entry<D, R> {
  readonly to: D;
  readonly record: R;
  readonly weight: number;
}

/** Entries that one request carries. */
type Batch<D, R> = readonly [Entry<D, R>, ...Entry<D, R>[]];

/** Makes a queue. `system.waitUntil` carries its exports, so a clean shutdown waits for them. */
export function otlpQueue<D, R extends OtlpRecord>(
  options: OtlpQueueOptions<D, R>,
): OtlpQueue<D, R> {
  const { system, interval } = options;
  const held = boundedEntries(options);
  let dropped = 0;
  let overflow = 0;
  let plannedAt = Number.NEGATIVE_INFINITY;
  const deliver = async (batch: Batch<D, R>): Promise<void> => {
    const [{ to }] = batch;
    const records = batch.map(({ record }) => record);
    const reason = await send(to, utf8(JSON.stringify(options.bodyOf(to, records))), options);
    if (reason !== null) {
      dropped += batch.length;
      options.onFailure(to, batch.length, reason);
    }
    held.release(batch);
  };
  const flush = async (): Promise<void> => {
    const isPending = options.onFlush?.() === true;
    const taken = held.take();
    plannedAt = Number.NEGATIVE_INFINITY;
    if (isPending && system.closing?.aborted !== true) plan();
    await Promise.all(batchesOf(taken, options).map(deliver));
    if (overflow > 0) options.onOverflow?.(overflow);
    overflow = 0;
  };
  const flushLater = async (): Promise<void> => {
    // A shutdown does not wait for the interval to be over.
    await pauseOrClosing(interval, system);
    await flush();
  };
  const plan = (): void => {
    const now = system.monotonic();
    if (now - plannedAt <= interval + OVERDUE) return;
    plannedAt = now;
    system.waitUntil(flushLater());
  };
  return {
    push(to, record) {
      if (!held.add(to, record)) {
        dropped += 1;
        overflow += 1;
      }
      plan();
    },
    plan,
    flush,
    get dropped() {
      return dropped;
    },
  };
}

/** The entries that wait or are on their way. */
interface BoundedEntries<D, R> {
  /** False where the record does not fit. */
  add(to: D, record: R): boolean;
  /** Takes those that wait; they count until they are released. */
  take(): readonly Entry<D, R>[];
  release(batch: readonly Entry<D, R>[]): void;
}

function boundedEntries<D, R extends OtlpRecord>({
  capacity,
}: OtlpQueueOptions<D, R>): BoundedEntries<D, R> {
  let entries: Entry<D, R>[] = [];
  let count = 0;
  let weight = 0;
  return {
    add(to, record) {
      const size = weightOf(record);
      if (count >= capacity || weight + size > HEAVIEST) return false;
      entries.push({ to, record, weight: size });
      count += 1;
      weight += size;
      return true;
    },
    take() {
      const taken = entries;
      entries = [];
      return taken;
    },
    release(batch) {
      count -= batch.length;
      for (const one of batch) weight -= one.weight;
    },
  };
}

function weightOf(record: OtlpRecord): number {
  let size = 500;
  // `as`: records of other forms have no attributes of their own.
  const { attributes = [] } = record as { readonly attributes?: readonly Attribute[] };
  for (const { key, value } of attributes)
    size += key.length + ("stringValue" in value ? value.stringValue.length : 8);
  return size;
}

/** Returns the entries of each key, in batches. */
function batchesOf<D, R>(
  entries: readonly Entry<D, R>[],
  { keyOf, batch: limit }: OtlpQueueOptions<D, R>,
): Batch<D, R>[] {
  const batches: Batch<D, R>[] = [];
  for (const group of Map.groupBy(entries, ({ to }) => keyOf(to)).values())
    for (let at = 0; at < group.length; at += limit) {
      const [first, ...others] = group.slice(at, at + limit);
      if (first !== undefined) batches.push([first, ...others]);
    }
  return batches;
}

/** Sends a batch, with retries; resolves to the reason of a failure, or null. */
async function send<D, R>(
  to: D,
  body: Uint8Array,
  options: OtlpQueueOptions<D, R>,
): Promise<string | null> {
  const { system } = options;
  let reason = "";
  for (const pause of [...RETRIES, null]) {
    const status = await post(to, body, options).catch(() => null);
    if (status !== null && status < 300) return null;
    reason = status === null ? "no answer" : `status ${status}`;
    const isRetryable = status === null || RETRYABLE.includes(status);
    if (!isRetryable || pause === null || system.closing?.aborted === true) return reason;
    // Cut short by the end: then there is one more attempt.
    await pauseOrClosing(pause, system);
  }
  return reason;
}

async function post<D, R>(
  to: D,
  body: Uint8Array,
  { collectorOf, transport, system }: OtlpQueueOptions<D, R>,
): Promise<number> {
  const { url, headers, timeout } = await collectorOf(to);
  const late = new AbortController();
  const done = new AbortController();
  const { closing } = system;
  const abortAfter = (ms: number): Promise<void> =>
    system.sleep(ms, done.signal).then(
      () => late.abort(),
      () => undefined,
    );
  const timer = abortAfter(closing?.aborted === true ? Math.min(LAST_MS, timeout) : timeout);
  const onClosing = (): void => void abortAfter(LAST_MS);
  closing?.addEventListener("abort", onClosing, { once: true });
  try {
    const answer = await transport.send({
      method: "POST",
      url,
      headers: [["content-type", "application/json"], ...headers],
      body,
      signal: late.signal,
    });
    if (answer.body instanceof ReadableStream) await answer.body.cancel().catch(() => undefined);
    return answer.status;
  } finally {
    closing?.removeEventListener("abort", onClosing);
    done.abort();
    await timer;
  }
}
