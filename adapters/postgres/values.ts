import { Buffer } from "node:buffer";
import type postgres from "postgres";
import type { SqlValue } from "../../core/ports.ts";
import { checkSqlValue } from "../shared/sql/check-sql-value.ts";
import { fromStoredText, toStoredText } from "../shared/sql/stored-text.ts";

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
