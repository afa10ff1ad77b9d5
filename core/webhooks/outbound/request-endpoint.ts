import type { ActorContext, HeaderPair, SqlRow, Transport } from "../../ports.ts";
import { readTraceparent, type Tracer } from "../../trace/trace-context.ts";
import { agentTarget, type AgentTargets, deliverToAgent } from "./agent-target.ts";
import {
  attempt,
  chatBody,
  signedHeaders,
  TIMEOUT_DEFAULT_S,
  type OutboundMessage,
} from "./attempt.ts";
import { openHeaders } from "./endpoint-headers.ts";
import type { EndpointSecrets } from "./endpoint-secrets.ts";
import type { AttemptResult } from "./retry-policy.ts";
import type { Sealer } from "./sealer.ts";

export interface EndpointSender {
  readonly context: ActorContext;
  readonly agents: AgentTargets;
  /** Requests go to addresses that a caller chose: never anything but the guarded transport. */
  readonly egress: Transport;
  readonly secrets: EndpointSecrets;
  readonly sealer: Sealer;
  /** @default no tracing */
  readonly tracer: Tracer | undefined;
}

/** An attempt of a delivery. */
interface Sent {
  readonly delivery: string;
  readonly message: OutboundMessage;
  readonly number: number;
}

/** Sends one request to an endpoint, or one event to the agent that it is, with a span below that of the request which sent the message. */
export async function requestEndpoint(
  sender: EndpointSender,
  endpoint: SqlRow,
  { delivery, message, number }: Sent,
): Promise<AttemptResult> {
  const parent = typeof endpoint["trace"] === "string" ? endpoint["trace"] : null;
  const span = sender.tracer?.begin(readTraceparent(parent));
  const trace: HeaderPair[] = span === undefined ? [] : [["traceparent", span.traceparent]];
  const target = agentTarget(String(endpoint["url"]));
  const result = await (target === null
    ? request(sender, endpoint, message, trace)
    : deliverToAgent(sender.context, sender.agents, {
        target,
        id: delivery,
        message,
        entity: endpoint["entity"] == null ? null : String(endpoint["entity"]),
        trace: span?.traceparent ?? parent,
        timeoutMs: timeoutOf(endpoint),
      }));
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
  const timeoutMs = timeoutOf(endpoint);
  const own = await openHeaders(sender.sealer, endpoint);
  if (own === null) return sealedShut("headers", "set them again");
  if (endpoint["format"] === "chat") {
    const extra = [...own, ...trace];
    return attempt(egress, context.system, { url, extra, body: chatBody(message), timeoutMs });
  }
  const secrets = await sender.secrets.open(endpoint);
  if (secrets.length === 0) return sealedShut("secret", "rotate it");
  const headers = await signedHeaders(message, secrets, context.system);
  const extra = [...own, ...headers, ...trace];
  return attempt(egress, context.system, { url, extra, body: message.payload, timeoutMs });
}

function timeoutOf(endpoint: SqlRow): number {
  return 1000 * Number(endpoint["timeout_seconds"] ?? TIMEOUT_DEFAULT_S);
}

/** The result where something that was sealed with a lost key is needed: no attempt would differ. */
function sealedShut(what: string, remedy: string): AttemptResult {
  return {
    status: null,
    error: `The endpoint's ${what} cannot be opened: ${remedy}`,
    retryAfter: null,
    refused: true,
    body: "",
    headers: null,
    durationMs: 0,
  };
}
