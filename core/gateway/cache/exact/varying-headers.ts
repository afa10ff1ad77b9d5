import type { HeaderPair } from "../../../ports.ts";
import type { ProviderTarget } from "../../providers/target.ts";

/**
 * Headers that name a request or its place in a trace. By their definitions no answer depends on them, and every request
 * has other values. `baggage` does not belong here: it carries the application's own data (W3C Baggage).
 */
const perRequest: ReadonlySet<string> = new Set([
  // https://www.w3.org/TR/trace-context/ and what was there before it
  "traceparent",
  "tracestate",
  "b3",
  "uber-trace-id",
  "sentry-trace",
  "newrelic",
  "elastic-apm-traceparent",
  "x-amzn-trace-id",
  "x-cloud-trace-context",
  "x-datadog-trace-id",
  "x-datadog-parent-id",
  "x-datadog-sampling-priority",
  // Names for logs; https://platform.openai.com/docs/api-reference/debugging-requests
  "x-request-id",
  "x-correlation-id",
  "x-client-request-id",
  "x-ms-client-request-id",
  // Tells a repetition from a new request (draft-ietf-httpapi-idempotency-key-header)
  "idempotency-key",
  "x-idempotency-key",
  // Counters of repetitions; https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
  "amz-sdk-invocation-id",
  "amz-sdk-request",
]);

/** Which client asks: built-in providers answer all alike; what is behind a custom provider is not known. */
const perClient: ReadonlySet<string> = new Set([
  "user-agent",
  "x-amz-user-agent",
  "x-goog-api-client",
]);

function isOfTrace(name: string): boolean {
  return perRequest.has(name) || name.startsWith("x-b3-");
}

/**
 * Whether a header is a client's telemetry: Stainless makes the SDKs of OpenAI and Anthropic, Fern those of Cohere,
 * Deepgram and ElevenLabs.
 */
function isTelemetry(name: string): boolean {
  return perClient.has(name) || name.startsWith("x-stainless-") || name.startsWith("x-fern-");
}

/**
 * Returns the headers of a request that can change its answer, in one order. Left out are those that change no answer, and
 * those that the gateway's settings name.
 */
export function varyingHeaders(
  headers: readonly HeaderPair[],
  { slug }: Pick<ProviderTarget, "slug">,
  ignored: readonly string[],
): string[] {
  const isCustom = slug.startsWith("custom-");
  const kept: string[] = [];
  for (const [name, value] of headers) {
    if (isOfTrace(name) || (!isCustom && isTelemetry(name)) || ignored.includes(name)) continue;
    kept.push(`${name}: ${value}`);
  }
  return kept.toSorted();
}
