import { ApiError } from "../http/api-error.ts";
import { type ArrivingRoom, readArriving } from "../http/arriving-body.ts";
import { boundedJson } from "../http/json.ts";
import { changedJson } from "../http/json/json-source.ts";
import { copyOf } from "../net/client-address.ts";

/** Bytes of JSON that are looked into for a deprecated field. */
export const INSPECT_LIMIT: number = 1024 * 1024;

/** A message whose JSON was read, with the same bytes to pass on. */
export interface Inspected<Message> {
  readonly message: Message;
  /** Undefined for malformed JSON, or a body over {@link INSPECT_LIMIT}. */
  readonly json: unknown;
  /** The text of `json`. */
  readonly text: string;
}

/**
 * Reads a request's JSON once; the returned request carries the same bytes. Null leaves the request unread. With `room`
 * they count among the bodies in memory, and have to arrive in time.
 */
export async function inspectRequest(
  request: Request,
  room: ArrivingRoom | undefined,
): Promise<Inspected<Request> | null> {
  // A body that was already read can be neither inspected nor passed on.
  if (request.bodyUsed || request.body === null) return null;
  if (!isJson(request.headers) && !isCurlDefault(request.headers)) return null;
  const { body, json, text } = await peek(request.body, room);
  // `duplex` is not in TypeScript's RequestInit; Node asks for it when the body is a stream.
  const init = { body, duplex: "half" } as RequestInit;
  return { message: copyOf(request, new Request(request, init)), json, text };
}

/**
 * Reads a response's JSON once; the returned response carries the same bytes. Null leaves the response unread. Throws
 * `unavailable` for one that breaks off.
 */
export async function inspectResponse(response: Response): Promise<Inspected<Response> | null> {
  if (response.body === null || !isJson(response.headers)) return null;
  const { status, statusText, headers } = response;
  const { body, json, text } = await peek(response.body).catch((cause: unknown) => {
    throw new ApiError("unavailable", { message: "The answer broke off on its way", cause });
  });
  return { message: new Response(body, { status, statusText, headers }), json, text };
}

/**
 * A response whose JSON was changed to `body`: unchanged parts keep their bytes, and headers that describe the old
 * bytes go.
 */
export function withJson({ json, message, text }: Inspected<Response>, body: unknown): Response {
  const { status, statusText } = message;
  return new Response(changedJson(text, json, body), {
    status,
    statusText,
    headers: reshaped(message.headers),
  });
}

/** Does {@link withJson} with a request. */
export function requestWithJson(
  { json, message: request, text }: Inspected<Request>,
  body: unknown,
): Request {
  const bytes = new TextEncoder().encode(changedJson(text, json, body));
  const { method } = request;
  const init = { method, headers: reshaped(request.headers), body: bytes };
  return copyOf(request, new Request(request, init));
}

/** Headers that describe the bytes of a body. */
const DESCRIPTIONS = ["content-length", "content-encoding", "transfer-encoding", "etag", "digest"];

/** Whether headers would change with the bytes. */
export function describesBytes(headers: Headers): boolean {
  return DESCRIPTIONS.some((name) => headers.has(name));
}

/** Headers without those that describe the old bytes. */
export function reshaped(old: Headers): Headers {
  const headers = new Headers(old);
  for (const name of DESCRIPTIONS) headers.delete(name);
  return headers;
}

/** Headers of a request that make an answer another than the whole one in plain JSON. */
const UNFIT = ["accept-encoding", "if-none-match", "if-modified-since", "range", "if-range"];

/** Whether a request may be answered with another than the whole answer in plain JSON. */
export function asksForOther(headers: Headers): boolean {
  return UNFIT.some((name) => headers.has(name));
}

/** The headers of a request whose answer has to be read: the whole one in plain JSON. */
export function forPlainJson(old: Headers): Headers {
  const headers = new Headers(old);
  for (const name of UNFIT) headers.delete(name);
  return headers;
}

/** curl labels any body as a form by default. Routes of JSON read such a body as JSON, so it is inspected too. */
function isCurlDefault(headers: Headers): boolean {
  const isSmall = Number(headers.get("content-length") ?? 0) <= INSPECT_LIMIT;
  return isSmall && headers.get("content-type") === "application/x-www-form-urlencoded";
}

function isJson(headers: Headers): boolean {
  if (Number(headers.get("content-length") ?? 0) > INSPECT_LIMIT) return false;
  return isJsonType(headers) && !headers.has("content-encoding");
}

/** Whether a body is JSON, perhaps encoded. */
export function isJsonType(headers: Headers): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\b/i.test(headers.get("content-type") ?? "");
}

interface Peeked {
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly json: unknown;
  readonly text: string;
}

/** Reads up to the limit; a longer body is passed on as a stream of the bytes read and the rest. */
async function peek(stream: ReadableStream<Uint8Array>, room?: ArrivingRoom): Promise<Peeked> {
  const body = await readArriving(stream, INSPECT_LIMIT, room);
  if (body instanceof ReadableStream) return { body, json: undefined, text: "" };
  const text = new TextDecoder().decode(body);
  return { body, json: boundedJson(text), text };
}
