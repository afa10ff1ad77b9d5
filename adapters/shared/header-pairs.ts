import type { HeaderPair } from "../../core/ports.ts";

/** Headers of one hop: RFC 9110 section 7.6.1, and the older names that peers still send. */
const hopByHop: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** The pairs without hop-by-hop headers, those named in `Connection` and those in `also`. */
export function endToEnd(pairs: readonly HeaderPair[], also: readonly string[] = []): HeaderPair[] {
  const listed = [...also];
  for (const [name, value] of pairs) {
    if (name !== "connection") continue;
    for (const named of value.split(",")) listed.push(named.trim().toLowerCase());
  }
  return pairs.filter(([name]) => !hopByHop.has(name) && !listed.includes(name));
}

/** Request headers that the runtime sets itself, or that would make it wait for an interim answer. */
export const REQUEST_FRAMING: readonly string[] = ["host", "content-length", "expect"];
