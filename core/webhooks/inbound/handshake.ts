import { toBase64, toHex, utf8 } from "../../crypto/encoding.ts";
import { constantTimeEqual } from "../../crypto/equal.ts";
import { hmacKey, hmacSign } from "../../crypto/hmac.ts";
import { ApiError } from "../../http/api-error.ts";
import { json } from "../../http/envelope.ts";
import { noAnswerReason } from "../../net/transport-error.ts";
import type { Platform } from "../../ports.ts";
import { withinMs } from "../../time/within-ms.ts";
import { isEmptyList, nameOf, type Payload, textAt } from "../signing/pick.ts";
import type { Handshake, HandshakeValue, RequestSource, Scheme } from "../signing/scheme.ts";

/** Longest value that is answered, in characters. */
const VALUE_LIMIT = 4096;
/** Bytes of an unsigned body that may be a handshake: others are not parsed before their signature is verified. */
const UNSIGNED_LIMIT = 4096;
/** Time that an address of confirmation may take, in ms. */
const CONFIRM_LIMIT_MS = 5000;

/** The handshakes of a source, by when they are answered. */
export interface Handshakes {
  /** Before anything is verified. */
  readonly unsigned: readonly Handshake[];
  /** After the signature was verified. */
  readonly signed: readonly Handshake[];
  /** The methods that the source takes, for `Allow`. */
  readonly allow: string;
  readonly verifyToken: string | undefined;
}

/** The handshakes of a scheme, made ready. Throws `TypeError` if they need a token that the source lacks. */
export function prepareHandshakes(
  { handshakes = [], methods = [] }: Scheme,
  verifyToken: string | undefined,
  where: string,
): Handshakes {
  if (verifyToken === undefined && handshakes.some(({ token }) => token !== undefined))
    throw new TypeError(
      `The ${where} has no verifyToken: give the text that you enter at the sender`,
    );
  const isSigned = ({ method, signed = method === "POST" }: Handshake): boolean => signed;
  const allowed = new Set([...handshakes.map(({ method }) => method), ...methods, "POST"]);
  return {
    unsigned: handshakes.filter((one) => !isSigned(one)),
    signed: handshakes.filter(isSigned),
    allow: [...allowed].toSorted().join(", "),
    verifyToken,
  };
}

/** A request that may be a handshake. */
export interface HandshakeRequest {
  readonly request: Request;
  /** The raw body; its payload is read when a rule first asks for it. */
  readonly body: Uint8Array;
  /** The parsed body, of a request whose signature was verified. */
  readonly payload?: Payload;
  readonly verifyToken: string | undefined;
  /** The secret with which values are signed. */
  readonly secret: string;
}

/** The answer to a sender's test request by the first rule that fits; null for an event. Throws 401, 503. */
export async function answerHandshake(
  rules: readonly Handshake[],
  given: HandshakeRequest,
  platform: Pick<Platform, "egress" | "system">,
): Promise<Response | null> {
  if (rules.every(({ method }) => method !== given.request.method)) return null;
  const from = reader(given);
  const read = from.text;
  for (const rule of rules) {
    if (rule.method !== given.request.method || !isMarked(rule, from)) continue;
    const answer = await answerOf(rule, read, given.secret);
    if (answer === null) continue;
    checkToken(rule, read, given.verifyToken);
    if (rule.confirm !== undefined) await confirm(rule.confirm, read, platform);
    return answer;
  }
  return null;
}

type Read = (source: RequestSource) => string | null;

/** The texts of a request, and its payload. */
interface RequestReader {
  readonly text: Read;
  readonly body: () => Payload;
}

function reader({ body, request, payload }: HandshakeRequest): RequestReader {
  let parsed = payload;
  let query: URLSearchParams | undefined;
  const payloadOf = (): Payload => (parsed ??= unsignedPayload(body));
  return {
    body: payloadOf,
    text(source) {
      const name = nameOf(source);
      if (source.startsWith("header:")) return request.headers.get(name);
      if (source.startsWith("query:"))
        return (query ??= new URL(request.url).searchParams).get(name);
      return textAt(payloadOf(), name);
    },
  };
}

