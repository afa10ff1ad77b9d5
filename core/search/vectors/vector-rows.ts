import type { ActorContext, QueryOptions, SqlRow, SqlValue, Statement } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import { blockColumns, fromColumns, partOf, toVector, type VectorBlock } from "./vector-block.ts";

/** Bytes of one stored part, and of one read: a few milliseconds. */
const PART_BYTES = 256 * 1024;
const READ_BYTES = 1024 * 1024;
/** Rows that are looked at to find out how many of them that is. */
const LOOKED_AT = 1_000;

/** Stored vectors of one item. */
export interface StoredBlock {
  readonly itemId: string;
  readonly block: VectorBlock;
}

/** Returns statements that replace the stored vectors of an item, of whichever model. */
export function vectorStatements(
  actor: string,
  itemId: string,
  tag: string,
  block: VectorBlock,
): Statement[] {
  return [dropVectors(actor, itemId), ...addVectors(actor, itemId, tag, block)];
}

/** Steps from one model to the next: there are few, and an index by items would take a tenth of a text's length. */
const MODELS = `WITH RECURSIVE models (model) AS (
  SELECT MIN(model) FROM search_vector_blocks WHERE actor = ?
  UNION ALL SELECT (SELECT MIN(b.model) FROM search_vector_blocks b WHERE b.actor = ? AND b.model > m.model)
    FROM models m WHERE m.model IS NOT NULL)`;

/** Returns the statement that deletes the vectors of an item, of whichever model. */
export function dropVectors(actor: string, itemId: string): Statement {
  return {
    sql: `${MODELS} DELETE FROM search_vector_blocks WHERE actor = ? AND model IN (SELECT model FROM models) AND item_id = ?`,
    params: [actor, actor, actor, itemId],
  };
}

/** Returns statements that store vectors of an item beside those of other models. */
export function addVectors(
  actor: string,
  itemId: string,
  tag: string,
  block: VectorBlock,
): Statement[] {
  const { dimensions, scales } = block;
  const rows = Math.max(1, Math.floor(PART_BYTES / dimensions));
  const out: Statement[] = [];
  for (let from = 0; from < scales.length; from += rows) {
    const part = partOf(block, from, Math.min(scales.length, from + rows));
    out.push({
      sql: `INSERT INTO search_vector_blocks (actor, model, item_id, first_chunk, dimensions, scales, data)
        VALUES (?, ?, ?, ?, ?, ?, ?)`,
      params: [actor, tag, itemId, part.first, dimensions, ...blockColumns(part)],
    });
  }
  return out;
}

/** The key of a stored part of vectors: an item, and its first chunk in the part. */
type Place = readonly [itemId: string, firstChunk: number];

/** Yields all stored vectors of a model in slices of a few milliseconds; `items` narrows them. */
export async function* storedBlocks(
  { name: actor, sql, system }: ActorContext,
  tag: string,
  items: readonly string[] | null = null,
): AsyncGenerator<readonly StoredBlock[]> {
  const narrowed = items === null ? "" : `AND ${isOneOf("item_id", "TEXT")}`;
  const set = items === null ? [] : [asSet(items)];
  // A few rows are read sooner than a thread would be asked.
  let beside: QueryOptions = {};
  const read = (after: Place, until: Place): Promise<SqlRow[]> =>
    sql.all(
      `SELECT item_id, first_chunk, dimensions, scales, data FROM search_vector_blocks
        WHERE actor = ? AND model = ? AND (item_id, first_chunk) > (?, ?) AND (item_id, first_chunk) <= (?, ?) ${narrowed}
        ORDER BY item_id, first_chunk`,
      [actor, tag, ...after, ...until, ...set],
      beside,
    );
  for (let after: Place = ["", -1]; ;) {
    const keys = await sql.all(
      `SELECT item_id, first_chunk, LENGTH(data) AS bytes FROM search_vector_blocks
        WHERE actor = ? AND model = ? AND (item_id, first_chunk) > (?, ?) ${narrowed}
        ORDER BY item_id, first_chunk LIMIT ${LOOKED_AT}`,
      [actor, tag, ...after, ...set],
      beside,
    );
    if (keys.length === 0) return;
    const ends = sliceEnds(keys);
    let reading = read(after, ends[0] ?? after);
    for (const [n, until] of ends.entries()) {
      const rows = await reading;
      after = until;
      beside = { long: actor };
      // The next slice is read while this one is looked at.
      const next = ends[n + 1];
      if (next !== undefined) reading = read(after, next);
      // The loop that awaits it gets its failure, unless the loop has ended by then.
      reading.catch(() => undefined);
      yield rows.map(toStored);
      await system.sleep(0);
    }
  }
}

/** Returns the last parts of slices that have about {@link READ_BYTES}. */
function sliceEnds(keys: readonly SqlRow[]): Place[] {
  const ends: Place[] = [];
  let bytes = 0;
  for (const [n, row] of keys.entries()) {
    bytes += Number(row["bytes"]);
    const next = Number(keys[n + 1]?.["bytes"] ?? Infinity);
    if (bytes + next <= READ_BYTES) continue;
    ends.push([String(row["item_id"]), Number(row["first_chunk"])]);
    bytes = 0;
  }
  return ends;
}

function toStored(row: SqlRow): StoredBlock {
  const first = Number(row["first_chunk"]);
  const dimensions = Number(row["dimensions"]);
  const block = fromColumns(first, dimensions, bytesOf(row["scales"]), bytesOf(row["data"]));
  return { itemId: String(row["item_id"]), block };
}

/** Returns the length of a model's stored vectors; null without any. */
export async function storedDimensions(
  { name: actor, sql }: ActorContext,
  tag: string,
): Promise<number | null> {
  const [row] = await sql.all(
    "SELECT dimensions FROM search_vector_blocks WHERE actor = ? AND model = ? LIMIT 1",
    [actor, tag],
  );
  return row === undefined ? null : Number(row["dimensions"]);
}

/** Returns the vectors of some chunks, read from their rows. */
export async function storedVectors(
  { name: actor, sql }: ActorContext,
  tag: string,
  dimensions: number,
  chunks: readonly number[],
): Promise<Map<number, Float32Array>> {
  const rows = await sql.all(
    `SELECT c.id, SUBSTR(v.scales, CAST(1 + (c.id - v.first_chunk) * 4 AS INT), 4) AS scales,
        SUBSTR(v.data, CAST(1 + (c.id - v.first_chunk) * v.dimensions AS INT), CAST(v.dimensions AS INT)) AS data
      FROM search_chunks c JOIN search_vector_blocks v ON v.actor = c.actor AND v.model = ? AND v.item_id = c.item_id
        AND v.first_chunk <= c.id AND c.id < v.first_chunk + LENGTH(v.scales) / 4
      WHERE c.actor = ? AND ${isOneOf("c.id", "BIGINT")}`,
    [tag, actor, asSet(chunks)],
  );
  return new Map(
    rows.flatMap((row): [number, Float32Array][] => {
      const { scales, bytes } = fromColumns(
        0,
        dimensions,
        bytesOf(row["scales"]),
        bytesOf(row["data"]),
      );
      const [scale] = scales;
      if (scale === undefined || bytes.length !== dimensions) return [];
      return [[Number(row["id"]), toVector(bytes, 0, dimensions, scale)]];
    }),
  );
}

function bytesOf(value: SqlValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}
