import type { HeaderPair, Platform } from "../../../ports.ts";
import type { RecordStore } from "../../manage/records/records.ts";
import type { Vault } from "../../manage/records/vault.ts";
import type { GatewayName } from "../../gateways/gateway-name.ts";
import { openOtel, type OtelEndpoint } from "./otel-settings.ts";
import { type RequestTrace, requestTrace, type TraceStart } from "./request-trace.ts";
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