function unsignedPayload(body: Uint8Array): Payload {
  const nothing = { value: null, text: "" };
  if (body.length === 0 || body.length > UNSIGNED_LIMIT) return nothing;
  try {
    const text = new TextDecoder().decode(body);
    return { value: JSON.parse(text), text };
  } catch {
    return nothing;
  }
}

function isMarked({ when = {} }: Handshake, read: RequestReader): boolean {
  return Object.entries(when).every(([source, wanted]) => {
    if (typeof wanted === "object")
      return source.startsWith("body:") && isEmptyList(read.body(), nameOf(source));
    const value = read.text(source as RequestSource);
    return wanted === true ? value !== null && value !== "" : value === wanted;
  });
}

function checkToken({ token }: Handshake, read: Read, expected: string | undefined): void {
  if (token === undefined) return;
  if (constantTimeEqual(utf8(read(token) ?? ""), utf8(expected ?? ""))) return;
  throw new ApiError("signature_invalid", {
    message: "The token of the request is not the source's verifyToken",
    cause: "verify_token",
  });
}

/** Null when a value is missing or too long: then the request is none of these. */
async function answerOf(
  { answer: { headers: named = {}, json: members, status = 200, text } }: Handshake,
  read: Read,
  secret: string,
): Promise<Response | null> {
  const headers: Record<string, string> = { "x-content-type-options": "nosniff" };
  for (const [name, source] of Object.entries(named)) {
    const value = bounded(read(source));
    if (value === null) return null;
    headers[name] = value;
  }
  if (members !== undefined) {
    const body: Record<string, string | number> = {};
    for (const [name, source] of Object.entries(members)) {
      const value = await valueOf(source, read, secret);
      if (value === null) return null;
      body[name] = value;
    }
    return json(body, status, headers);
  }
  if (text === undefined) return new Response(null, { status, headers });
  const value = bounded(read(text));
  if (value === null) return null;
  // No browser takes an echoed challenge for a document.
  return new Response(value, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...headers },
  });
}

async function valueOf(
  source: HandshakeValue,
  read: Read,
  secret: string,
): Promise<string | number | null> {
  if (typeof source === "number") return source;
  if (typeof source === "string") return bounded(read(source));
  const value = bounded(read(source.hmac));
  if (value === null) return null;
  const digest = await hmacSign(await hmacKey(secret), value);
  return (source.prefix ?? "") + (source.encoding === "hex" ? toHex(digest) : toBase64(digest));
}

function bounded(value: string | null): string | null {
  return value === null || value === "" || value.length > VALUE_LIMIT ? null : value;
}

/** Calls the address that a sender gives to be confirmed at. It is pinned to the sender's own hosts. */
async function confirm(
  { host, url: source }: NonNullable<Handshake["confirm"]>,
  read: Read,
  { egress, system }: Pick<Platform, "egress" | "system">,
): Promise<void> {
  const url = URL.parse(read(source) ?? "");
  if (url?.protocol !== "https:" || url.port !== "" || !host.test(url.hostname)) {
    const message = `The address of confirmation is not one of the sender's: "${url?.host ?? ""}"`;
    throw new ApiError("payload_invalid", { message });
  }
  const status = await withinMs({ ms: CONFIRM_LIMIT_MS, signal: undefined, system }, (signal) =>
    egress.send({ method: "GET", url: url.href, headers: [], signal }).then(async (response) => {
      if (response.body instanceof ReadableStream) await response.body.cancel();
      return response.status;
    }),
  ).catch((cause: unknown) => {
    throw unconfirmed(`it gave no answer (${noAnswerReason(cause)})`, cause);
  });
  if (status < 200 || status > 299) throw unconfirmed(`it answered ${status}`);
}

function unconfirmed(why: string, cause?: unknown): ApiError {
  const message = `The sender's address of confirmation was called, but ${why}: let it send again`;
  return new ApiError("unavailable", { message, cause, headers: { "retry-after": "5" } });
}
