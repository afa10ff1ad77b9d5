import type { ActorContext, HeaderPair, SqlRow, Transport } from "../../ports.ts";
import { readTraceparent, type Tracer } from "../../trace/trace-context.ts";
import { attempt, chatBody, signedHeaders, type OutboundMessage } from "./attempt.ts";
import type { EndpointSecrets } from "./endpoint-secrets.ts";
import type { AttemptResult } from "./retry-policy.ts";

export interface EndpointSender {
  readonly context: ActorContext;
  /** Requests go to addresses that a caller chose: never anything but the guarded transport. */
  readonly egress: Transport;
  readonly secrets: EndpointSecrets;
  /** @default no tracing */
  readonly tracer: Tracer | undefined;
}

/** Sends one request to an endpoint, with a span below that of the request which sent the message. */
export async function requestEndpoint(
  sender: EndpointSender,
  endpoint: SqlRow,
  { message, number }: { readonly message: OutboundMessage; readonly number: number },
): Promise<AttemptResult> {
  const parent = typeof endpoint["trace"] === "string" ? endpoint["trace"] : null;
  const span = sender.tracer?.begin(readTraceparent(parent));
  const trace: HeaderPair[] = span === undefined ? [] : [["traceparent", span.traceparent]];
  const result = await request(sender, endpoint, message, trace);
  span?.end({
    name: "webhook delivery",
    kind: "client",
    attributes: {
      "http.request.method": "POST",
      // The host alone: paths and queries of endpoints can hold keys.
      "server.address": URL.parse(String(endpoint["url"]))?.hostname ?? null,
      "http.response.status_code": result.status,
      "http.request.resend_count": number === 1 ? null : number - 1,
      "error.type": result.error === null ? null : String(result.status ?? "no_answer"),
      "causey.part": "webhooks",
      "causey.webhook.endpoint": String(endpoint["id"]),
      "causey.webhook.message": message.id,
      "causey.webhook.type": message.type,
    },
    isError: result.error !== null,
  });
  return result;
}

async function request(
  sender: EndpointSender,
  endpoint: SqlRow,
  message: OutboundMessage,
  trace: readonly HeaderPair[],
): Promise<AttemptResult> {
  const { context, egress } = sender;
  const url = String(endpoint["url"]);
  if (endpoint["format"] === "chat")
    return attempt(egress, context.system, { url, extra: trace, body: chatBody(message) });
  const secrets = await sender.secrets.open(endpoint);
  if (secrets.length === 0) {
    const error = "The endpoint's secret cannot be opened: rotate it";
    return {
      status: null,
      error,
      retryAfter: null,
      refused: true,
      body: "",
      headers: null,
      durationMs: 0,
    };
  }
  const headers = await signedHeaders(message, secrets, context.system.now());
  return attempt(egress, context.system, {
    url,
    extra: [...headers, ...trace],
    body: message.payload,
  });
}
