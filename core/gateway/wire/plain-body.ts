import type { InboundResponse } from "../../ports.ts";
import { TransportError } from "../../transport-error.ts";
import type { ContentDecoding } from "./content-decoder.ts";
import { headerValue } from "./header-hygiene.ts";
import { streamOf } from "./stream-of.ts";

/**
 * A body without its content encoding: some providers send one that nobody asked for. Throws `TransportError` for one
 * that this runtime cannot undo.
 */
export function plainBody(
  { headers, body }: Pick<InboundResponse, "headers" | "body">,
  decoding: ContentDecoding,
): InboundResponse["body"] {
  const encoding = (headerValue(headers, "content-encoding") ?? "identity").trim();
  if (body === null || /^(?:identity)?$/i.test(encoding)) return body;
  const decoder = decoding.decoder(encoding);
  const source = body instanceof Uint8Array ? streamOf(body) : body;
  if (decoder !== null) return source.pipeThrough(decoder as ByteDecoder);
  source.cancel().catch(() => undefined);
  throw new TransportError("broken", `The answer's encoding "${encoding.slice(0, 32)}" is unknown`);
}

/** `as`: a stream of bytes gives out nothing that a decoder does not take. */
type ByteDecoder = ReadableWritablePair<Uint8Array, Uint8Array>;
