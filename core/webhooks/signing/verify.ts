import { type NowOrLater, whenReady } from "../../work/now-or-later.ts";
import { parseInstant } from "../../http/fields/instant.ts";
import type { Key } from "./keys.ts";
import type { Checked } from "./remote-verifier.ts";
import type { Scheme, TimestampRule } from "./scheme.ts";
import { parseSignature, type ParsedSignature } from "./signature.ts";
import {
  isBodyBound,
  type ReadSource,
  signedContent,
  sourceReader,
  type SignedRequest,
} from "./signed-content.ts";

/** Why a request is refused. */
export type Refusal = "missing" | "malformed" | "stale" | "mismatch";

/** A strict integer; 16 digits are far beyond any time. */
const TIMESTAMP = /^(0|[1-9]\d{0,15})$/;

/**
 * Verifies the signature of a request over its raw bytes: any signature of the header may match any secret
 * that has not expired. Null when it is valid, at once where the keys can. Bad input is a refusal, never a throw.
 */
export function verify(
  scheme: Scheme,
  keys: readonly Key[],
  request: SignedRequest,
  now: number,
): NowOrLater<Refusal | null> {
  const read = sourceReader(request);
  const parsed = signaturesOf(scheme, read);
  if (typeof parsed === "string") return parsed;
  let timestamp: string | null = "";
  if (scheme.timestamp !== undefined) {
    const { source } = scheme.timestamp;
    timestamp = source.startsWith("pair:")
      ? (parsed.pairs.get(source.slice("pair:".length)) ?? null)
      : read(source);
    const time = timestamp === null ? null : timeIn(scheme.timestamp, timestamp);
    if (timestamp === null || time === null) return "malformed";
    if (!isFresh(scheme.timestamp, time, now)) return "stale";
  }
  const values = { timestamp, read };
  const content = signedContent(scheme, request, values);
  if (content === null) return "malformed";
  const checked = { request, read, now };
  const contentFor = (signed: SignedRequest, first: Uint8Array | null): ContentFor =>
    scheme.content.includes("{secret}")
      ? ({ signed: secret }) => signedContent(scheme, signed, { ...values, secret })
      : () => first;
  const attempts = attemptsOf(keys, parsed, now);
  const others = addressForms(scheme, request.url).map((url) => ({ ...request, url }));
  const otherFormMatches = (at: number): NowOrLater<boolean> => {
    const other = others[at];
    if (other === undefined) return false;
    const contentOfOther = contentFor(other, signedContent(scheme, other, values));
    return whenReady(
      anyMatches(attempts, contentOfOther, checked),
      (does) => does || otherFormMatches(at + 1),
    );
  };
  const matches = whenReady(
    anyMatches(attempts, contentFor(request, content), checked),
    (does) => does || otherFormMatches(0),
  );
  if (!scheme.content.includes("{form}")) return whenReady(matches, refusalOf);
  return whenReady(matches, async (does) => refusalOf(does && (await isBodyBound(request))));
}

function refusalOf(matches: boolean): Refusal | null {
  return matches ? null : "mismatch";
}

/**
 * Other forms in which the sender may have signed the address. URL parsers write apostrophes as `%27` in queries
 * (https://url.spec.whatwg.org/#special-query-percent-encode-set), and Bun passes on only that form. Twilio signs some
 * addresses with a port and some without (https://www.twilio.com/docs/usage/webhooks/webhooks-security).
 */
function addressForms(scheme: Scheme, url: string): string[] {
  if (!scheme.content.includes("{url}")) return [];
  const forms = [url, withOtherPort(url)];
  const query = url.indexOf("?");
  if (query !== -1 && url.includes("%27", query))
    forms.push(...forms.map((form) => withApostrophes(form)));
  return forms.slice(1);
}

function withApostrophes(url: string): string {
  const query = url.indexOf("?");
  return url.slice(0, query) + url.slice(query).replaceAll("%27", "'");
}

/** The address without its port, or with that of its protocol. */
function withOtherPort(url: string): string {
  const [, origin = "", port, rest = ""] =
    /^(https?:\/\/[^/?#]*?)(:\d+)?([/?#].*)?$/is.exec(url) ?? [];
  if (port !== undefined) return origin + rest;
  return `${origin}:${origin.startsWith("https") ? 443 : 80}${rest}`;
}

/** The signatures of a request, or why there are none. */
function signaturesOf(scheme: Scheme, read: ReadSource): ParsedSignature | Refusal {
  const given = scheme.signature.flatMap((source) => read(source) || []);
  const [first] = given;
  if (first === undefined) return "missing";
  const parsed = parseSignature(scheme, first);
  if (parsed === null || parsed.candidates.length === 0) return "malformed";
  if (scheme.everySignature !== true) return parsed;
  const others = given.slice(1).flatMap((one) => parseSignature(scheme, one)?.candidates ?? []);
  return { ...parsed, candidates: [...parsed.candidates, ...others] };
}

/** A time in the unit of its rule, `iso` in ms; null when it is malformed. */
function timeIn({ unit }: TimestampRule, text: string): number | null {
  if (unit === "iso") return parseInstant(text);
  return TIMESTAMP.test(text) ? Number(text) : null;
}

function isFresh(rule: TimestampRule, timestamp: number, now: number): boolean {
  if (rule.toleranceSeconds === null) return true;
  // Compared in whole units of the scheme, as senders do: the bound itself is inside.
  const unit = rule.unit === "s" ? 1000 : 1;
  const difference = Math.abs(Math.trunc(now / unit) - timestamp);
  return difference <= (rule.toleranceSeconds * 1000) / unit;
}

/** A signature and a key that it may have been made with. */
interface Attempt {
  readonly key: Key;
  readonly signature: Uint8Array;
}

function attemptsOf(keys: readonly Key[], parsed: ParsedSignature, now: number): Attempt[] {
  const attempts: Attempt[] = [];
  for (const key of keys) {
    if (key.expires <= now) continue;
    for (const { bytes, version } of parsed.candidates)
      if (version === key.version) attempts.push({ key, signature: bytes });
  }
  return attempts;
}

/** The signed text for a key. */
type ContentFor = (key: Key) => Uint8Array | null;

function anyMatches(
  attempts: readonly Attempt[],
  contentFor: ContentFor,
  checked: Checked,
  from = 0,
): NowOrLater<boolean> {
  const attempt = attempts[from];
  if (attempt === undefined) return false;
  const content = contentFor(attempt.key);
  return whenReady(
    content !== null && attempt.key.verify(attempt.signature, content, checked),
    (does) => does || anyMatches(attempts, contentFor, checked, from + 1),
  );
}
