import type { GatewayDeps, Step } from "../call/call.ts";
import { decoded, encodingOf } from "../guard/text/body-bytes.ts";
import { headerValue } from "./header-hygiene.ts";

/** Bytes of an unpacked body that are looked at, as many as of one that came so. */
const PLAIN_LIMIT = 10 * 1024 * 1024;

const decoder = new TextDecoder();

/** The step, with what its packed body holds beside it. Few clients pack, so the others pay a look at their headers. */
export function withPlainBody(step: Step, { decoding }: GatewayDeps): Promise<Step> | Step {
  const { body, headers } = step;
  if (!(body instanceof Uint8Array) || body.length === 0) return step;
  const encoding = encodingOf(headers);
  if (encoding === "") return step;
  return decoded(body, encoding, decoding).then((plain) => ({
    ...step,
    plain: plain !== null && plain.length <= PLAIN_LIMIT ? plain : null,
  }));
}

/** The bytes of a step's body without its content encoding; null for none, a stream, and what cannot be unpacked. */
export function plainBytes({ body, plain }: Step): Uint8Array | null {
  if (plain !== undefined) return plain;
  return body instanceof Uint8Array ? body : null;
}

/** The text of a body that is JSON, or begins as it does whatever its type says; null for any other. */
export function jsonOf(step: Step): string | null {
  const bytes = plainBytes(step);
  return bytes !== null && isJson(step, bytes) ? decoder.decode(bytes) : null;
}

/** Whether a body of this type can name a model. */
function isJsonType(contentType: string): boolean {
  return /json/i.test(contentType);
}

/** Whether a body is read as JSON. Providers read it so, whatever type it is said to have. */
export function isJson({ headers }: Step, bytes: Uint8Array): boolean {
  return isJsonType(headerValue(headers, "content-type") ?? "") || beginsAsJson(bytes);
}

const SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

function beginsAsJson(bytes: Uint8Array): boolean {
  const first = bytes.find((byte) => !SPACE.has(byte));
  return first === 0x7b || first === 0x5b;
}
