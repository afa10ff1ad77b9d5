import { joinBytes } from "../../http/stream.ts";
import { boundedJson } from "../../http/json.ts";
import { crc32 } from "../../crypto/crc32.ts";
import { sha256Hex } from "../../crypto/digest.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { type Payload, textAt } from "./pick.ts";
import type { RequestSource, Scheme, Source } from "./scheme.ts";

/** A request as signers and verifiers see it. */
export interface SignedRequest {
  readonly method: string;
  /** The address that the sender used, with its query. */
  readonly url: string;
  readonly headers: Headers;
  /** The raw bytes, before any decoding. */
  readonly body: Uint8Array;
}

/** Reads sources of a request; the body is parsed when one first asks for it. */
export type ReadSource = (source: RequestSource) => string | null;

/** A reader of a request's headers, address and JSON body; `pair:` sources are the signature parser's and null here. */
export function sourceReader(request: SignedRequest): ReadSource {
  let payload: Payload | undefined;
  const json = (): Payload => {
    if (payload !== undefined) return payload;
    const text = new TextDecoder().decode(request.body);
    return (payload = { value: boundedJson(text), text });
  };
  return (source) => {
    const name = source.slice(source.indexOf(":") + 1);
    if (source.startsWith("header:")) return request.headers.get(name);
    if (source.startsWith("query:")) return new URL(request.url).searchParams.get(name);
    return source.startsWith("body:") ? textAt(json(), name) : null;
  };
}

/** The values of a request that signers and verifiers have read already. */
export interface ReadValues {
  readonly timestamp: string;
  readonly read: ReadSource;
  /** The secret, where the scheme signs it. @default "" */
  readonly secret?: string | undefined;
}

/** The bytes that a scheme signs; null when a part of them is missing. */
export function signedContent(
  scheme: Scheme,
  request: SignedRequest,
  values: ReadValues,
): Uint8Array | null {
  if (scheme.content === "{body}") return request.body;
  const parts: Uint8Array[] = [];
  for (const [literal, token] of templateParts(scheme.content)) {
    if (token === "body") {
      parts.push(request.body);
      continue;
    }
    const text = token === undefined ? literal : tokenText(token, { ...values, scheme, request });
    if (text === null) return null;
    parts.push(utf8(text));
  }
  return joinBytes(parts);
}

/** Whether Twilio's signature covers the body: as form parameters, or by its hash in the signed URL. */
export async function isBodyBound(request: SignedRequest): Promise<boolean> {
  if (isForm(request.headers) || request.body.length === 0) return true;
  const query = request.url.split("?", 2)[1] ?? "";
  return new URLSearchParams(query).get("bodySHA256") === (await sha256Hex(request.body));
}

/** Whether the body is an HTML form. */
export function isForm(headers: Headers): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers.get("content-type") ?? "");
}

function* templateParts(template: string): Generator<[literal: string, token: string | undefined]> {
  for (const match of template.matchAll(/\{([^{}]+)\}|[^{}]+/g)) yield [match[0], match[1]];
}

interface ContentParts extends ReadValues {
  readonly scheme: Scheme;
  readonly request: SignedRequest;
}

function tokenText(
  token: string,
  { scheme, request, secret = "", timestamp, read }: ContentParts,
): string | null {
  if (token.startsWith("body:") || token.startsWith("header:")) return read(token as Source);
  if (token.startsWith("fields:")) return fieldLines(token.slice("fields:".length), read);
  switch (token) {
    case "timestamp":
      return timestamp;
    case "id":
      return scheme.signedId === undefined ? null : read(scheme.signedId);
    case "secret":
      return secret;
    case "crc32":
      return String(crc32(request.body));
    case "method":
      return request.method;
    case "url":
      return request.url;
    case "decodedUrl":
      return decodedUrl(request.url);
    default:
      return token === "form" ? sortedForm(request) : null;
  }
}

/** The fields that the body has, each as a line with its name and one with its value (Amazon SNS). */
function fieldLines(names: string, read: ReadSource): string {
  const lines = names.split(",").flatMap((name) => {
    const value = read(`body:${name}`);
    return value === null ? [] : [`${name}\n${value}\n`];
  });
  return lines.join("");
}

/**
 * Undoes the twelve escapes that HubSpot undoes before it signs an address, and no other
 * (https://developers.hubspot.com/docs/apps/developer-platform/build-apps/authentication/request-validation).
 */
function decodedUrl(url: string): string {
  return url.replaceAll(/%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi, decodeURIComponent);
}

/** Fields of a form that are read: senders use some dozens, and a body may hold hundreds of thousands. */
export const FORM_FIELDS = 2000;

/** Whether the text of a form has more than {@link FORM_FIELDS} fields. */
export function isLongForm(text: string): boolean {
  let fields = 0;
  for (let at = text.indexOf("&"); at !== -1; at = text.indexOf("&", at + 1))
    if (++fields > FORM_FIELDS) return true;
  return false;
}

/** Twilio's form parameters: names sorted, each followed by its values, sorted and without repeats; null for too many. */
function sortedForm(request: SignedRequest): string | null {
  if (!isForm(request.headers)) return "";
  const text = new TextDecoder().decode(request.body);
  if (isLongForm(text)) return null;
  const form = new URLSearchParams(text);
  const values = new Map<string, Set<string>>();
  for (const [name, value] of form) {
    const known = values.get(name);
    if (known === undefined) values.set(name, new Set([value]));
    else known.add(value);
  }
  return [...values.keys()]
    .toSorted()
    .flatMap((name) => [...(values.get(name) ?? [])].toSorted().map((value) => name + value))
    .join("");
}
