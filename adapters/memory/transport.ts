import type { Transport } from "../../core/ports.ts";
import { fetchTransport, type Send } from "../shared/http/fetch-transport.ts";

/** What the Fetch standard has every implementation undo, and the one that came later. */
const STANDARD = /^(?:x-)?gzip$|^deflate$|^br$|^zstd$/iu;

/**
 * What `fetch` undoes of an encoding, by the runtime's name in `navigator.userAgent`
 * (https://min-common-api.proposal.wintertc.org): none of them says so on the answer itself.
 */
const BY_RUNTIME: readonly (readonly [runtime: RegExp, decodes: (encoding: string) => boolean])[] =
  [
    [/^Cloudflare-Workers/u, (encoding) => encoding === "gzip" || encoding === "br"],
    [/^Deno\//u, (encoding) => /^(?:gzip|br)$/iu.test(encoding)],
    [/^Bun\//u, (encoding) => STANDARD.test(encoding)],
  ];

/** What any other runtime undoes: lists of encodings too. */
function asStandard(encoding: string): boolean {
  return encoding.split(",").every((one) => STANDARD.test(one.trim()));
}

/** A transport over the runtime's `fetch`, or one that is handed in. */
export function standardTransport(send: Send = (request) => fetch(request)): Transport {
  // Not every runtime has one.
  const navigator: { readonly userAgent?: string } | undefined = globalThis.navigator;
  const known = BY_RUNTIME.find(([runtime]) => runtime.test(navigator?.userAgent ?? ""));
  return fetchTransport({ send, decodes: known?.[1] ?? asStandard });
}
