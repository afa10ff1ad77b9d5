import { parsedObject } from "../../../http/json.ts";
import type { HeaderPair } from "../../../ports.ts";
import { HEADER_NAME } from "../../../http/fields/header-schema.ts";

/** Parses the headers of a JSON text; null for anything but an object of headers that may be set. */
export function readHeaders(json: string): HeaderPair[] | null {
  const value = parsedObject(json);
  if (value === null) return null;
  const pairs: HeaderPair[] = [];
  for (const [key, header] of Object.entries(value)) {
    if (typeof header !== "string" || !isSettable(key) || !/^[\x20-\x7E]{0,4096}$/.test(header))
      return null;
    pairs.push([key.toLowerCase(), header]);
  }
  return pairs.length <= 32 ? pairs : null;
}

/** Whether a provider's header may be set: framing, routing and the gateway's own names are not the editor's. */
function isSettable(header: string): boolean {
  return (
    HEADER_NAME.test(header) &&
    !/^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|accept-encoding|proxy-.*|(?:cf|gw)-aig-.*)$/i.test(
      header,
    )
  );
}
