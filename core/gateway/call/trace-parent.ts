import { ApiError } from "../../http/api-error.ts";
import { readTraceparent } from "../../trace/trace-context.ts";
import type { HeaderPair } from "../../ports.ts";
import { type GatewayHeader, gatewayHeader, named } from "./controls.ts";
import { headerValue } from "../wire/header-hygiene.ts";

export interface TraceParent {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits; null: the request begins its part of the trace. */
  readonly spanId: string | null;
  /** Whether the caller keeps the trace; null where it does not say. */
  readonly isSampled: boolean | null;
}

/**
 * Reads the headers `cf-aig-otel-trace-id` and `cf-aig-otel-parent-span-id`, else `traceparent` (W3C Trace
 * Context, 3.2). A malformed header of ours is a 400 that names it; a malformed `traceparent` is ignored.
 */
export function traceParent(headers: readonly HeaderPair[]): TraceParent | null {
  const traceId = hex(headers, TRACE_ID, 32);
  const spanId = hex(headers, PARENT_SPAN_ID, 16);
  const inherited = readTraceparent(headerValue(headers, "traceparent"));
  if (traceId !== null) return { traceId, spanId, isSampled: null };
  return inherited === null ? null : { ...inherited, spanId: spanId ?? inherited.spanId };
}

const TRACE_ID = named("otel-trace-id");
const PARENT_SPAN_ID = named("otel-parent-span-id");

function hex(headers: readonly HeaderPair[], names: GatewayHeader, digits: number): string | null {
  const value = gatewayHeader(headers, names)?.trim().toLowerCase() ?? null;
  if (value === null) return null;
  if (value.length === digits && /^[0-9a-f]+$/.test(value) && !/^0+$/.test(value)) return value;
  const name = headerValue(headers, names[0]) === null ? names[1] : names[0];
  throw new ApiError("invalid_request", {
    message: `Header ${name}: expected ${digits} hexadecimal digits, not all zero, got "${value.slice(0, 64)}"`,
  });
}
