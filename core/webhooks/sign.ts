import { fromBase64, toBase64, toHex, utf8 } from "../crypto/encoding.ts";
import { hmacKey, hmacSign, type HmacHash } from "../crypto/hmac.ts";
import { nameOf } from "./pick.ts";
import type { Scheme, Source } from "./scheme.ts";
import { signedContent, sourceReader } from "./signed-content.ts";

/** What is to be signed. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  readonly body: Uint8Array;
  readonly contentType: string;
  /** The message id, where the scheme signs one. */
  readonly id: string;
  /** Unix ms. */
  readonly now: number;
}

/**
 * The headers that a provider would send with a request: what a simulator needs. Only schemes with a shared
 * secret can be imitated, and only those whose signature and time travel in headers. Throws `TypeError` else.
 */
export async function signLike(
  scheme: Scheme,
  secret: string,
  request: UnsignedRequest,
): Promise<Headers> {
  const headers = new Headers({ "content-type": request.contentType });
  const [source = "body:none"] = scheme.signature;
  if (!source.startsWith("header:")) throw new TypeError("The scheme does not sign in a header");
  if (scheme.algorithm === "token") {
    headers.set(nameOf(source), secret);
    return headers;
  }
  if (!scheme.algorithm.startsWith("hmac-"))
    throw new TypeError("The scheme signs with a private key");
  const time = timestampOf(scheme, request.now);
  if (scheme.timestamp?.source.startsWith("header:") === true) {
    headers.set(nameOf(scheme.timestamp.source), time);
  }
  if (scheme.signedId !== undefined) headers.set(nameOf(scheme.signedId), request.id);
  const whole = { ...request, headers };
  const content = signedContent(scheme, whole, time, sourceReader(whole));
  if (content === null)
    throw new TypeError("The scheme signs a part that the request does not have");
  const hash = scheme.algorithm.slice("hmac-".length).toUpperCase() as HmacHash;
  const bytes = await hmacSign(await hmacKey(secretBytes(scheme, secret), hash), content);
  const text = scheme.encoding === "hex" ? toHex(bytes) : toBase64(bytes);
  headers.set(nameOf(source), written(scheme, text, time));
  return headers;
}

/**
 * What a provider would send for an event: the headers of {@link signLike}, the id and the type where the scheme
 * looks for them in headers, and the time in the body where the scheme wants it there (Linear).
 */
export async function simulate(
  scheme: Scheme,
  secret: string,
  request: UnsignedRequest & { readonly type: string },
): Promise<{ readonly headers: Headers; readonly body: Uint8Array }> {
  const body = withTime(scheme, request.body, request.now);
  const headers = await signLike(scheme, secret, { ...request, body });
  for (const [sources, value] of [
    [scheme.fields?.id, request.id],
    [scheme.fields?.type, request.type],
  ] as const) {
    const name = headerIn(sources);
    if (name !== undefined && !headers.has(name)) headers.set(name, value);
  }
  return { headers, body };
}

function headerIn(sources: readonly Source[] = []): string | undefined {
  const source = sources.find((one) => one.startsWith("header:"));
  return source === undefined ? undefined : nameOf(source);
}

/** Bodies that are no JSON object stay as they are; nothing but top-level members can be set. */
function withTime(scheme: Scheme, body: Uint8Array, now: number): Uint8Array {
  const source = scheme.timestamp?.source ?? "";
  const name = nameOf(source);
  if (!source.startsWith("body:") || name.includes(".")) return body;
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return body;
    return utf8(JSON.stringify({ ...value, [name]: Number(timestampOf(scheme, now)) }));
  } catch {
    return body;
  }
}

function timestampOf(scheme: Scheme, now: number): string {
  return String(scheme.timestamp?.unit === "ms" ? now : Math.floor(now / 1000));
}

function secretBytes(scheme: Scheme, secret: string): Uint8Array {
  if (scheme.secretForm !== "whsec") return utf8(secret);
  const bytes = fromBase64(secret.replace(/^whsec_/, ""));
  if (bytes === null) throw new TypeError("The secret is not base64");
  return bytes;
}

function written(scheme: Scheme, signature: string, time: string): string {
  const { format } = scheme;
  if (format.kind === "versions") return `v1,${signature}`;
  if (format.kind === "single") return `${format.prefix ?? ""}${signature}`;
  const source = scheme.timestamp?.source ?? "";
  const stamp = source.startsWith("pair:") ? `${nameOf(source)}=${time}${format.separator}` : "";
  return `${stamp}${format.key}=${signature}`;
}
