import type { HeaderPair, Platform } from "../../../ports.ts";
import type { RecordStore } from "../../account/records/records.ts";
import type { Vault } from "../../account/records/vault.ts";
import { actorName, type GatewayName } from "../../account/settings/gateway-name.ts";
import type { OtelEndpoint } from "../../account/settings/otel-settings.ts";
import { openOtel } from "./sealed-otel.ts";
import { requestTrace, type TraceStart } from "./request-trace.ts";
import type { RequestTrace } from "../../call/request-trace.ts";
import type { Span } from "../../../trace/otlp-json.ts";
import type { SpanExporter } from "./span.ts";
import { spanQueue } from "./span-queue.ts";

export interface Tracing {
  /** Whether the spans of every gateway are exported. */
  readonly isEverywhere: boolean;
  begin(name: GatewayName, endpoints: readonly OtelEndpoint[], start: TraceStart): RequestTrace;
}

export function tracing(
  { egress, log, system }: Platform,
  store: RecordStore,
  vault: Vault,
  spans?: SpanExporter,
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
    isEverywhere: spans !== undefined,
    begin: (name, endpoints, start) =>
      requestTrace(start, system, {
        // A gateway's own endpoints get every trace.
        keeps: (traceId, isSampled) =>
          endpoints.length > 0 || spans?.keeps(traceId, isSampled) === true,
        emit(span, isSampled) {
          queue.push(name, endpoints, span);
          spans?.take(withoutContent(span, actorName(name)), isSampled);
        },
      }),
  };
}

/** Prompts and answers stay here, unless a gateway's own setting sends them: OpenTelemetry asks for that, too. */
function withoutContent(span: Span, gateway: string): Span {
  const kept = span.attributes.filter(
    ({ key }) => key !== "gen_ai.prompt_json" && key !== "gen_ai.completion_json",
  );
  const name = { key: "gateway.name", value: { stringValue: gateway } };
  return { ...span, attributes: [...kept, name] };
}
