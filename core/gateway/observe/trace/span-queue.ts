import { utf8 } from "../../../crypto/encoding.ts";
import type { HeaderPair, Log, System, Transport } from "../../../ports.ts";
import { type GatewayName, actorName } from "../../account/settings/gateway-name.ts";
import type { OtelEndpoint } from "../../account/settings/otel-settings.ts";
import { exportRequest, type Span } from "./span.ts";

/** Collects spans and sends them in batches, off the path of requests. */
export interface SpanQueue {
  /** Takes the span of a gateway for its endpoints; a full queue drops it and counts that. */
  push(gateway: GatewayName, endpoints: readonly OtelEndpoint[], span: Span): void;
  /** Sends what is queued; resolves when it was taken or given up. */
  flush(): Promise<void>;
  /** Spans dropped so far, one per endpoint. */
  readonly dropped: number;
}

/** Options of a queue. */
export interface SpanQueueOptions {
  readonly system: System;
  readonly log: Log;
  /** Callers choose the endpoints: only public addresses may be reached. */
  readonly egress: Transport;
  /** The credentials of an endpoint, as headers. */
  readonly open: (gateway: GatewayName, endpoint: OtelEndpoint) => Promise<readonly HeaderPair[]>;
  /** Milliseconds that a span may wait. @default 1000 */
  readonly interval?: number;
  /** Spans that are sent at once. @default 100 */
  readonly batch?: number;
  /** Spans in the queue and on their way. @default 5000 */
  readonly capacity?: number;
  /** Characters of spans in the queue and on their way. @default 16 Mi */
  readonly weight?: number;
  /** Milliseconds that an endpoint may take. @default 10_000 */
  readonly timeout?: number;
}

/** The pauses before a batch is sent again, in ms. */
const RETRIES = [500, 2000];
/** Milliseconds that an endpoint may take, and without a second attempt, once the process is to end. */
const LAST_MS = 2000;
/** Milliseconds after which a planned flush counts as lost. */
const OVERDUE = 10_000;

interface Entry {
  readonly gateway: GatewayName;
  readonly endpoint: OtelEndpoint;
  readonly span: Span;
  readonly weight: number;
}

/** Makes a queue. `system.waitUntil` carries its exports, so a clean shutdown waits for them. */
export function spanQueue(options: SpanQueueOptions): SpanQueue {
  const {
    system,
    log,
    interval = 1000,
    capacity = 5000,
    weight: heaviest = 16 * 1024 * 1024,
  } = options;
  let entries: Entry[] = [];
  let count = 0;
  let weight = 0;
  let dropped = 0;
  let plannedAt = Number.NEGATIVE_INFINITY;
  const deliver = async (batch: readonly Entry[]): Promise<void> => {
    const [first] = batch;
    if (
      first !== undefined &&
      !(await send(
        first,
        batch.map(({ span }) => span),
        options,
      ))
    ) {
      dropped += batch.length;
      // The host alone: paths and queries of collectors can hold keys.
      const { host } = new URL(first.endpoint.url);
      log("warn", "Spans could not be exported", { host, count: batch.length, total: dropped });
    }
    count -= batch.length;
    for (const one of batch) weight -= one.weight;
  };
  const flush = async (): Promise<void> => {
    const taken = entries;
    entries = [];
    plannedAt = Number.NEGATIVE_INFINITY;
    await Promise.all(batchesOf(taken, options.batch ?? 100).map(deliver));
  };
  return {
    push(gateway, endpoints, span) {
      const size = weightOf(span);
      for (const endpoint of endpoints) {
        if (count >= capacity || weight + size > heaviest) {
          dropped += 1;
          continue;
        }
        entries.push({ gateway, endpoint, span, weight: size });
        count += 1;
        weight += size;
      }
      const now = system.monotonic();
      if (entries.length === 0 || now - plannedAt <= OVERDUE) return;
      plannedAt = now;
      system.waitUntil(system.sleep(interval).then(flush));
    },
    flush,
    get dropped() {
      return dropped;
    },
  };
}

function weightOf({ attributes }: Span): number {
  let size = 500;
  for (const { key, value } of attributes) {
    size += key.length + ("stringValue" in value ? value.stringValue.length : 8);
  }
  return size;
}

/** Returns the spans of each gateway and endpoint, in batches. */
function batchesOf(entries: readonly Entry[], limit: number): Entry[][] {
  const batches: Entry[][] = [];
  const open = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = JSON.stringify([
      actorName(entry.gateway),
      entry.endpoint.url,
      entry.endpoint.sealed,
    ]);
    let batch = open.get(key);
    if (batch === undefined || batch.length >= limit) {
      batch = [];
      open.set(key, batch);
      batches.push(batch);
    }
    batch.push(entry);
  }
  return batches;
}

/** Sends a batch, with retries; false when the collector did not take it. */
async function send(
  { gateway, endpoint }: Entry,
  spans: readonly Span[],
  options: SpanQueueOptions,
): Promise<boolean> {
  const body = utf8(JSON.stringify(exportRequest(actorName(gateway), spans)));
  for (const pause of [...RETRIES, null]) {
    const status = await post(gateway, endpoint, body, options).catch(() => null);
    if (status !== null && status < 300) return true;
    // Statuses that OTLP/HTTP calls retryable; no answer at all is one too.
    if (status !== null && ![429, 502, 503, 504].includes(status)) return false;
    const { system } = options;
    if (system.closing?.aborted === true) return false;
    // Cut short by the end: then there is one more attempt.
    if (pause !== null) await system.sleep(pause, system.closing).catch(() => undefined);
  }
  return false;
}

async function post(
  gateway: GatewayName,
  endpoint: OtelEndpoint,
  body: Uint8Array,
  { open, egress, system, timeout = 10_000 }: SpanQueueOptions,
): Promise<number> {
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
    const answer = await egress.send({
      method: "POST",
      url: endpoint.url,
      headers: [["content-type", "application/json"], ...(await open(gateway, endpoint))],
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
