import type { HeaderPair, SqlRow } from "../../ports.ts";
import type { Sealer } from "./sealer.ts";

/** Headers as they are stored: their values may be credentials. */
interface StoredHeaders {
  readonly names: readonly string[];
  readonly sealed: string;
}

/** The names in a column `headers`. */
export function headerNames(column: unknown): readonly string[] {
  return typeof column === "string" ? (JSON.parse(column) as StoredHeaders).names : [];
}

const placeOf = (endpoint: string): string => `${endpoint}/headers`;

/** Seals headers; returns the text of the column `headers`, null without headers. */
export async function sealHeaders(
  sealer: Sealer,
  endpoint: string,
  headers: Readonly<Record<string, string>>,
): Promise<string | null> {
  const names = Object.keys(headers);
  if (names.length === 0) return null;
  const sealed = await sealer.seal(placeOf(endpoint), JSON.stringify(headers));
  return JSON.stringify({ names, sealed } satisfies StoredHeaders);
}

/** Opens the headers of an endpoint; null if they cannot be opened. */
export async function openHeaders(sealer: Sealer, row: SqlRow): Promise<HeaderPair[] | null> {
  const column = row["headers"];
  if (typeof column !== "string") return [];
  const { sealed } = JSON.parse(column) as StoredHeaders;
  const text = await sealer.open(placeOf(String(row["id"])), sealed);
  return text === null ? null : Object.entries(JSON.parse(text) as Record<string, string>);
}
