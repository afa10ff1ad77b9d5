import { isObject } from "../../http/json.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { Plain } from "../../ports.ts";
import { nameOf } from "./pick.ts";
import type { IdSource, RequestSource, Scheme } from "./scheme.ts";
import { signatureOf, signLike, timestampOf, type UnsignedRequest } from "./sign.ts";

/**
 * Makes the request that a provider would send for an event: the headers of `signLike`, with the id and the type in the
 * headers that the scheme reads. The body holds the values that the scheme expects there: the time (Linear), or the
 * whole signature (Mailgun). Throws `TypeError`.
 *
 * @example
 * ```ts
 * import { schemes, simulate } from "causey/webhooks";
 *
 * const request = {
 *   method: "POST",
 *   url: "https://example.com/webhooks/github",
 *   body: new TextEncoder().encode('{"zen":"Keep it simple"}'),
 *   contentType: "application/json",
 *   id: "1",
 *   now: 0,
 *   type: "ping",
 * };
 * const { headers, body } = await simulate(schemes.github, "secret", request);
 * headers.get("x-github-event"); // → "ping"
 * ```
 */
export async function simulate(
  scheme: Scheme,
  secret: string,
  request: UnsignedRequest & { readonly type: string },
): Promise<{ readonly headers: Headers; readonly body: Uint8Array }> {
  const [source = "body:none"] = scheme.signature;
  const signed = source.startsWith("body:")
    ? await signedBody(scheme, source, secret, request)
    : await signedHeaders(scheme, secret, request);
  for (const [sources, value] of [
    [scheme.fields?.id, request.id],
    [scheme.fields?.type, request.type],
  ] as const) {
    const name = headerIn(sources);
    if (name !== undefined && !signed.headers.has(name)) signed.headers.set(name, value);
  }
  return signed;
}

type Signed = { readonly headers: Headers; readonly body: Uint8Array };

async function signedHeaders(
  scheme: Scheme,
  secret: string,
  request: UnsignedRequest,
): Promise<Signed> {
  const source = scheme.timestamp?.source ?? "";
  const time = Number(timestampOf(scheme, request.now));
  const parsed = source.startsWith("body:") ? objectIn(request.body) : null;
  const body =
    parsed === null ? request.body : utf8(JSON.stringify(withAt(parsed, nameOf(source), time)));
  return { headers: await signLike(scheme, secret, { ...request, body }), body };
}

/** Makes up the signed parts of the body, then adds the signature beside them. */
async function signedBody(
  scheme: Scheme,
  source: RequestSource,
  secret: string,
  request: UnsignedRequest,
): Promise<Signed> {
  let body = objectIn(request.body);
  if (body === null)
    throw new TypeError("The scheme signs in the body: it has to be a JSON object");
  const time = scheme.timestamp?.source ?? "";
  if (time.startsWith("body:")) body = withAt(body, nameOf(time), timestampOf(scheme, request.now));
  for (const [, path = ""] of scheme.content.matchAll(/\{body:([^{}]+)\}/g))
    body = withAt(body, path, request.id);
  const headers = new Headers({ "content-type": request.contentType });
  const unsigned = { ...request, headers, body: utf8(JSON.stringify(body)) };
  const signature = await signatureOf(scheme, secret, unsigned);
  return { headers, body: utf8(JSON.stringify(withAt(body, nameOf(source), signature))) };
}

function headerIn(sources: readonly IdSource[] = []): string | undefined {
  const source = sources.find((one) => typeof one === "string" && one.startsWith("header:"));
  return typeof source === "string" ? nameOf(source) : undefined;
}

type PlainObject = { readonly [key: string]: Plain };

/** The body as a JSON object; null for anything else. */
function objectIn(body: Uint8Array): PlainObject | null {
  try {
    const value = JSON.parse(new TextDecoder().decode(body)) as Plain;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** A copy with a value at a dotted path; replaces anything on the path that is not an object. */
function withAt(object: PlainObject, path: string, value: Plain): PlainObject {
  const [key = "", ...rest] = path.split(".");
  if (rest.length === 0) return { ...object, [key]: value };
  const inner = object[key];
  if (rest[0] === "*") {
    const list: readonly Plain[] = Array.isArray(inner) && inner.length > 0 ? inner : [{}];
    const inside = rest.slice(1).join(".");
    return { ...object, [key]: list.map((one) => withAt(isObject(one) ? one : {}, inside, value)) };
  }
  return { ...object, [key]: withAt(isObject(inner) ? inner : {}, rest.join("."), value) };
}
