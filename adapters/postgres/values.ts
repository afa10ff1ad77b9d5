import { Buffer } from "node:buffer";
import type postgres from "postgres";
import type { SqlValue } from "../../core/ports.ts";
import { checkSqlValue } from "../shared/sql/check-sql-value.ts";

/**
 * PostgreSQL stores no U+0000 in texts. It is stored as two U+0001, and U+0001 as U+0001 U+0002: texts keep their order, and
 * each reads back as it was. Only the length that SQL computes is larger.
 */
export function toStoredText(text: string): string {
  if (!text.includes("\0") && !text.includes("\u0001")) return text;
  return text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001");
}

/** Reverses {@link toStoredText}. */
export function fromStoredText(text: string): string {
  if (!text.includes("\u0001")) return text;
  let out = "";
  let from = 0;
  for (let at = text.indexOf("\u0001"); at !== -1; at = text.indexOf("\u0001", from)) {
    out += text.slice(from, at) + (text[at + 1] === "\u0001" ? "\0" : "\u0001");
    from = at + 2;
  }
  return out + text.slice(from);
}

/** Returns a value as the driver takes it; throws `invalid` for what is none. */
export function toParameter(value: SqlValue): string | Uint8Array | null {
  checkSqlValue(value);
  if (value === null || value instanceof Uint8Array) return value;
  return typeof value === "string" ? toStoredText(value) : String(value);
}

type Types = Record<string, postgres.PostgresType>;

/** Object identifiers of types: https://github.com/postgres/postgres/blob/REL_18_STABLE/src/include/catalog/pg_type.dat */
const BYTEA = 17;
const INT8 = 20;
const TEXT = 25;
const JSON = 114;
const BOOL = 16;
const TIMESTAMPTZ = 1184;

/** How values cross: numbers as numbers, booleans as SQLite's 1 and 0, JSON and dates as their texts. */
export const types: Types = {
  // int8, int2, int4, float4, float8, numeric
  number: { to: INT8, from: [INT8, 21, 23, 700, 701, 1700], serialize: String, parse: Number },
  // text, name, bpchar, varchar, unknown
  text: { to: TEXT, from: [TEXT, 19, 1042, 1043, 705], serialize: String, parse: fromStoredText },
  boolean: {
    to: BOOL,
    from: [BOOL],
    serialize: String,
    parse: (text: string) => (text === "t" ? 1 : 0),
  },
  // json, jsonb
  json: { to: JSON, from: [JSON, 3802], serialize: String, parse: String },
  // timestamptz, date, timestamp
  date: { to: TIMESTAMPTZ, from: [TIMESTAMPTZ, 1082, 1114], serialize: String, parse: String },
  bytes: {
    to: BYTEA,
    from: [BYTEA],
    serialize: (bytes: Uint8Array) =>
      `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}`,
    parse: (text: string) => new Uint8Array(Buffer.from(text.slice(2), "hex")),
  },
};
