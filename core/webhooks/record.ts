import { sha256Hex } from "../crypto/digest.ts";
import { ApiError } from "../http/api-error.ts";
import { eventTime, type EventRecord } from "../entity/event.ts";
import { firstText } from "./pick.ts";
import type { Scheme } from "./scheme.ts";
import { isForm } from "./signed-content.ts";

const ID_LIMIT = 256;
const TYPE_LIMIT = 256;
const TITLE_LIMIT = 512;
const TEXT_LIMIT = 4096;

/** A body after verification: its value, and the text that is stored. */
export interface Payload {
  readonly value: unknown;
  readonly text: string;
}

/** Parses a verified body as JSON, or as an HTML form (Slack commands, Twilio); anything else is 400. */
export function parsePayload(body: Uint8Array, headers: Headers): Payload {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    return isForm(headers) ? fromForm(text) : { value: JSON.parse(text), text };
  } catch {
    throw new ApiError("payload_invalid", { message: "The payload is not valid JSON" });
  }
}

/** GitHub and Slack put the JSON into a form field named `payload`. */
function fromForm(text: string): Payload {
  const form = new URLSearchParams(text);
  const inner = form.get("payload");
  if (inner !== null) return { value: JSON.parse(inner), text: inner };
  const value = Object.fromEntries(form);
  return { value, text: JSON.stringify(value) };
}

/** The event record of a verified request. */
export async function toRecord(
  scheme: Scheme,
  headers: Headers,
  payload: Payload,
  fresh: { readonly id: string; readonly now: number },
): Promise<EventRecord> {
  const fields = scheme.fields ?? {};
  const field = (sources: Parameters<typeof firstText>[0], limit: number): string | null => {
    const text = firstText(sources, headers, payload.value);
    return text === null ? null : text.slice(0, limit).toWellFormed();
  };
  const id = firstText(fields.id, headers, payload.value);
  const type = field(fields.type, TYPE_LIMIT) ?? "event";
  return {
    id: await boundedId(id ?? fresh.id),
    type,
    action: field(fields.action, TYPE_LIMIT),
    title: field(fields.title, TITLE_LIMIT)?.split("\n", 1)[0] || type,
    description: field(fields.description, TEXT_LIMIT),
    url: field(fields.url, TEXT_LIMIT),
    actor: field(fields.actor, TYPE_LIMIT),
    payload: payload.text,
    timestamp: eventTime(fresh.now),
  };
}

/** Ids are keys: a long one is replaced by its digest instead of being cut, so that two never become one. */
async function boundedId(id: string): Promise<string> {
  return id.length <= ID_LIMIT && id.isWellFormed() ? id : `sha256:${await sha256Hex(id)}`;
}

/** Headers that are stored: what says who sent it. Signatures and credentials are not. */
const KEPT_HEADERS =
  /^(content-type|user-agent|x-request-id|webhook-id|webhook-timestamp|svix-id|x-[a-z]+-(event|event-id|delivery|topic|hook-id|hook-installation-target-id|request-timestamp|shop-domain)|linear-(delivery|event))$/;

/** The stored subset of a request's headers, as a JSON object. */
export function keptHeaders(headers: Headers): string {
  const kept: [string, string][] = [];
  for (const [name, value] of headers) {
    if (KEPT_HEADERS.test(name)) kept.push([name, value.slice(0, ID_LIMIT)]);
  }
  return JSON.stringify(Object.fromEntries(kept));
}
