import { parsedJson } from "../../http/json.ts";
import type { NowOrLater } from "../../work/now-or-later.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import { isMultipart, readForm } from "../../http/fields/read-form.ts";
import { eventTime, type EventRecord } from "../../entity/event.ts";
import {
  firstReader,
  idReader,
  nameOf,
  type IdReader,
  type Payload,
  type PickedId,
  type TextReader,
} from "../signing/pick.ts";
import type { EventFields, Scheme } from "../signing/scheme.ts";
import { FORM_FIELDS, isForm, isLongForm } from "../signing/signed-content.ts";

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const ID_LIMIT = 256;
const TYPE_LIMIT = 256;
const TITLE_LIMIT = 512;
const TEXT_LIMIT = 4096;

const FORM_BOUNDS = { parts: FORM_FIELDS, headers: 16 * 1024 };
const XML = /^(?:text|application)\/(?:[\w.-]+\+)?xml\b/i;

/**
 * Parses a verified body as JSON, as an HTML form (Slack commands, Twilio), or as XML, which becomes one JSON text;
 * anything else is 400. A promise only for a form in parts.
 */
export function parsePayload(body: Uint8Array, headers: Headers): NowOrLater<Payload> {
  const type = headers.get("content-type") ?? "";
  if (isMultipart(type)) return fromParts(body, type);
  try {
    const text = strictUtf8.decode(body);
    if (isForm(headers) && !isJsonText(text)) return fromForm(text);
    if (XML.test(type) && !isJsonText(text)) return { value: text, text: JSON.stringify(text) };
    return { value: JSON.parse(text), text };
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("payload_invalid", { message: "The payload is not valid JSON" });
  }
}

/** The parameters of an address as a payload, for events that come by GET. */
export function queryPayload(url: string): Payload {
  return payloadOf(new URL(url).searchParams);
}

/** The fields of a form in parts; of a file its name, type and size. */
async function fromParts(body: Uint8Array, type: string): Promise<Payload> {
  return payloadOf(await readForm(new Uint8Array(body), type, FORM_BOUNDS, "payload_invalid"));
}

/** curl labels any body as a form by default, so the text itself decides. */
function isJsonText(text: string): boolean {
  return /^\s*[{[]/.test(text) && parsedJson(text) !== undefined;
}

/** GitHub and Slack put the JSON into a form field named `payload`. */
function fromForm(text: string): Payload {
  if (isLongForm(text)) {
    const message = `The form has more than ${FORM_FIELDS} fields`;
    throw new ApiError("payload_invalid", { message });
  }
  const form = new URLSearchParams(text);
  const inner = form.get("payload");
  if (inner !== null) return { value: JSON.parse(inner), text: inner };
  return payloadOf(form);
}

/** Fields as an object; one that is repeated has the list of its values. */
function payloadOf(fields: Iterable<[string, FormDataEntryValue]>): Payload {
  const all = new Map<string, unknown[]>();
  for (const [name, given] of fields) {
    const value =
      typeof given === "string" ? given : { name: given.name, type: given.type, size: given.size };
    const known = all.get(name);
    if (known === undefined) all.set(name, [value]);
    else known.push(value);
  }
  const value = Object.fromEntries(
    [...all].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  );
  return { value, text: JSON.stringify(value) };
}

/** Readers of the event record of a source's requests, see {@link prepareFields}. */
export interface RecordReader {
  readonly id: IdReader;
  readonly fields: Readonly<Record<Exclude<keyof EventFields, "id">, TextReader>>;
  /** Names of the headers that are stored. */
  readonly keptHeaders: readonly string[];
  /** {@link eventTime}, which writes a time once: the events of a burst share their milliseconds. */
  readonly timeOf: (ms: number) => string;
}

/** Headers that every event keeps, because they identify the sender. Signatures and credentials are never stored. */
const KEPT_HEADERS = ["content-type", "user-agent", "x-request-id"] as const;

/** Makes the readers of a scheme's event record. */
export function prepareFields(scheme: Scheme): RecordReader {
  const { id, type, action, title, description, url, actor } = scheme.fields ?? {};
  const sources: string[] = [id, type, action].flatMap((list) => list ?? []).flat();
  if (scheme.timestamp !== undefined) sources.push(scheme.timestamp.source);
  if (scheme.signedId !== undefined) sources.push(scheme.signedId);
  const named = sources.filter((source) => source.startsWith("header:")).map(nameOf);
  return {
    id: idReader(id),
    fields: {
      type: firstReader(type),
      action: firstReader(action),
      title: firstReader(title),
      description: firstReader(description),
      url: firstReader(url),
      actor: firstReader(actor),
    },
    keptHeaders: [...new Set([...KEPT_HEADERS, ...named, ...(scheme.keptHeaders ?? [])])],
    timeOf: rememberedTimes(),
  };
}

function rememberedTimes(): (ms: number) => string {
  let last = Number.NaN;
  let text = "";
  return (ms) => {
    if (ms === last) return text;
    text = eventTime(ms);
    last = ms;
    return text;
  };
}

/** The event record of a verified request; a promise only if the id has to be shortened. */
export function toRecord(
  { fields, id: readId, timeOf }: RecordReader,
  headers: Headers,
  payload: Payload,
  fresh: { readonly id: () => string; readonly now: number },
): NowOrLater<EventRecord> {
  const field = (read: TextReader, limit: number): string | null => {
    const text = read(headers, payload);
    return text === null ? null : text.slice(0, limit).toWellFormed();
  };
  const picked = readId(headers, payload);
  const id = picked?.text ?? fresh.id();
  const type = field(fields.type, TYPE_LIMIT) ?? "event";
  const record: EventRecord = {
    id,
    type,
    action: field(fields.action, TYPE_LIMIT),
    title: field(fields.title, TITLE_LIMIT)?.split("\n", 1)[0] || type,
    description: field(fields.description, TEXT_LIMIT),
    url: field(fields.url, TEXT_LIMIT),
    actor: field(fields.actor, TYPE_LIMIT),
    payload: payload.text,
    timestamp: timeOf(fresh.now),
  };
  if (picked?.digested === true) return withDigest(record, picked, payload);
  return isBounded(id) ? record : digestId(id).then((digest) => ({ ...record, id: digest }));
}

async function withDigest(
  record: EventRecord,
  { text }: PickedId,
  payload: Payload,
): Promise<EventRecord> {
  const digest = await digestId(payload.text);
  const id = text === "" ? digest : `${text}:${digest}`;
  return { ...record, id: isBounded(id) ? id : await digestId(id) };
}

function isBounded(id: string): boolean {
  return id.length <= ID_LIMIT && id.isWellFormed();
}

/** Ids are keys: a long one is replaced by its digest instead of being cut, so that two never become one. */
async function digestId(id: string): Promise<string> {
  return `sha256:${await sha256Hex(id)}`;
}

/** The stored subset of a request's headers, as a JSON object. Asked for by name: listing them all costs far more. */
export function keptHeaders({ keptHeaders: names }: RecordReader, headers: Headers): string {
  const kept: Record<string, string> = {};
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value.slice(0, ID_LIMIT).toWellFormed();
  }
  return JSON.stringify(kept);
}
