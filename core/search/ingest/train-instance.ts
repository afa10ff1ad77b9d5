import { utf8 } from "../../crypto/encoding.ts";
import type { Background, SqlRow } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import { withinMs } from "../../time/within-ms.ts";
import { type InstanceState, vectorTag } from "../state/instance-state.ts";
import { embeddedText } from "./commit-item.ts";
import { toBlock, type VectorBlock } from "../vectors/vector-block.ts";
import { addVectors } from "../vectors/vector-rows.ts";
import {
  LEXICAL_MODEL,
  type LexicalModel,
  lexicalModel,
  MAX_SAMPLE,
  TRAIN_FROM,
} from "../lexical/lexical-model.ts";
import {
  learnModel,
  type StoredModel,
  trainedModel,
  trainedStatements,
} from "../lexical/trained-model.ts";

/** Chunks that are read at a time, and items whose vectors are written at a time: a few milliseconds each. */
const READ = 500;
const WRITTEN = 32;
/** Milliseconds that learning may take, the wait for other instances with it: the largest sample takes some seconds. */
const LEARN_MS = 3_600_000;

/**
 * Learns the builtin vectors from a sample of the instance's chunks, makes the vectors of all items beside those that
 * serve, and swaps the two at once. Only the writing of a few items, and the swap, keep changes of the instance waiting. Does
 * nothing for an instance without builtin vectors.
 */
export async function trainInstance(state: InstanceState, background: Background): Promise<void> {
  try {
    await state.trainInTurn(() => trainNow(state, background));
  } catch (error) {
    // The next process trains again from the start.
    if (state.context.system.closing?.aborted !== true) throw error;
  }
}

async function trainNow(state: InstanceState, background: Background): Promise<void> {
  const before = state.facts();
  if (!hasBuiltinVectors(state)) return;
  const { actor, context } = state;
  const { sql, system } = context;
  const version = before.trainedVersion + 1;
  const tag = vectorTag({ ...before, trainedVersion: version });
  // Rows left by a training that the death of its process cut off.
  await sql.batch([
    { sql: "DELETE FROM search_vector_blocks WHERE actor = ? AND model = ?", params: [actor, tag] },
  ]);
  const learned = await learn(state, background);
  const model = lexicalModel(learned === null ? null : trainedModel(learned).trained);
  while ((await embedSome(state, model, tag)) > 0) {
    await system.sleep(0);
    if (system.closing?.aborted === true || !isSame(state, before.trainedVersion)) return;
  }
  await state.inTurn(async () => {
    if (!isSame(state, before.trainedVersion)) return;
    // Items added since the last look; inside the turn no more can come in.
    while ((await embedNow(state, model, tag)) > 0);
    const facts = state.facts();
    const next = { ...facts, trainedVersion: version, trainedChunks: facts.chunks };
    await sql.batch([
      ...(learned === null
        ? [{ sql: "DELETE FROM search_models WHERE actor = ?", params: [actor] }]
        : trainedStatements(actor, version, learned)),
      state.save(next),
    ]);
    state.remember(next);
    state.vectors.reset();
  });
  await dropOthers(state);
}

function hasBuiltinVectors(state: InstanceState): boolean {
  const { embedding_model: model, index_method: method } = state.facts().settings;
  return method.vector && model === LEXICAL_MODEL;
}

/** Whether the instance still exists and has not been trained meanwhile. */
function isSame(state: InstanceState, version: number): boolean {
  return state.exists() && hasBuiltinVectors(state) && state.facts().trainedVersion === version;
}

/** Learns from the instance's own chunks; null when they are too few. */
async function learn(state: InstanceState, background: Background): Promise<StoredModel | null> {
  const { system } = state.context;
  const { pages, count } = await sampleOf(state);
  if (count < TRAIN_FROM) return null;
  const work = (signal: AbortSignal): Promise<StoredModel> =>
    background.run(learnModel, pages, signal, state.actor);
  return withinMs({ ms: LEARN_MS, signal: system.closing, system }, work);
}

