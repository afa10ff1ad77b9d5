import { joinBytes } from "../http/stream.ts";
import type { Statement } from "../ports.ts";

/** Bytes of one stored part: some databases bound a row to 2 MB. */
const PART_BYTES = 1_000_000;

/** Cuts bytes into parts; no bytes are one empty part. */
function parts(bytes: Uint8Array): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += PART_BYTES)
    out.push(bytes.subarray(at, at + PART_BYTES));
  return out.length === 0 ? [bytes] : out;
}

/** Puts parts together again. */
export function joinParts(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1 && pieces[0] !== undefined) return pieces[0];
  return joinBytes(pieces);
}

/** Statements that store each part under its number, the last parameter but one. */
export function insertParts(
  sql: string,
  key: readonly (string | number | null)[],
  bytes: Uint8Array,
): Statement[] {
  return parts(bytes).map((data, part) => ({ sql, params: [...key, part, data] }));
}
