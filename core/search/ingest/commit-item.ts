import { ApiError } from "../../http/api-error.ts";
import type { SqlRow, Statement } from "../../ports.ts";
import { dropWork, enqueue } from "../state/work-rows.ts";
import { fromBytes } from "../vectors/dense.ts";
import { emptyBlock, quantize, toBlock, type VectorBlock } from "../vectors/vector-block.ts";
import { dropVectors, vectorStatements } from "../vectors/vector-rows.ts";
import { type InstanceSettings, isRemote, recipeOf } from "../state/instance-settings.ts";
import { type InstanceState, needsTraining, vectorTag } from "../state/instance-state.ts";
import { getItem, itemRow, type Pending } from "../rows/item-store.ts";
import { logStatements } from "../rows/item-log.ts";
import { packContent } from "../rows/kept-content.ts";
import type { Item } from "../rows/item-record.ts";
import { type KeywordRow, tokenizerOf } from "../keyword/keyword-index.ts";
import type { KeywordChange } from "../keyword/keyword-change.ts";
import { LEXICAL_MODEL } from "../lexical/lexical-model.ts";
import {
  type IndexedValue,
  indexMetadata,
  type Metadata,
  withFileFields,
} from "../filter/metadata.ts";
import type { FileWarning } from "../read/file-warning.ts";
import { nameWords } from "../text/name-words.ts";
import type { TextChunk } from "../text/split.ts";

/** A chunk on its way to the instance. */
export type NewChunk = TextChunk;

/** Vectors of an embedder for all chunks of an item, one behind the other. */
export type NewVectors = {
  readonly model: string;
  readonly dimensions: number;
  readonly data: Uint8Array;
};

/** The result of an attempt to index an item. */
export type IndexedContent = {
  readonly revision: number;
  readonly chunks: readonly NewChunk[];
  /** The parts of the file that could not be read. */
  readonly warnings: readonly FileWarning[];
  /** Metadata of the file itself. @default none */
  readonly fields?: Metadata | undefined;
  /** Vectors of the embedder; null = they are made later. */
  readonly given: NewVectors | null;
  /** Milliseconds of the attempt. */
  readonly tookMs: number;
  /** The `traceparent` of the request; undefined = that of the earlier work. */
  readonly trace?: string | null | undefined;
};

/**
 * Swaps an item's chunks, vectors and metadata for new ones, in one transaction. Without vectors of its embedder the
 * item can be found by keywords, and what makes them is put into the queue. An attempt that a newer upload has overtaken,
 * or whose item is gone, changes nothing.
 */
export async function commitItem(
  state: InstanceState,
  itemId: string,
  { revision, chunks, warnings, fields = {}, given, tookMs, trace }: IndexedContent,
): Promise<Item> {
  const facts = state.facts();
  const { settings } = facts;
  const row = await itemRow(state, itemId);
  if (Number(row["revision"]) !== revision) return getItem(state, itemId);
  const key = String(row["key"]);
  const now = state.context.system.now();
  const first = facts.nextChunk;
  const tag = vectorTag(facts);
  const waits = isRemote(settings) && given === null && chunks.length > 0;
  const vectors = waits ? null : await vectorsOf(state, chunks, given, first);
  const content = await packContent(state.context, itemId, revision, chunks);
  const inserts = await insertChunks(state, itemId, first, chunks);
  const next = {
    ...facts,
    nextChunk: first + chunks.length,
    chunks: facts.chunks - Number(row["chunks"] ?? 0) + chunks.length,
    activeMs: now,
  };
  const said = liveFacts(row);
  const metadata = withFileFields(said.metadata, fields, settings.custom_metadata);
  const live = { ...said, metadata };
  const { values } = indexMetadata(key, live.modified, metadata, settings.custom_metadata);
  const statements = [
    ...removeIndexed(state, itemId),
    ...inserts,
    ...metaStatements(state.actor, itemId, values),
    ...(vectors === null ? [] : vectorStatements(state.actor, itemId, tag, vectors)),
    ...content,
    indexed(state, itemId, live, { revision, chunks: chunks.length, warnings, waits }),
    waits
      ? enqueue(state, { id: itemId, stage: "vectors", revision, trace }, false)
      : dropWork(state.actor, itemId),
    ...logStatements(state.actor, itemId, {
      at: now,
      chunks: chunks.length,
      failure: null,
      warnings,
      tookMs,
    }),
    state.save(next),
  ];
  const isDue = waits || needsTraining(next);
  const rows = chunks.map(({ heading, text }, ord) => ({ id: first + ord, key, heading, text }));
  await state.keywords.commit(keywordsOf(settings, itemId, rows), (together) =>
    state.clock.write([...together, ...statements], isDue ? state.context.steady() : null),
  );
  state.queueNews.notify();
  state.remember(next);
  state.vectors.replace(itemId, tag, vectors);
  state.forgetCounts();
  state.longWords.add([nameWords(key), ...chunks.map(embeddedText)]);
  return getItem(state, itemId);
}

/** Chunks whose text is prepared before others may go on: a few milliseconds. */
const SLICE = 1000;

/** Returns the text that vectors are made of: a chunk under its headings. */
export function embeddedText(chunk: { readonly heading: string; readonly text: string }): string {
  return chunk.heading === "" ? chunk.text : `${chunk.heading}\n${chunk.text}`;
}

