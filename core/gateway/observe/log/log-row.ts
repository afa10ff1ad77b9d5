import type { System } from "../../../ports.ts";
import type { LoggedBody } from "../../call/ended-attempt.ts";
import { isSecretHeader } from "../../wire/header-hygiene.ts";
import { credentialHeaders } from "../../providers/known/table.ts";
import { secretValues } from "../../wire/raw-path.ts";
import type { Observation } from "../../call/recording.ts";
import type { Outbound } from "../../call/outbound.ts";

/** Whether a request's body of this type is kept. */
export function isLoggedType(contentType: string): boolean {
  return /^(?:text\/|application\/(?:[\w.-]+\+)?json\b|application\/x-www-form-urlencoded)/i.test(
    contentType,
  );
}

/** Cuts the text of a body of `size` bytes behind `keep` bytes; null keeps nothing. */
export function loggedBody(text: string | null, size: number, keep: number): LoggedBody {
  const complete = size === 0 || (text !== null && size <= keep);
  if (text === null || complete) return { text, size, complete };
  // A character that the limit cuts in two is left out.
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(keep));
  return { text: text.slice(0, read), size, complete };
}

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const PAIRS: readonly string[] = Array.from(
  { length: 1024 },
  (_, value) => DIGITS.charAt(value >> 5) + DIGITS.charAt(value & 31),
);

/** Random digits of an id. */
const RANDOM = 13;

/**
 * Makes log ids: ULIDs of ten digits of time (ms), three of a counter within that ms and thirteen random ones (65
 * bits). The ids of one process sort in the order in which they were made.
 */
export function logIds(system: System): () => string {
  let last = 0;
  let time = "";
  let sequence = 0;
  let pool: Uint8Array = new Uint8Array(0);
  let used = 0;
  const random = (): number => (pool[used++] ?? 0) & 31;
  return () => {
    const now = system.now();
    // A clock that stands still or steps back (workerd's does between awaits) must not reorder ids.
    if (now <= last) sequence++;
    else [last, time, sequence] = [now, base32(now, 10), 0];
    // Drawn in bulk: a call for a few bytes costs as much as one for a kilobyte.
    if (used + RANDOM > pool.length) [pool, used] = [system.random(8192), 0];
    const count = sequence % 32_768;
    // Two digits at a time: a chain of 26 one-digit texts costs more than all else here.
    let id = time + pair(count >> 10, (count >> 5) & 31) + pair(count & 31, random());
    for (let left = RANDOM - 1; left > 0; left -= 2) id += pair(random(), random());
    return id;
  };
}

function pair(high: number, low: number): string {
  return PAIRS[(high << 5) | low] ?? "";
}

function base32(value: number, length: number): string {
  let rest = value;
  let out = "";
  for (let i = 0; i < length; i++) {
    out = DIGITS.charAt(rest % 32) + out;
    rest = Math.floor(rest / 32);
  }
  return out;
}

/** Stands for a credential in a log row. */
const HIDDEN = "[REDACTED]";
/** Characters from which a credential is hidden wherever it stands; shorter ones are part of any word. */
const DISTINCT = 12;
/** Characters below which nothing is a credential. */
const SHORTEST = 3;

/**
 * Returns the observed answer without the credentials that its request carried: providers repeat wrong keys in their
 * errors, and debugging endpoints all headers. The client gets the provider's bytes unchanged.
 */
export function withoutCredentials(
  seen: Observation,
  { target, request }: Pick<Outbound, "target" | "request">,
): Observation {
  const given = seen.body.text ?? "";
  if (given === "") return seen;
  let text = given;
  for (const [name, value] of request.headers) {
    const isCredential =
      credentialHeaders.has(name) ||
      target.provider.credentials.includes(name) ||
      (target.custom !== undefined && isSecretHeader(name));
    if (isCredential) text = hide(text, value.slice(value.lastIndexOf(" ") + 1));
  }
  for (const value of secretValues(request.url)) text = hide(text, value);
  return text === given ? seen : { ...seen, body: { ...seen.body, text } };
}

/** As it is and as JSON has it; a short one only where it stands by itself, between quotes, in a query and the like. */
function hide(text: string, secret: string): string {
  if (secret.length < SHORTEST) return text;
  const written = JSON.stringify(secret).slice(1, -1);
  const hidden = written === secret ? text : hideAs(text, written);
  return hideAs(hidden, secret);
}

function hideAs(text: string, secret: string): string {
  if (!text.includes(secret)) return text;
  if (secret.length >= DISTINCT) return text.replaceAll(secret, HIDDEN);
  const literal = secret.replaceAll(/[$()*+.?[\\\]^{|}/]/g, "\\$&");
  return text.replaceAll(
    new RegExp(`(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])`, "gu"),
    HIDDEN,
  );
}
