import type { HeaderPair, Platform } from "../../ports.ts";
import type { LogRow } from "../log-row.ts";
import type { RecordStore } from "../manage/records.ts";
import type { Vault } from "../manage/vault.ts";
import type { GatewayName } from "../gateway-name.ts";
import { openOtel, type OtelEndpoint } from "./otel-settings.ts";
import { spanOf } from "./span.ts";
import { spanQueue } from "./span-queue.ts";
import type { TraceParent } from "./trace-parent.ts";

/** Exports what a gateway does as traces. */
export interface Tracing {
  /** Takes note of a finished request for the gateway's endpoints; never fails and never waits. */
  trace(
    name: GatewayName,
    endpoints: readonly OtelEndpoint[],
    row: LogRow,
    parent: TraceParent | null,
  ): void;
  /** Sends what is queued. */
  flush(): Promise<void>;
}

/** Makes the exporter of one factory. */
export function tracing(
  { egress, log, system }: Platform,
  store: RecordStore,
  vault: Vault,
): Tracing {
  const queue = spanQueue({
    system,
    log,
    egress,
    async open(gateway, endpoint) {
      const { headers, authorization } = await openOtel(endpoint, store.ofGateway(gateway), vault);
      const pairs: HeaderPair[] = Object.entries(headers);
      return authorization === null ? pairs : [...pairs, ["authorization", authorization]];
    },
  });
  return {
    trace(name, endpoints, row, parent) {
      queue.push(name, endpoints, spanOf(row, parent, system));
    },
    flush: () => queue.flush(),
  };
}