async function vectorsOf(
  state: InstanceState,
  chunks: readonly NewChunk[],
  given: NewVectors | null,
  first: number,
): Promise<VectorBlock | null> {
  const facts = state.facts();
  const { settings } = facts;
  if (!settings.index_method.vector || chunks.length === 0) return null;
  if (settings.embedding_model === LEXICAL_MODEL) {
    const { model } = await state.vectors.lexical(facts.trainedVersion);
    const { dimensions } = model;
    const block = emptyBlock(first, dimensions, chunks.length);
    for (const [n, chunk] of chunks.entries()) {
      const vector = model.embed(embeddedText(chunk));
      block.scales[n] = quantize(vector, {
        from: 0,
        length: dimensions,
        bytes: block.bytes,
        to: n * dimensions,
      });
      // Others go on between two slices of a few milliseconds; changes of this instance wait.
      if (n % 16 === 15) await state.context.system.sleep(0);
    }
    return block;
  }
  if (given === null || given.model !== settings.embedding_model) {
    throw new ApiError("invalid_model", {
      message: `invalid_model: the instance's vectors are of "${settings.embedding_model}"`,
    });
  }
  return toBlock(first, given.dimensions, fromBytes(given.data));
}

async function insertChunks(
  state: InstanceState,
  itemId: string,
  first: number,
  chunks: readonly NewChunk[],
): Promise<Statement[]> {
  const inserts: Statement[] = [];
  for (const [ord, chunk] of chunks.entries()) {
    inserts.push(insertChunk(state, { itemId, id: first + ord, ord, chunk }));
    if (ord % SLICE === SLICE - 1) await state.context.system.sleep(0);
  }
  return inserts;
}

interface PlacedChunk {
  readonly itemId: string;
  readonly id: number;
  readonly ord: number;
  readonly chunk: NewChunk;
}

function insertChunk(
  { actor }: Pick<InstanceState, "actor">,
  { itemId, id, ord, chunk }: PlacedChunk,
): Statement {
  return {
    sql: "INSERT INTO search_chunks (actor, id, item_id, ord, start_byte, end_byte, heading, text, first_page, last_page) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    params: [
      actor,
      id,
      itemId,
      ord,
      chunk.startByte,
      chunk.endByte,
      chunk.heading,
      chunk.text,
      chunk.pages?.first ?? null,
      chunk.pages?.last ?? null,
    ],
  };
}

/** Returns the change of the keyword index when an item has other chunks; null without such an index. */
export function keywordsOf(
  settings: InstanceSettings,
  itemId: string,
  chunks: readonly KeywordRow[],
): KeywordChange | null {
  if (!settings.index_method.keyword) return null;
  return { type: "item", itemId, chunks, tokenizer: tokenizerOf(settings) };
}

/** Returns statements that take everything of an item out of the indexes of the database, but for keywords. */
export function removeIndexed(state: InstanceState, itemId: string): Statement[] {
  const params = [state.actor, itemId];
  return [
    { sql: "DELETE FROM search_chunks WHERE actor = ? AND item_id = ?", params },
    dropVectors(state.actor, itemId),
    { sql: "DELETE FROM search_meta WHERE actor = ? AND item_id = ?", params },
  ];
}

/** Returns statements that store the filterable values of an item. */
export function metaStatements(
  actor: string,
  itemId: string,
  values: readonly IndexedValue[],
): Statement[] {
  return values.map(({ field, num, txt }) => ({
    sql: "INSERT INTO search_meta (actor, item_id, field, num, txt) VALUES (?, ?, ?, ?, ?)",
    params: [actor, itemId, field, num, txt],
  }));
}

/** Returns the facts that an item will have once the attempt is committed: those of its new upload, or its present ones. */
export function liveFacts(row: SqlRow): Pending {
  if (row["pending"] !== null) return JSON.parse(String(row["pending"])) as Pending;
  return {
    metadata: JSON.parse(String(row["metadata"])) as Metadata,
    checksum: String(row["checksum"]),
    contentType: String(row["content_type"]),
    size: Number(row["size"]),
    modified: Number(row["modified_ms"]),
  };
}

interface Indexed {
  readonly revision: number;
  readonly chunks: number;
  readonly warnings: readonly FileWarning[];
  /** Whether its vectors are still to come. */
  readonly waits: boolean;
}

function indexed(
  state: InstanceState,
  itemId: string,
  live: Pending,
  { revision, chunks, warnings, waits }: Indexed,
): Statement {
  return {
    sql: `UPDATE search_items SET status = ?, error = NULL, indexed_revision = ?, pending = NULL, chunks = ?,
      metadata = ?, checksum = ?, size = ?, content_type = ?, modified_ms = ?, seen_ms = ?, recipe = ?, warnings = ?
      WHERE actor = ? AND id = ?`,
    params: [
      waits ? "running" : "completed",
      revision,
      chunks,
      JSON.stringify(live.metadata),
      live.checksum,
      live.size,
      live.contentType,
      live.modified,
      state.context.system.now(),
      recipeOf(state.facts().settings),
      warnings.length === 0 ? null : JSON.stringify(warnings),
      state.actor,
      itemId,
    ],
  };
}
