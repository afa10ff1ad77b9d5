import { changedStream } from "../http/body/changed-stream.ts";
import { decodedStream } from "../http/body/content-decoder.ts";
import { inParts } from "../http/long-response.ts";
import { begins, endsAtOnce, piecesOf, readSoon, RESPONSE_SLICE } from "../http/body/read-soon.ts";
import { noteResponse, responseNote } from "../http/response-note.ts";
import { joinBytes, pulledStream, readUpTo, withPrefix } from "../http/stream.ts";
import { utf8 } from "../crypto/encoding.ts";
import { oncePer } from "../work/once-per.ts";
import type { ContentDecoder, StreamChange, System } from "../ports.ts";
import { FieldFilter, type SoughtFields, soughtFields } from "./field-filter.ts";
import { describesBytes, INSPECT_LIMIT, isJsonType, reshaped } from "./json-body.ts";
import type { Deprecations } from "./options.ts";
import type { ScheduledEntry } from "./phase.ts";
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
  /** Sentences for the `messages` of the response, where it has them. */
  readonly notes: readonly string[];
  readonly now: number;
}

/** The dependencies of {@link reviseResponse}. */
export type EncodedDeps = Pick<Deprecations, "decoding" | "platform">;

/**
 * Looks for deprecated fields in a JSON response; past their cut-off they leave it, and notes are added. Everything else passes
 * as it comes.
 */
export async function reviseResponse(
  response: Response,
  { entries, notes, now }: ResponseParts,
  known: EncodedDeps,
): Promise<RevisedResponse> {
  const concerned = soughtAmong(entries, response.status);
  const isWanted = concerned.entries.length > 0 || notes.length > 0;
  const { body, headers } = response;
  if (!isWanted || body === null || !isJsonType(headers))
    return { response, used: [], isSame: true };
  const filter = new FieldFilter({ sought: concerned, notes: notes.map(noteJson), now });
  const encoding = headers.get("content-encoding");
  const system = known.platform?.system;
  if (encoding === null) return await reviseFields(response, filter, system);
  const decoded = await decodedResponse(response, encoding, filter, known);
  if (decoded === null) return { response, used: [], isSame: true };
  const { encoded, plain } = decoded;
  if (plain === null) return { response: encoded ?? response, used: [], isSame: true };
  const revised = await reviseFields(plain, filter, system);
  // The encoded bytes go on as they came, unless something had to leave.
  return revised.isSame && encoded !== null ? { ...revised, response: encoded } : revised;
}

const NOTHING_SOUGHT = soughtFields([]);

const sought = oncePer((entries: readonly ScheduledEntry[]) => {
  const among = (places: readonly ScheduledEntry["where"][]): SoughtFields =>
    soughtFields(entries.filter(({ where }) => places.includes(where)));
  return {
    inSuccesses: among(["response", "request and response"]),
    inFailures: among(["error response"]),
  };
});

/** The fields that an answer of a status can have. */
function soughtAmong(entries: readonly ScheduledEntry[], status: number): SoughtFields {
  if (status < 300) return sought(entries).inSuccesses;
  return status >= 400 ? sought(entries).inFailures : NOTHING_SOUGHT;
}

/** Adds sentences to the `messages` of a response, where it has them: SDKs ignore them, but people see them. */
export async function withNotes(
  response: Response,
  notes: readonly string[],
  known: EncodedDeps,
): Promise<Response> {
  return (await reviseResponse(response, { entries: [], notes, now: 0 }, known)).response;
}

/** The note about a rewritten request: a rewrite that could mean something else is never silent. */
export function rewriteNote(entry: ScheduledEntry): string {
  const what = entry.fields.join(", ") || routeOf(entry);
  return `The deprecated ${what} was rewritten (${entry.id}). ${entry.rule ?? ""}`.trim();
}

function noteJson(message: string): string {
  return JSON.stringify({ code: NOTE_CODE, message });
}

/** Our own number for notes; `codes.ts` holds those of errors. */
const NOTE_CODE = 10414;

/** A response in its encoding, and without it. */
interface DecodedResponse {
  /** The bytes as they came; null where `plain` reads them. */
  readonly encoded: Response | null;
  /** Null for one that is not looked into. */
  readonly plain: Response | null;
}

/** Bytes of an encoded body that are decoded as a whole. */
const DECODED_LIMIT = 16 * 1024 * 1024;

/**
 * Undoes the encoding of a response. One that is whole within a moment can still go on with its bytes; a stream is decoded as
 * it arrives, and only if it may have to change. Null for an encoding that the runtime does not know: then the response is unread.
 */
