import { isObject } from "../http/json.ts";
import { decodedStream } from "../http/body/content-decoder.ts";
import { readArriving } from "../http/arriving-body.ts";
import { changedStream } from "../http/body/changed-stream.ts";
import { joinBytes, pulledStream, readUpTo, type StreamRead, withPrefix } from "../http/stream.ts";
import { utf8 } from "../crypto/encoding.ts";
import type { StreamChange } from "../ports.ts";
import { FieldFilter, hasSign } from "./field-filter.ts";
import {
  describesBytes,
  INSPECT_LIMIT,
  inspectResponse,
  isJsonType,
  reshaped,
  withJson,
} from "./json-body.ts";
import type { Deprecations } from "./options.ts";
import { isEnforced, type ScheduledEntry } from "./phase.ts";
import { routeOf } from "./refuse.ts";

/** The effect on a response of the entries finer than an endpoint. */
export interface RevisedResponse {
  readonly response: Response;
  /** The entries that the response really carries. */
  readonly used: readonly ScheduledEntry[];
  /** Whether the bytes of the body are those that came. */
  readonly isSame: boolean;
}

/** What a response is looked at for. */
export interface ResponseParts {
  readonly entries: readonly ScheduledEntry[];
  /** Entries whose rewriting of the request is to be noted. */
  readonly notes: readonly ScheduledEntry[];
  readonly now: number;
}

/** Looks for deprecated fields in a JSON response; past their cut-off they leave it. Everything else passes as it comes. */
export async function reviseResponse(
  response: Response,
  { entries, notes, now }: ResponseParts,
  { decoding }: Pick<Deprecations, "decoding">,
): Promise<RevisedResponse> {
  const concerned = entries.filter(({ where }) => isIn(where, response.status));
  const isWanted = concerned.length > 0 || notes.length > 0;
  const { body, headers } = response;
  if (!isWanted || body === null || !isJsonType(headers))
    return { response, used: [], isSame: true };
  const parts = { entries: concerned, notes, now };
  const encoding = headers.get("content-encoding");
  if (encoding === null) return await revisePlain(response, parts);
  const decoder = decoding.decoder(encoding);
  if (decoder === null) return { response, used: [], isSame: true };
  const packed = await readArriving(body, INSPECT_LIMIT, undefined);
  const same = { response: remade(response, packed, headers), used: [], isSame: true };
  if (packed instanceof ReadableStream)
    return new FieldFilter(concerned, now).mayChange
      ? await revisePlain(
          remade(response, decodedStream(packed, decoder), reshaped(headers)),
          parts,
        )
      : same;
  const bytes = await readUpTo(
    new Blob([packed]).stream().pipeThrough(decoder),
    DECODED_LIMIT,
  ).catch(() => null);
  if (bytes === null) return same;
  const plain = remade(response, bytes, reshaped(headers));
  plain.headers.set("content-length", String(bytes.length));
  const revised = await revisePlain(plain, parts);
  // The encoded bytes go on as they came, unless something had to leave.
  return revised.isSame ? { ...revised, response: same.response } : revised;
}

/** Bytes of an encoded body that are decoded as a whole. */
const DECODED_LIMIT = 16 * 1024 * 1024;

/** Whether an answer of a status can have the fields of a place. */
function isIn(where: ScheduledEntry["where"], status: number): boolean {
  if (where === "error response") return status >= 400;
  return (where === "response" || where === "request and response") && status < 300;
}

async function revisePlain(
  response: Response,
  { entries, notes, now }: ResponseParts,
): Promise<RevisedResponse> {
  const noted = notes.length === 0 ? response : await withNotes(response, notes);
  const [first] = entries;
  if (first === undefined) return { response: noted, used: [], isSame: noted === response };
  return first.where === "error response"
    ? await reviseFailure(noted, entries, now)
    : await reviseFields(noted, new FieldFilter(entries, now));
}

/** A rewrite that could mean something else is never silent: SDKs ignore `messages`, but people see them. */
export async function withNotes(
  response: Response,
  notes: readonly ScheduledEntry[],
): Promise<Response> {
  const inspected = await inspectResponse(response);
  if (inspected === null) return response;
  const { json, message } = inspected;
  if (!isObject(json) || !Array.isArray(json["messages"])) return message;
  const added = notes.map((entry) => ({
    code: NOTE_CODE,
    message:
      `The deprecated ${entry.fields.join(", ") || routeOf(entry)} was rewritten (${entry.id}). ${entry.rule ?? ""}`.trim(),
  }));
  return withJson(inspected, { ...json, messages: [...json["messages"], ...added] });
}

/** Our own number for notes about a rewritten request; `codes.ts` holds those of errors. */
const NOTE_CODE = 10414;

