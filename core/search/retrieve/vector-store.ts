import type { ActorContext, SqlValue, Statement } from "../../ports.ts";
import { insertParts, joinParts, PART_BYTES } from "../items/blob-parts.ts";
import { dotAll, fromBytes, toBytes } from "../lexical/dense.ts";
import { type LexicalModel, lexicalModel } from "../lexical/lexical-model.ts";
import { calibrated, type Calibration, readTrained, UNTRAINED } from "../lexical/trained-model.ts";

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
  /** All current vectors, read on first use. */
  resident(tag: string): Promise<ReadonlyMap<string, ItemVectors>>;
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
  const size = Math.max(1, Math.floor(PART_BYTES / (dimensions * 4))) * dimensions * 4;
  return insertParts(
    "INSERT INTO search_item_vectors (actor, item_id, model, dimensions, part, data) VALUES (?, ?, ?, ?, ?, ?)",
    [actor, itemId, tag, dimensions],
    toBytes(vectors),
    size,
  );
}

/** Makes the vector store of an instance actor. */
export function createVectorStore(context: ActorContext): VectorStore {
  let loaded: { readonly tag: string; readonly items: Promise<Map<string, ItemVectors>> } | null =
    null;
  let model: {
    readonly version: number;
    readonly value: ReturnType<VectorStore["lexical"]>;
  } | null = null;
  let changes = 0;

  async function load(tag: string): Promise<Map<string, ItemVectors>> {
    for (;;) {
      const before = changes;
      const items = await readVectors(context, tag);
      // A commit that came in between is not in what was read.
      if (before === changes) return items;
    }
  }

  return {
    async resident(tag) {
      if (loaded?.tag !== tag) loaded = { tag, items: load(tag) };
      const mine = loaded;
      try {
        return await mine.items;
      } catch (error) {
        if (loaded === mine) loaded = null;
        throw error;
      }
    },
    replace(itemId, tag, vectors) {
      changes++;
      if (loaded === null) return;
      const known = loaded.tag === tag ? vectors : null;
      loaded.items.then(
        (items) => (known === null ? items.delete(itemId) : items.set(itemId, known)),
        // Whoever asked for the vectors sees the failure; the next one reads again.
        () => undefined,
      );
    },
    reset() {
      changes++;
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

/** Items that are read at a time: a few milliseconds. */
const SLICE = 100;

/** In slices, so that an instance that is woken holds up nobody. */
async function readVectors(context: ActorContext, tag: string): Promise<Map<string, ItemVectors>> {
  const { name: actor, sql, system } = context;
  const out = new Map<string, ItemVectors>();
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
      out.set(id, {
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

function bytesOf(value: SqlValue | undefined): Uint8Array {
  return value instanceof Uint8Array ? value : new Uint8Array(0);
}

/** Numbers that are multiplied before others may go on: a few milliseconds. */
const MULTIPLIED = 3_000_000;

/**
 * The chunks (of the allowed items) nearest to a query, best first, at most `limit`; ties by chunk number. `pause` lets
 * others go on.
 */
export async function scan(
  items: ReadonlyMap<string, ItemVectors>,
  query: Float32Array,
  allowed: ReadonlySet<string> | null,
  calibration: Calibration | null,
  limit: number,
  pause: () => Promise<void>,
): Promise<VectorHit[]> {
  let best: VectorHit[] = [];
  let work = 0;
  let bar = 0;
  let scores = new Float32Array(0);
  for (const [itemId, { first, dimensions, vectors }] of items) {
    if (dimensions !== query.length || (allowed !== null && !allowed.has(itemId))) continue;
    const count = vectors.length / dimensions;
    if (scores.length < count) scores = new Float32Array(count * 2);
    dotAll(query, vectors, scores.subarray(0, count));
    for (let row = 0; row < count; row++) {
      const score = calibrated(scores[row] ?? 0, calibration);
      if (score > 0 && score >= bar) best.push({ chunk: first + row, itemId, score });
    }
    work += vectors.length;
    if (work > MULTIPLIED) {
      work = 0;
      await pause();
    }
    // Sorting now and then is cheaper than keeping order, and all that cannot win any more goes.
    if (best.length < 4 * limit) continue;
    best = best.toSorted(nearest).slice(0, limit);
    bar = best.at(-1)?.score ?? 0;
  }
  return best.toSorted(nearest).slice(0, limit);
}

function nearest(a: VectorHit, b: VectorHit): number {
  return b.score - a.score || a.chunk - b.chunk;
}
