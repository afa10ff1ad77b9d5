import type { HeaderPair, Log, System, Transport } from "../../../ports.ts";
import type { Span } from "../../../trace/otlp-json.ts";
import { otlpQueue } from "../../../trace/otlp-queue.ts";
import { type GatewayName, actorName } from "../../account/settings/gateway-name.ts";
import type { OtelEndpoint } from "../../account/settings/otel-settings.ts";
import { exportRequest } from "./span.ts";

/** Collects the spans of gateways for their own endpoints. */
export interface SpanQueue {
  /** Takes the span of a gateway for its endpoints; a full queue drops it and counts that. */
  push(gateway: GatewayName, endpoints: readonly OtelEndpoint[], span: Span): void;
  /** Sends what is queued; resolves when it was taken or given up. */
  flush(): Promise<void>;
  /** Spans dropped so far, one per endpoint. */
  readonly dropped: number;
}

export interface SpanQueueOptions {
  readonly system: System;
  readonly log: Log;
  /** Callers choose the endpoints: only public addresses may be reached. */
  readonly egress: Transport;
  readonly open: (gateway: GatewayName, endpoint: OtelEndpoint) => Promise<readonly HeaderPair[]>;
  /** Milliseconds that a span may wait. @default 1000 */
  readonly interval?: number;
  /** Spans in the queue and on their way. @default 5000 */
  readonly capacity?: number;
}

/** Milliseconds that an endpoint may take. */
const TIMEOUT = 10_000;
const BATCH = 100;

export function spanQueue(options: SpanQueueOptions): SpanQueue {
  const { system, log, egress, open, interval = 1000, capacity = 5000 } = options;
  const queue = otlpQueue<{ gateway: GatewayName; endpoint: OtelEndpoint }, Span>({
    system,
    transport: egress,
    interval,
    capacity,
    batch: BATCH,
    keyOf: ({ gateway, endpoint: { url, sealed } }) =>
      JSON.stringify([actorName(gateway), url, sealed]),
    collectorOf: async ({ gateway, endpoint }) => ({
      url: endpoint.url,
      headers: await open(gateway, endpoint),
      timeout: TIMEOUT,
    }),
    bodyOf: ({ gateway }, spans) => exportRequest(actorName(gateway), spans),
    onFailure({ endpoint }, count) {
      // The host alone: paths and queries of collectors can hold keys.
      const { host } = new URL(endpoint.url);
      log("warn", "Spans could not be exported", { host, count, total: queue.dropped });
    },
  });
  return {
    push(gateway, endpoints, span) {
      for (const endpoint of endpoints) queue.push({ gateway, endpoint }, span);
    },
    flush: () => queue.flush(),
    get dropped() {
      return queue.dropped;
    },
  };
}
