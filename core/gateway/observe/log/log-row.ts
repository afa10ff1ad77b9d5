import type { System } from "../../../ports.ts";

/** One stored request: what `GET …/logs/{id}` is made of. Plain, because it crosses to the gateway's actor. */
export type LogRow = {
  id: string;
  /** Unix ms. */
  createdAt: number;
  provider: string;
  model: string;
  /** Path and query as sent to the provider, secrets redacted. */
  path: string;
  statusCode: number | null;
  success: boolean;
  cached: boolean;
  /** Milliseconds until the last byte. */
  duration: number;
  tokensIn: number | null;
  tokensOut: number | null;
  cost: number | null;
  customCost: boolean;
  /** JSON text. */
  metadata: string | null;
  modelType: string | null;
  requestType: string | null;
  requestContentType: string | null;
  responseContentType: string | null;
  step: number;
  eventId: string | null;
  userAgent: string | null;
  authentication: boolean;
  /** Whom the request came from, as `key:<id>`, `token:<id>` or `jwt:<subject>`; null where that has no name. */
  caller: string | null;
  /** What data loss prevention did: `FLAG` or `BLOCK`. */
  dlpAction: string | null;
  request: LoggedBody;
  response: LoggedBody;
};

/** A body as far as it is kept: decoded text, its whole size in bytes, and whether nothing was cut off. */
export type LoggedBody = { text: string | null; size: number; complete: boolean };

/** Whether a request's body of this type is kept. */
export function isLoggedType(contentType: string): boolean {
  return /^(?:text\/|application\/(?:[\w.-]+\+)?json\b|application\/x-www-form-urlencoded)/i.test(
    contentType,
  );
}

/** The text of a body of `size` bytes, cut off behind `keep` bytes; null keeps none. */
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
 * Makes log ids: ULIDs of ten digits of time (ms), three of a counter within that ms and thirteen random
 * ones (65 bits), so that the ids of one process sort in the order in which they were made.
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

/** What kind of work a provider path asks for, as clients filter by `model_type`. */
export function modelType(path: string): string | null {
  for (const [pattern, type] of modelTypes) if (pattern.test(path)) return type;
  return null;
}

const modelTypes: readonly (readonly [RegExp, string])[] = [
  [/embed/i, "embeddings"],
  [/audio\/speech|text-to-speech/i, "text-to-speech"],
  [/audio\/|speech-to-text|\/listen/i, "speech-to-text"],
  [/images?\//i, "image-generation"],
  [/chat|messages|responses|generateContent|completions|converse|\/run\//i, "text-generation"],
];

/** The model that a request names: in its JSON body, else in its path (Gemini, Bedrock, Azure, Workers AI). */
export function modelName(body: unknown, path: string): string {
  if (typeof body === "object" && body !== null) {
    // ElevenLabs and Cartesia call it an id.
    const { model, model_id: id } = body as { model?: unknown; model_id?: unknown };
    const named = typeof model === "string" ? model : id;
    if (typeof named === "string") return named.slice(0, 256);
  }
  const inPath = /(?:^|\/)(?:models|model|deployments)\/([^/:?]+)/.exec(path)?.[1];
  const name = inPath ?? /(@(?:cf|hf)\/[^?]+)/.exec(path)?.[1] ?? "";
  return name.slice(0, 256);
}
