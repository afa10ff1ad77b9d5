import { fromBase64, fromHex, utf8 } from "../../crypto/encoding.ts";
import type { Scheme } from "./scheme.ts";

/** Longest signature header that is looked at, in characters. */
const HEADER_LIMIT = 4096;
/** Most signatures of one header that are checked: work is bounded whatever a sender lists. */
const CANDIDATE_LIMIT = 16;

/** The parsed content of a signature header. */
export interface ParsedSignature {
  readonly candidates: readonly { readonly version: string; readonly bytes: Uint8Array }[];
  /** The other `key=value` items of a `pairs` header. */
  readonly pairs: ReadonlyMap<string, string>;
}

const noPairs: ReadonlyMap<string, string> = new Map();

/**
 * Reads a signature header; null when any part of it is malformed. Nothing is trimmed and upper-case hex is
 * refused: senders write one form, and two headers that the runtime joined with `, ` must not pass.
 */
export function parseSignature(scheme: Scheme, value: string): ParsedSignature | null {
  if (value.length > HEADER_LIMIT) return null;
  const format = scheme.format;
  if (format.kind === "versions") return parseVersions(value);
  if (format.kind === "pairs") return parsePairs(scheme, value, format.separator, format.key);
  const prefix = format.prefix ?? "";
  const isPrefixed = value.startsWith(prefix);
  // A token may also stand alone, e.g. in the address: it is compared whole in either case.
  if (!isPrefixed && scheme.algorithm !== "token") return null;
  const bytes = decode(scheme, isPrefixed ? value.slice(prefix.length) : value);
  return bytes === null ? null : { candidates: [{ version: "v1", bytes }], pairs: noPairs };
}

function decode(scheme: Scheme, text: string): Uint8Array | null {
  if (scheme.algorithm === "token" || scheme.algorithm === "jwt") return utf8(text);
  const bytes = scheme.encoding === "hex" ? fromHex(text) : fromBase64(text);
  return bytes === null || bytes.length === 0 ? null : bytes;
}

function parsePairs(
  scheme: Scheme,
  value: string,
  separator: string,
  key: string,
): ParsedSignature | null {
  const candidates: { version: string; bytes: Uint8Array }[] = [];
  const pairs = new Map<string, string>();
  for (const item of value.split(separator)) {
    const at = item.indexOf("=");
    if (at < 1) return null;
    const name = item.slice(0, at);
    if (name === key) {
      const bytes = decode(scheme, item.slice(at + 1));
      if (bytes === null || candidates.length === CANDIDATE_LIMIT) return null;
      candidates.push({ version: "v1", bytes });
    } else if (!/^[A-Za-z0-9]+$/.test(name)) {
      return null;
    } else {
      // Another version may come several times; a repeated timestamp means two joined headers.
      if (pairs.has(name) && !/^v\d/.test(name)) return null;
      pairs.set(name, item.slice(at + 1));
    }
  }
  return { candidates, pairs };
}

function parseVersions(value: string): ParsedSignature | null {
  const candidates: { version: string; bytes: Uint8Array }[] = [];
  for (const item of value.split(" ")) {
    const [version = "", text] = item.split(",", 2);
    if (version !== "v1" && version !== "v1a") continue;
    const bytes = text === undefined || item.split(",").length !== 2 ? null : fromBase64(text);
    if (bytes === null || candidates.length === CANDIDATE_LIMIT) return null;
    candidates.push({ version, bytes });
  }
  return { candidates, pairs: noPairs };
}