async function reviseFailure(
  response: Response,
  entries: readonly ScheduledEntry[],
  now: number,
): Promise<RevisedResponse> {
  const inspected = await inspectResponse(response);
  if (inspected === null) return { response, used: [], isSame: true };
  const { json, text, message } = inspected;
  const used = entries.filter((entry) => hasSign(entry, text));
  const ended = used.filter((entry) => isEnforced(entry, now));
  if (ended.length === 0 || !isObject(json)) return { response: message, used, isSame: true };
  const modern = ended.reduce((body, entry) => entry.modernFailure?.(body) ?? body, json);
  return { response: withJson(inspected, modern), used, isSame: false };
}

/** Bytes that are looked at in one turn, and for the announcement. */
const SLICE = 64 * 1024;

/** Looks at the beginning for the announcement; the fields of all chunks leave. */
async function reviseFields(response: Response, filter: FieldFilter): Promise<RevisedResponse> {
  const { body, headers } = response;
  const reader = (body ?? new Blob().stream()).getReader();
  const beginning = reader.read();
  beginning.catch(() => undefined);
  // The headers of a stream that has not begun do not wait for it, unless they describe its bytes.
  if (!describesBytes(headers) && !(await begins(beginning))) {
    const pieces = piecesOf(new Uint8Array(), beginning, reader);
    const isSame = !filter.mayChange;
    const passed = isSame ? pieces : changedStream(pieces, changeBy(filter));
    return { response: remade(response, passed, headers), used: [], isSame };
  }
  const first = await beginning;
  if (first.done) return { response: remade(response, null, headers), used: [], isSame: true };
  const next = reader.read();
  // A failure comes to the reader of the response, if there is one.
  next.catch(() => undefined);
  const isWhole =
    headers.get("content-length") === String(first.value.length) || (await endsAtOnce(next));
  if (isWhole && !filter.mayBeIn(new TextDecoder().decode(first.value)))
    return { response: remade(response, first.value, headers), used: [], isSame: true };
  const change = changeBy(filter);
  const head = change.push(first.value.subarray(0, SLICE));
  const used = [...filter.used];
  if (!filter.mayChange) {
    const unread = piecesOf(first.value, next, reader);
    return { response: remade(response, unread, headers), used, isSame: true };
  }
  if (isWhole && first.value.length <= SLICE) {
    const bytes = joinBytes([head, change.end()]);
    const isSame = used.length === 0;
    return { response: remade(response, bytes, reshaped(headers)), used, isSame };
  }
  const rest = changedStream(piecesOf(first.value.subarray(SLICE), next, reader), change);
  const changed = withPrefix([head], rest.getReader());
  return { response: remade(response, changed, reshaped(headers)), used, isSame: false };
}

function changeBy(filter: FieldFilter): StreamChange {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    push: (chunk) => utf8(filter.push(decoder.decode(chunk, { stream: true }))),
    end: () => utf8(filter.push(decoder.decode()) + filter.end()),
  };
}

/** A stream of bytes that were read and of what follows them, in slices; its next chunk is on the way. */
function piecesOf(
  bytes: Uint8Array,
  next: Promise<StreamRead>,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  let left = bytes;
  let arriving: Promise<StreamRead> | null = next;
  return pulledStream(
    async () => {
      if (left.length === 0) {
        const { done, value } = await (arriving ?? reader.read());
        arriving = null;
        if (done) return { done, value };
        left = value;
      }
      const value = left.subarray(0, SLICE);
      left = left.subarray(SLICE);
      return { done: false, value };
    },
    (reason) => reader.cancel(reason),
  );
}

/** Turns of microtasks that a body which is there as a whole takes at most to begin, and to end. */
const TURNS = 32;

async function endsAtOnce(next: Promise<StreamRead>): Promise<boolean> {
  return (await settlesAtOnce(next)) && (await next.catch(() => null))?.done === true;
}

/** Whether a body is there. Some runtimes (Workers) read none without their event loop: it is there if it comes with another that is. */
async function begins(beginning: Promise<StreamRead>): Promise<boolean> {
  if (await settlesAtOnce(beginning)) return true;
  await new Response(" ").text();
  return await settlesAtOnce(beginning);
}

async function settlesAtOnce(read: Promise<StreamRead>): Promise<boolean> {
  const seen = { settled: false };
  const settle = (): void => void (seen.settled = true);
  read.then(settle, settle);
  for (let turn = 0; turn < TURNS && !seen.settled; turn++) await Promise.resolve();
  return seen.settled;
}

function remade(
  { status, statusText }: Response,
  body: BodyInit | null,
  headers: Headers,
): Response {
  return new Response(body, { status, statusText, headers });
}