/** Returns texts of chunks, spread over the instance, as {@link learnModel} reads them. */
async function sampleOf(state: InstanceState): Promise<{ pages: Uint8Array[]; count: number }> {
  const { actor, context } = state;
  const step = Math.max(1, Math.floor(state.facts().chunks / MAX_SAMPLE));
  const pages: Uint8Array[] = [];
  let count = 0;
  for (let after = -1; ;) {
    const rows = await context.sql.all(
      `SELECT id, heading, text FROM search_chunks WHERE actor = ? AND id > ? AND id % ? = 0 ORDER BY id LIMIT ${READ}`,
      [actor, after, step],
    );
    pages.push(utf8(JSON.stringify(rows.map(textOf))));
    count += rows.length;
    if (rows.length < READ) return { pages, count };
    after = Number(rows.at(-1)?.["id"] ?? 0);
    await context.system.sleep(0);
  }
}

const textOf = (row: SqlRow): string =>
  embeddedText({ heading: String(row["heading"]), text: String(row["text"]) });

/** The vectors of one item. */
interface Embedded {
  readonly itemId: string;
  readonly block: VectorBlock;
}

/** Makes vectors of some items that lack those of this training, and writes those whose chunks are still the same. */
async function embedSome(state: InstanceState, model: LexicalModel, tag: string): Promise<number> {
  const items = await embedded(state, model, tag, true);
  if (items.length > 0) await state.inTurn(() => write(state, tag, items));
  return items.length;
}

/** Does the same inside a turn of the instance. */
async function embedNow(state: InstanceState, model: LexicalModel, tag: string): Promise<number> {
  const items = await embedded(state, model, tag, false);
  if (items.length > 0) await write(state, tag, items);
  return items.length;
}

async function embedded(
  { actor, context: { sql, system } }: InstanceState,
  model: LexicalModel,
  tag: string,
  yields: boolean,
): Promise<Embedded[]> {
  const missing = await sql.all(
    `SELECT i.id FROM search_items i WHERE i.actor = ? AND i.chunks > 0 AND NOT EXISTS
      (SELECT 1 FROM search_vector_blocks v WHERE v.actor = i.actor AND v.model = ? AND v.item_id = i.id)
      LIMIT ${WRITTEN}`,
    [actor, tag],
  );
  const out: Embedded[] = [];
  for (const { id } of missing) {
    const rows = await sql.all(
      "SELECT id, heading, text FROM search_chunks WHERE actor = ? AND item_id = ? ORDER BY ord",
      [actor, id ?? null],
    );
    const vectors = new Float32Array(rows.length * model.dimensions);
    for (const [n, row] of rows.entries()) {
      vectors.set(model.embed(textOf(row)), n * model.dimensions);
      if (yields && n % 16 === 15) await system.sleep(0);
    }
    if (rows.length > 0)
      out.push({
        itemId: String(id),
        block: toBlock(Number(rows[0]?.["id"] ?? 0), model.dimensions, vectors),
      });
  }
  return out;
}

async function write(
  { actor, context: { sql } }: InstanceState,
  tag: string,
  items: readonly Embedded[],
): Promise<void> {
  const rows = await sql.all(
    `SELECT item_id, MIN(id) AS first FROM search_chunks WHERE actor = ? AND ${isOneOf("item_id", "TEXT")} GROUP BY item_id`,
    [actor, asSet(items.map(({ itemId }) => itemId))],
  );
  const firsts = new Map(rows.map((row) => [String(row["item_id"]), Number(row["first"])]));
  const same = items.filter(({ itemId, block }) => firsts.get(itemId) === block.first);
  await sql.batch(same.flatMap(({ itemId, block }) => addVectors(actor, itemId, tag, block)));
}

/** Deletes the vectors of former trainings, a few items at a time. */
async function dropOthers(state: InstanceState): Promise<void> {
  const { actor, context } = state;
  for (;;) {
    if (!state.exists()) return;
    const rows = await context.sql.all(
      `SELECT DISTINCT item_id FROM search_vector_blocks WHERE actor = ? AND model <> ? LIMIT ${WRITTEN}`,
      [actor, vectorTag(state.facts())],
    );
    if (rows.length === 0) return;
    await context.sql.batch([
      {
        sql: `DELETE FROM search_vector_blocks WHERE actor = ? AND model <> ? AND ${isOneOf("item_id", "TEXT")}`,
        params: [actor, vectorTag(state.facts()), asSet(rows.map((row) => String(row["item_id"])))],
      },
    ]);
    await context.system.sleep(0);
  }
}
