import type { ActorContext } from "../../ports.ts";
import { type LexicalModel, lexicalModel } from "./lexical-model.ts";
import { type Calibration, readTrained, UNTRAINED } from "./trained-model.ts";
import { dot } from "../vectors/dense.ts";
import { nearestRows, type NearRow } from "../vectors/best-rows.ts";
import {
  packedBytes,
  packedVectors,
  type PackedVectors,
  type VectorIndex,
} from "../vectors/packed-vectors.ts";
import type { VectorBlock } from "../vectors/vector-block.ts";
import type { VectorBudget } from "../vectors/vector-budget.ts";
import { storedBlocks, storedDimensions, storedVectors } from "../vectors/vector-rows.ts";

/** The vectors of an instance, in memory where they fit. */
export interface VectorStore {
  /**
   * Returns the index of the current vectors; read into memory on first use where there is room. Null for an instance
   * without vectors.
   */
  index(tag: string, chunks: number): Promise<VectorIndex | null>;
  /** Whether searches read the vectors from their rows, because memory has no room for them. */
  isStreamed(): boolean;
  /** Takes over a committed change without reading again; null = the item has no vectors any more. */
  replace(itemId: string, tag: string, vectors: VectorBlock | null): void;
  /** Forgets what is in memory: after a training or a change of the model. */
  reset(): void;
  /** The builtin model of a training, and the scale of its scores. */
  lexical(
    version: number,
  ): Promise<{ readonly model: LexicalModel; readonly calibration: Calibration }>;
}

/** The vectors that were read, or are being read; they may be the instance's first ones. */
interface Loaded {
  readonly tag: string;
  /** Resolves when all is read, to what answers for vectors that stay in their rows. */
  readonly read: Promise<VectorIndex | null>;
  /** Null for vectors that stay in their rows, and before the first vectors. */
  packed: PackedVectors | null;
  /** Changes that were committed while the vectors were being read; null afterwards. */
  later: (() => void)[] | null;
}

type HasRoom = (bytes: number) => boolean;

/** Begins to read vectors. */
function open(context: ActorContext, tag: string, chunks: number, hasRoom: HasRoom): Loaded {
  const loaded: Loaded = {
    tag,
    read: Promise.resolve().then(() => read(loaded, context, chunks, hasRoom)),
    packed: null,
    later: [],
  };
  return loaded;
}

async function read(
  loaded: Loaded,
  context: ActorContext,
  chunks: number,
  hasRoom: HasRoom,
): Promise<VectorIndex | null> {
  const { tag } = loaded;
  const dimensions = await storedDimensions(context, tag);
  if (dimensions !== null && !hasRoom(packedBytes(chunks, dimensions))) {
    loaded.later = null;
    return streamedVectors(context, tag, dimensions);
  }
  if (dimensions !== null) {
    const packed = packedVectors(dimensions);
    for await (const blocks of storedBlocks(context, tag))
      for (const { itemId, block } of blocks)
        if (block.dimensions === dimensions) packed.add(itemId, block);
    loaded.packed = packed;
  }
  const changes = loaded.later ?? [];
  loaded.later = null;
  for (const change of changes) change();
  return null;
}

function put(loaded: Loaded, itemId: string, vectors: VectorBlock | null): void {
  loaded.packed?.remove(itemId);
  if (vectors === null) return;
  loaded.packed ??= packedVectors(vectors.dimensions);
  if (loaded.packed.dimensions === vectors.dimensions) loaded.packed.add(itemId, vectors);
}

export function createVectorStore(context: ActorContext, budget: VectorBudget): VectorStore {
  const owner = {};
  let loaded: Loaded | null = null;
  let isStreamed = false;
  let model: {
    readonly version: number;
    readonly value: ReturnType<VectorStore["lexical"]>;
  } | null = null;

  const forget = (): void => {
    loaded = null;
    isStreamed = false;
    budget.release(owner);
  };
  const hasRoom = (bytes: number): boolean => budget.take(owner, bytes, forget);

  return {
    async index(tag, chunks) {
      if (loaded?.tag !== tag) {
        forget();
        loaded = open(context, tag, chunks, hasRoom);
      }
      const mine = loaded;
      budget.touch(owner);
      try {
        const streamed = await mine.read;
        if (loaded === mine) isStreamed = streamed !== null;
        // Those that came after the reading may be the first ones.
        return streamed ?? mine.packed;
      } catch (error) {
        if (loaded === mine) forget();
        throw error;
      }
    },
    isStreamed: () => isStreamed,
    replace(itemId, tag, vectors) {
      const mine = loaded;
      if (mine === null || isStreamed) return;
      const change = (): void => {
        put(mine, itemId, mine.tag === tag ? vectors : null);
        // It grew too large: the next search decides again whether it fits in memory.
        if (mine.packed !== null && !hasRoom(mine.packed.size()) && loaded === mine) forget();
      };
      if (mine.later === null) change();
      else mine.later.push(change);
    },
    reset() {
      forget();
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

/** Items up to which a filter narrows what is read. */
const FEW = 2_000;

/** Makes an index of vectors that stay in their rows: each search reads them in slices, of which one is in memory. */
export function streamedVectors(
  context: ActorContext,
  tag: string,
  dimensions: number,
): VectorIndex {
  return {
    dimensions,
    async nearest(query, allowed, limit, pause) {
      const items = allowed !== null && allowed.size <= FEW ? [...allowed] : null;
      let best: NearRow[] = [];
      for await (const blocks of storedBlocks(context, tag, items)) {
        const slice = packedVectors(dimensions);
        for (const { itemId, block } of blocks)
          if (block.dimensions === dimensions && (allowed === null || allowed.has(itemId)))
            slice.add(itemId, block);
        best = nearestRows([...best, ...(await slice.nearest(query, null, limit, pause))], limit);
      }
      return best;
    },
    async nearestOf(query, rows, limit) {
      const vectors = await storedVectors(
        context,
        tag,
        dimensions,
        rows.map(({ chunk }) => chunk),
      );
      const rescored = rows.flatMap((one): NearRow[] => {
        const vector = vectors.get(one.chunk);
        return vector === undefined ? [] : [{ ...one, cosine: dot(query, vector, 0) }];
      });
      return nearestRows(rescored, limit);
    },
    vectors: (chunks) => storedVectors(context, tag, dimensions, chunks),
  };
}