async function decodedResponse(
  response: Response,
  encoding: string,
  filter: FieldFilter,
  { decoding, platform }: EncodedDeps,
): Promise<DecodedResponse | null> {
  const { body, headers } = response;
  const decoder = decoding.decoder(encoding);
  if (decoder === null || body === null) return null;
  const packed = await readSoon(body, INSPECT_LIMIT, platform?.system);
  const encoded = remade(response, packed, headers);
  if (packed instanceof ReadableStream) {
    if (!filter.mayChange) return { encoded, plain: null };
    const plain = remade(response, plainStream(packed, encoding, decoder), reshaped(headers));
    return { encoded: null, plain };
  }
  const decoded = isDecoded(packed, encoding)
    ? inParts(packed)
    : decodedStream(inParts(packed), decoder);
  const bytes = await readUpTo(decoded, DECODED_LIMIT).catch(() => null);
  // Most have nothing of it: a response of these bytes would cost more than the search.
  if (bytes === null || !filter.mayBeInBytes(bytes)) return { encoded, plain: null };
  const plain = remade(response, bytes, reshaped(headers));
  plain.headers.set("content-length", String(bytes.length));
  return { encoded, plain };
}

/** The first character of nearly all JSON. No body in an encoding that is known begins so, but for an empty one in `br`. */
const OPEN = 123;

/** Encodings whose beginning is none of JSON. */
const MARKED: ReadonlySet<string> = new Set(["gzip", "x-gzip", "zstd"]);

/** White space, `[` and `{`. */
const BEGINNINGS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0x5b, OPEN]);

/** Whether bytes are JSON although they are said to be encoded. */
function isDecoded([first = 0, second]: Uint8Array, encoding: string): boolean {
  const outer = encoding.slice(encoding.lastIndexOf(",") + 1);
  if (!MARKED.has(outer.trim().toLowerCase())) return first === OPEN;
  // The second byte tells a list from a frame of zstd that is skipped (RFC 8878, section 3.1.2).
  return BEGINNINGS.has(first) && second !== 0x2a;
}

/** Undoes an encoding, unless the runtime has done that already: workerd decodes what was fetched, and keeps the header. */
function plainStream(
  packed: ReadableStream<Uint8Array>,
  encoding: string,
  decoder: ContentDecoder,
): ReadableStream<Uint8Array> {
  const source = packed.getReader();
  let plain: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return pulledStream(
    async () => {
      if (plain === undefined) {
        const first = await firstChunk(source);
        const whole = withPrefix([first], source);
        plain = (isDecoded(first, encoding) ? whole : decodedStream(whole, decoder)).getReader();
      }
      return await plain.read();
    },
    (reason) => (plain ?? source).cancel(reason),
  );
}

/** Reads up to the first chunk with bytes in it; none at the end. */
async function firstChunk(source: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  for (;;) {
    const { done, value = new Uint8Array() } = await source.read();
    if (done || value.length > 0) return value;
  }
}

/** Looks at the beginning for the announcement; the fields of all chunks leave. */
async function reviseFields(
  response: Response,
  filter: FieldFilter,
  system: System | undefined,
): Promise<RevisedResponse> {
  const { body, headers } = response;
  const reader = (body ?? new Blob().stream()).getReader();
  const beginning = reader.read();
  beginning.catch(() => undefined);
  // The headers of a stream that has not begun do not wait for it, unless they describe its bytes.
  if (!describesBytes(headers) && !(await begins(beginning))) {
    const pieces = piecesOf(new Uint8Array(), beginning, reader, system);
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
  if (isWhole && !filter.mayBeInBytes(first.value)) {
    const { length } = first.value;
    const isFew = length <= RESPONSE_SLICE;
    // A response would copy bytes that it is given whole, which costs more than the search; a stream of few costs more.
    const same = isFew ? first.value : inParts(first.value);
    const kept = remade(response, same, headers);
    // Of a stream, servers would not tell the length.
    if (!isFew) kept.headers.set("content-length", String(length));
    return { response: kept, used: [], isSame: true };
  }
  const change = changeBy(filter);
  const head = change.push(first.value.subarray(0, RESPONSE_SLICE));
  const used = [...filter.used];
  if (!filter.mayChange) {
    const unread = piecesOf(first.value, next, reader);
    return { response: remade(response, unread, headers), used, isSame: true };
  }
  if (isWhole && first.value.length <= RESPONSE_SLICE) {
    const bytes = joinBytes([head, change.end()]);
    const isSame = !filter.hasChanged;
    return { response: remade(response, bytes, reshaped(headers)), used, isSame };
  }
  const later = piecesOf(first.value.subarray(RESPONSE_SLICE), next, reader, system);
  const rest = changedStream(later, change);
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

/** The response with another body; its note stays, but for the body. */
function remade(response: Response, body: BodyInit | null, headers: Headers): Response {
  // With the response itself, because workerd would encode once more what it was told to send as it is.
  const made = new Response(body, response);
  for (const name of response.headers.keys()) if (!headers.has(name)) made.headers.delete(name);
  const note = responseNote(response);
  return note === undefined ? made : noteResponse(made, { ...note, body: undefined });
}
