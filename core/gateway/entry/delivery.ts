import { whenReady } from "../../work/now-or-later.ts";
import { noteResponse, passingOf, type ResponseNote } from "../../http/response-note.ts";
import type { InboundResponse, System } from "../../ports.ts";
import { sharingScope } from "../call/caller.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { keptAlive } from "./silence.ts";
import type { ResumableRuns } from "./resume-run.ts";
import { respond } from "./respond.ts";
import { type Peeked, peekFirstLine } from "../wire/first-line.ts";
import { streamOf } from "../wire/reply-body.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** Options that add to server-sent events on their way. */
export interface DeliveryParts {
  readonly system: System;
  /** Keeps streams for clients that lose them. @default none */
  readonly resume?: ResumableRuns | undefined;
  /** Milliseconds of silence after which a stream of events gets a comment. @default never */
  readonly keepAliveMs?: number | undefined;
  /** Whether an access log wants to know of answers. */
  readonly accessLog: boolean;
}

/** Makes the response of an answer; `universal` also tells which step answered. */
export type DeliverAnswer = (
  forwarded: Forwarded,
  universal?: boolean,
) => Response | Promise<Response>;

/** {@link respond}, with what the options add to server-sent events on their way. */
export function delivery(parts: DeliveryParts): DeliverAnswer {
  const { resume, keepAliveMs, accessLog } = parts;
  const delivered: DeliverAnswer = (forwarded, universal = false) => {
    forwarded.call.traced?.answer(forwarded);
    if (resume === undefined && keepAliveMs === undefined) return respond(forwarded, universal);
    const events = eventsOf(forwarded.reply, resume !== undefined);
    if (events === null) return respond(forwarded, universal);
    return prepared(forwarded, events, parts).then((ready) => respond(ready, universal));
  };
  if (!accessLog) return delivered;
  return (forwarded, universal) =>
    whenReady(delivered(forwarded, universal), (response) => noted(response, forwarded));
}

/** Tells the access log what reading it from the answer would cost. */
function noted(response: Response, { reply: { body, status }, logId }: Forwarded): Response {
  return noteResponse(response, {
    failure: status < 400 ? undefined : providerFailure(status),
    body: body instanceof ReadableStream ? passingOf(body) : body,
    requestId: logId,
  });
}

/** The text of the provider's answer may hold what the caller sent, so it stays out of the access log. */
function providerFailure(status: number): ResponseNote["failure"] {
  const reason = `The provider answered ${status}: the log of the gateway has more under this id`;
  return { error: "provider_answer", reason };
}

/**
 * Returns the server-sent events of a reply, if they are plain text; those that came at once only where `whole` says so.
 */
function eventsOf(
  { status, headers, body }: InboundResponse,
  whole: boolean,
): ReadableStream<Uint8Array> | null {
  const type = headerValue(headers, "content-type") ?? "";
  const encoding = headerValue(headers, "content-encoding") ?? "identity";
  if (body === null || status !== 200 || !/^text\/event-stream\b/i.test(type)) return null;
  if (encoding.toLowerCase() !== "identity") return null;
  if (body instanceof ReadableStream) return body;
  return whole ? streamOf(body) : null;
}

async function prepared(
  forwarded: Forwarded,
  events: ReadableStream<Uint8Array>,
  parts: DeliveryParts,
): Promise<Forwarded> {
  const { resume, keepAliveMs, system } = parts;
  const { abortLink, name } = forwarded.call;
  const headers = forwarded.reply.headers.filter(([header]) => header !== "content-length");
  const alive = (stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> =>
    keepAliveMs === undefined ? stream : keptAlive(stream, keepAliveMs, system);
  const ready = (body: ReadableStream<Uint8Array>): Forwarded => ({
    ...forwarded,
    reply: { ...forwarded.reply, headers, body },
  });
  if (resume === undefined || abortLink === undefined) return ready(alive(events));
  const { stream, isLf } = await peek(events, parts);
  if (!isLf) return ready(alive(stream));
  const contentType = headerValue(headers, "content-type") ?? "";
  const scope = sharingScope(forwarded.call, forwarded.bringsKey);
  const { runId, body } = resume.hold(alive(stream), { name, scope, abortLink, contentType });
  return { ...ready(body), runId };
}

/** A head that waits must not be what a load balancer takes for silence. */
async function peek(
  events: ReadableStream<Uint8Array>,
  { keepAliveMs, system }: DeliveryParts,
): Promise<Peeked> {
  if (keepAliveMs === undefined) return peekFirstLine(events, null);
  const over = new AbortController();
  const late = system.sleep(keepAliveMs, over.signal).then(
    () => false as const,
    () => false as const,
  );
  const peeked = await peekFirstLine(events, late);
  over.abort(TIMER_OVER);
  return peeked;
}
