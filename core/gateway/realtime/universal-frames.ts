import { bodyUpTo } from "../../http/stream.ts";
import { boundedJson } from "../../http/json.ts";
import * as v from "valibot";
import type { BodyHold } from "../../work/body-budget.ts";
import { base64InSteps } from "../../http/json/long-json.ts";
import type { System } from "../../ports.ts";
import { type ApiError, invalidRequest } from "../../http/api-error.ts";
import { parse } from "../../http/fields/body.ts";
import { errorBody } from "../../http/envelope.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { Forwarded } from "../call/forwarded.ts";
import type { ContentDecoding } from "../../http/body/content-decoder.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { bodiesFull } from "../../http/arriving-body.ts";
import { plainBody, streamOf } from "../wire/reply-body.ts";
import { collectsLog } from "../call/recording.ts";
import { sseEvents } from "../../http/sse.ts";

/** A request over the universal WebSocket: a step of the universal endpoint. */
export interface UniversalCreate {
  readonly eventId: string | null;
  /** Looked at by the reader of universal steps. */
  readonly step: Readonly<Record<string, unknown>>;
}

const create = v.looseObject({
  type: v.literal("universal.create", 'expected "universal.create"'),
  request: v.looseObject({
    eventId: v.nullish(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
    headers: v.nullish(v.record(v.string(), v.unknown())),
  }),
});

/** Bytes of an answer that goes out as one frame. */
const FRAME_LIMIT = 10 * 1024 * 1024;

/** Returns the id of the request in a message that is not answered; null without one. */
export function eventIdOf(message: string | Uint8Array): string | null {
  try {
    return readCreate(message).eventId;
  } catch {
    return null;
  }
}

/** Reads a client's message; throws `invalid_request`. */
export function readCreate(message: string | Uint8Array): UniversalCreate {
  if (typeof message !== "string") {
    throw invalidRequest("Send messages as text frames of JSON");
  }
  const { eventId = null, ...step } = parse(create, messageOf(message)).request;
  // Frames carry text: an answer in another encoding could not be read here.
  const headers = Object.entries(step.headers ?? {}).filter(
    ([name]) => !/^(?:accept-encoding|(?:cf|gw)-aig-authorization)$/i.test(name),
  );
  const own = eventId === null ? [] : [["gw-aig-event-id", eventId] as const];
  return { eventId, step: { ...step, headers: Object.fromEntries([...headers, ...own]) } };
}

function messageOf(text: string): unknown {
  const value = boundedJson(text);
  if (value !== undefined) return value;
  throw invalidRequest("The message is not valid JSON");
}

/**
 * Yields the frames of an answer: one for a whole answer; for a stream a beginning, its events and an end. Throws
 * `TransportError` for an answer that breaks off, is too long for a frame, or cannot be decoded.
 */
export async function* universalFrames(
  forwarded: Forwarded,
  { decoding, system }: { readonly decoding: ContentDecoding; readonly system: System },
): AsyncGenerator<string> {
  const { reply, call } = forwarded;
  const type = headerValue(reply.headers, "content-type") ?? "";
  const metadata = {
    cacheStatus: forwarded.cached ? "HIT" : "MISS",
    eventId: call.eventId,
    ...(collectsLog(call) ? { logId: forwarded.logId } : {}),
    step: String(forwarded.step),
    contentType: type,
    status: reply.status,
    ...(forwarded.dlp === null ? {} : { dlp: forwarded.dlp }),
  };
  const frame = (kind: string, more: object): string =>
    JSON.stringify({ type: `universal.${kind}`, metadata, ...more });
  const body = plainBody(reply, decoding);
  if (!/^text\/event-stream/i.test(type) || body === null) {
    yield frame("created", {
      response: await valueOf(await whole(body, call.held), type, system),
    });
    return;
  }
  yield frame("created", {});
  const source = body instanceof Uint8Array ? streamOf(body) : body;
  for await (const { data } of sseEvents(source)) {
    // `universal.done` says the same.
    if (data === "[DONE]") continue;
    yield JSON.stringify({
      type: "universal.stream",
      metadata: { eventId: call.eventId },
      response: jsonOr(data),
    });
  }
  yield frame("done", {});
}

export function universalError(error: ApiError, eventId: string | null): string {
  return JSON.stringify({
    type: "universal.error",
    metadata: { eventId, status: error.status },
    ...errorBody(error, "gateway"),
  });
}

async function whole(body: Forwarded["reply"]["body"], held?: BodyHold): Promise<Uint8Array> {
  const bytes = await bodyUpTo(body, FRAME_LIMIT, (size) => {
    if (held?.take(size) === false) throw bodiesFull();
  });
  if (bytes !== null) return bytes;
  throw new TransportError("broken", "The answer is too long for one message");
}

/** Returns JSON as a value, text as text, anything else as base64. */
async function valueOf(bytes: Uint8Array, type: string, system: System): Promise<unknown> {
  if (/^(?:audio|image|video)\/|^application\/octet-stream/i.test(type))
    return base64InSteps(bytes, system);
  try {
    return jsonOr(
      new TextDecoder("utf-8", { fatal: !/charset|^text\//i.test(type) }).decode(bytes),
    );
  } catch {
    return base64InSteps(bytes, system);
  }
}

function jsonOr(text: string): unknown {
  const value = boundedJson(text);
  return value === undefined ? text : value;
}
