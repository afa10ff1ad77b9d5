import { hopByHop } from "../../core/http/hop-by-hop.ts";
import type { HeaderPair } from "../../core/ports.ts";

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
