import type { HeaderPair } from "../../ports.ts";
import { dlpHeaders } from "../guard/checkers/inspect.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { replyHygiene, toHeadersInit } from "../wire/header-hygiene.ts";
import { NULL_BODY } from "../wire/reply-body.ts";
import { collectsLog } from "../call/recording.ts";
import { ownHeaders } from "../wire/own-headers.ts";

/** Returns the facts that the gateway adds to an answer, under both prefixes. */
export function gatewayHeaders(forwarded: Forwarded, universal: boolean): HeaderPair[] {
  const { call, answeredBy, routing, logId } = forwarded;
  const pairs: HeaderPair[] = [];
  const add = (name: string, value: string): void => {
    pairs.push(...ownHeaders(name, value));
  };
  add("cache-status", forwarded.cached ? "HIT" : "MISS");
  if (forwarded.similarity !== undefined)
    add("cache-similarity", (Math.floor(forwarded.similarity * 1e4) / 1e4).toFixed(4));
  add("event-id", call.eventId);
  add("request-id", logId);
  if (collectsLog(call)) add("log-id", logId);
  if (answeredBy !== undefined) {
    add("model", answeredBy.model);
    add("provider", answeredBy.provider);
  }
  if (routing !== undefined) {
    add("routed-model", routing.model);
    add("routing-reason", routing.reason);
    add("routing-decision-id", routing.id);
  }
  const { dropped = [] } = forwarded;
  if (dropped.length > 0) add("dropped", dropped.join(", "));
  if (forwarded.estimated !== undefined) add("estimated", forwarded.estimated);
  const { unknown = [] } = call.controls;
  if (unknown.length > 0) add("unknown-headers", unknown.join(", "));
  if (universal) add("step", String(forwarded.step));
  if (forwarded.runId !== undefined) add("run-id", forwarded.runId);
  if (forwarded.dlp !== null) pairs.push(...dlpHeaders(forwarded.dlp));
  return pairs;
}

/** Returns the response for the client: the provider's status, bytes and clean headers, and the gateway's facts. */
export function respond(forwarded: Forwarded, universal: boolean = false): Response {
  const { status, headers, body } = forwarded.reply;
  const pairs = [...replyHygiene(headers), ...gatewayHeaders(forwarded, universal)];
  // A transport may hand over shared memory in type only; a Response takes plain bytes.
  const bytes = body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : body;
  return new Response(NULL_BODY.has(status) ? null : bytes, {
    status,
    headers: toHeadersInit(pairs),
  });
}
