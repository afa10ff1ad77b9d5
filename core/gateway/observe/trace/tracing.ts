import type { HeaderPair, Platform } from "../../../ports.ts";
import type { RecordStore } from "../../records/records.ts";
import type { Vault } from "../../records/vault.ts";
import type { GatewayName } from "../../settings/gateway-name.ts";
import type { OtelEndpoint } from "../../settings/otel-settings.ts";
import { openOtel } from "./sealed-otel.ts";
import { requestTrace, type TraceStart } from "./request-trace.ts";
import type { RequestTrace } from "../../call/request-trace.ts";
import { spanQueue } from "./span-queue.ts";

/** Exports what a gateway does as traces. */
export interface Tracing {
  /** Begins the trace of a request for the gateway's endpoints. */
  begin(name: GatewayName, endpoints: readonly OtelEndpoint[], start: TraceStart): RequestTrace;
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
    begin: (name, endpoints, start) =>
      requestTrace(start, system, (span) => queue.push(name, endpoints, span)),
    flush: () => queue.flush(),
  };
}
