import type { ActorContext, SqlValue, Statement } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql-text.ts";
import { packedVectors, type PackedVectors } from "./packed-vectors.ts";
import { insertParts, joinParts, PART_BYTES } from "../items/blob-parts.ts";
import { fromBytes, toBytes } from "../lexical/dense.ts";
import { type LexicalModel, lexicalModel } from "../lexical/lexical-model.ts";
import { type Calibration, readTrained, UNTRAINED } from "../lexical/trained-model.ts";

/** The vectors of one item: row n belongs to the chunk with number `first + n`. */
export interface ItemVectors {
  readonly first: number;
  readonly dimensions: number;
  readonly vectors: Float32Array;
}

/** A chunk that the vector leg found. */
export interface VectorHit {
  readonly chunk: number;
  readonly itemId: string;
  /** 0 to 1; calibrated for the builtin model, the cosine otherwise. */
  readonly score: number;
}

/** The vectors of an instance in memory, beside their rows. */
export interface VectorStore {
  /** All current vectors, read on first use; null when there are none. */
  resident(tag: string): Promise<PackedVectors | null>;
  /** Takes over a committed change without reading again; null = the item has no vectors any more. */
  replace(itemId: string, tag: string, vectors: ItemVectors | null): void;
  /** Forgets what is in memory: after a training or a change of the model. */
  reset(): void;
  /** The builtin model of a training, and the scale of its scores. */
  lexical(
    version: number,
  ): Promise<{ readonly model: LexicalModel; readonly calibration: Calibration }>;
}

/** Statements that replace the stored vectors of an item, of whichever model. */
export function vectorStatements(
  actor: string,
  itemId: string,
  tag: string,
  dimensions: number,
  vectors: Float32Array,
): Statement[] {
  const drop = "DELETE FROM search_item_vectors WHERE actor = ? AND item_id = ?";
  return [
    { sql: drop, params: [actor, itemId] },
    ...addVectors(actor, itemId, tag, dimensions, vectors),
  ];
}

/** Statements that store vectors of an item beside those of other models. */
export function addVectors(
  actor: string,
  itemId: string,
  tag: string,
  dimensions: number,
  vectors: Float32Array,
): Statement[] {
  const size = rowsPerPart(dimensions) * dimensions * 4;
  return insertParts(
    "INSERT INTO search_item_vectors (actor, item_id, model, dimensions, part, data) VALUES (?, ?, ?, ?, ?, ?)",
    [actor, itemId, tag, dimensions],
    toBytes(vectors),
    size,
  );
}

/** Vectors of one stored part. */
function rowsPerPart(dimensions: number): number {
  return Math.max(1, Math.floor(PART_BYTES / (dimensions * 4)));
}

/** Makes the vector store of an instance actor. */
export function createVectorStore(context: ActorContext): VectorStore {
  let loaded: { readonly tag: string; readonly packed: Promise<Loaded> } | null = null;
  let model: {
    readonly version: number;
    readonly value: ReturnType<VectorStore["lexical"]>;
  } | null = null;

  return {
    async resident(tag) {
      if (loaded?.tag !== tag) loaded = { tag, packed: readVectors(context, tag) };
      const mine = loaded;
      try {
        return (await mine.packed).vectors;
      } catch (error) {
        if (loaded === mine) loaded = null;
        throw error;
      }
    },
    replace(itemId, tag, vectors) {
      if (loaded === null) return;
      const known = loaded.tag === tag ? vectors : null;
      loaded.packed.then(
        (packed) => {
          packed.put(itemId, known);
        },
        // Whoever asked for the vectors sees the failure; the next one reads again.
        () => undefined,
      );
    },
    reset() {
      loaded = null;
      model = null;
    },
    lexical(version) {
      if (model?.version !== version) model = { version, value: readLexical(context, version) };
      return model.value;
    },
  };
}

async function readLexical(
  context: ActorContext,
  version: number,
): ReturnType<VectorStore["lexical"]> {
  const stored = version === 0 ? null : await readTrained(context, version);
  return {
    model: lexicalModel(stored?.trained ?? null),
    calibration: stored?.calibration ?? UNTRAINED,
  };
}

/** What was read; its vectors may be the first ones. */
interface Loaded {
  readonly vectors: PackedVectors | null;
  put(itemId: string, vectors: ItemVectors | null): void;
}

function emptyVectors(): Loaded {
  let packed: PackedVectors | null = null;
  return {
    get vectors() {
      return packed;
    },
    put(itemId, given) {
      if (given === null) packed?.remove(itemId);
      else {
        packed ??= packedVectors(given.dimensions);
        if (packed.dimensions === given.dimensions) packed.set(itemId, given.first, given.vectors);
      }
    },
  };
}

/** Items that are read at a time: a few milliseconds. */
const SLICE = 100;

/** In slices, so that an instance that is woken holds up nobody. What is committed meanwhile is put in afterwards. */
async function readVectors(context: ActorContext, tag: string): Promise<Loaded> {
  const { name: actor, sql, system } = context;
  const out = emptyVectors();
  for (let after = ""; ;) {
    const firsts = await sql.all(
      `SELECT item_id, MIN(id) AS first FROM search_chunks WHERE actor = ? AND item_id > ?
        GROUP BY item_id ORDER BY item_id LIMIT ${SLICE}`,
      [actor, after],
    );
    const last = String(firsts.at(-1)?.["item_id"] ?? "");
    const rows = await sql.all(
      `SELECT item_id, dimensions, data FROM search_item_vectors
        WHERE actor = ? AND model = ? AND item_id > ? AND item_id <= ? ORDER BY item_id, part`,
      [actor, tag, after, last],
    );
    const pieces = Map.groupBy(rows, (row) => String(row["item_id"]));
    for (const row of firsts) {
      const id = String(row["item_id"]);
      const found = pieces.get(id);
      if (found === undefined) continue;
      out.put(id, {
        first: Number(row["first"]),
        dimensions: Number(found[0]?.["dimensions"]),
        vectors: fromBytes(joinParts(found.map(({ data }) => bytesOf(data)))),
      });
    }
    if (firsts.length < SLICE) return out;
    after = last;
    await system.sleep(0);
  }
}

/** The stored vectors of some chunks, exact, by their numbers. */
export async function exactVectors(
  { name: actor, sql }: ActorContext,
  tag: string,
  dimensions: number,
  chunks: readonly number[],
): Promise<Map<number, Float32Array>> {
  const perPart = rowsPerPart(dimensions);
  const bytes = dimensions * 4;
  const rows = await sql.all(
    `SELECT c.id, SUBSTR(v.data, 1 + CAST(c.ord % CAST(? AS INT) AS INT) * CAST(? AS INT), CAST(? AS INT)) AS data
      FROM search_chunks c JOIN search_item_vectors v
      ON v.actor = c.actor AND v.model = ? AND v.item_id = c.item_id AND v.part = c.ord / CAST(? AS INT)
      WHERE c.actor = ? AND ${isOneOf("c.id", "BIGINT")}`,
    [perPart, bytes, bytes, tag, perPart, actor, asSet(chunks)],
  );
  return new Map(
    rows.flatMap((row): [number, Float32Array][] => {
      const data = bytesOf(row["data"]);
      return data.length === bytes ? [[Number(row["id"]), fromBytes(data)]] : [];
    }),
  );
}

function bytesOf(value: SqlValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}
