import { utf8 } from "../../crypto/encoding.ts";
import type { SqlRow } from "../../ports.ts";
import type { Candidate, FusionMethod } from "./fuse.ts";
import type { Highlighted } from "../refine/highlight.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { itemMetadata } from "../rows/item-record.ts";
import type { Metadata } from "../filter/metadata.ts";

/** A retrieved chunk as the API shows it. */
export type Chunk = Highlighted &
  PageNumbers & {
    readonly id: string;
    readonly type: "text";
    readonly score: number;
    readonly text: string;
    /** The headings above the text, outermost first, and the columns of a table that it goes on with, joined by " > ". */
    readonly heading?: string;
    readonly item: {
      readonly key: string;
      readonly timestamp: number;
      readonly metadata: Metadata;
    };
    readonly scoring_details: {
      readonly vector_score: number;
      readonly keyword_score?: number;
      readonly vector_rank?: number;
      readonly keyword_rank?: number;
      readonly fusion_method?: FusionMethod;
      readonly reranking_score?: number;
      /** How much of the question the chunk holds: the share of its words, rare ones weighing more. */
      readonly coverage?: number;
    };
    /** Only in answers over several instances. */
    readonly instance_id?: string;
  };

/** The pages or slides that a text is from, as the API shows them; nothing where its file has none. */
export type PageNumbers = {
  /** The first one, counted from 1. */
  readonly page_number?: number;
  /** The last one, where that is another. */
  readonly last_page_number?: number;
};

/** The text of a result: a chunk, perhaps with its neighbours. */
export type FoundText = PageNumbers & { readonly text: string };

/** The pages of a row of `search_chunks`, or from one to another of the same item. */
export function pageNumbers(first: SqlRow, last: SqlRow = first): PageNumbers {
  const from = Number(first["first_page"] ?? 0);
  const to = Number(last["last_page"] ?? 0);
  if (from === 0) return {};
  return { page_number: from, ...(to > from && { last_page_number: to }) };
}

/** The name of a chunk: its item and its place in it. */
export function chunkId(itemId: string, ord: number): string {
  return `${itemId}:${ord}`;
}

/** The stored row of a retrieved chunk, and what is shown of it. */
export interface ChunkParts {
  readonly row: SqlRow;
  readonly passage: FoundText;
  readonly fusion: FusionMethod | null;
  readonly coverage: number;
}

/** A candidate with its rows as a chunk. */
export function toChunk(
  candidate: Candidate,
  { row, passage, fusion, coverage }: ChunkParts,
): Chunk {
  const key = String(row["key"]);
  const heading = String(row["heading"] ?? "");
  return {
    id: chunkId(String(row["item_id"]), Number(row["ord"])),
    type: "text",
    score: candidate.score,
    ...passage,
    ...(heading !== "" && { heading }),
    item: { key, timestamp: Number(row["modified_ms"]), metadata: itemMetadata(row, key) },
    scoring_details: {
      vector_score: candidate.vectorScore ?? 0,
      ...(candidate.bm25 === null ? {} : { keyword_score: candidate.bm25 }),
      ...(candidate.vectorRank === null ? {} : { vector_rank: candidate.vectorRank }),
      ...(candidate.keywordRank === null ? {} : { keyword_rank: candidate.keywordRank }),
      ...(fusion === null ? {} : { fusion_method: fusion }),
      coverage,
    },
  };
}

/**
 * A chunk with up to `reach` neighbours on each side. Stays inside the item and takes no chunk
 * that is in `taken`, so that no text appears twice in one answer; adds to `taken` what it takes.
 */
export async function passageOf(
  state: InstanceState,
  row: SqlRow,
  reach: number,
  taken: Set<string>,
): Promise<FoundText> {
  const ord = Number(row["ord"]);
  const itemId = String(row["item_id"]);
  const own: FoundText = { text: String(row["text"]), ...pageNumbers(row) };
  if (reach === 0) return own;
  const rows = await state.context.sql.all(
    `SELECT ord, start_byte, end_byte, text, first_page, last_page FROM search_chunks
      WHERE actor = ? AND item_id = ? AND ord BETWEEN ? AND ? ORDER BY ord`,
    [state.actor, itemId, ord - reach, ord + reach],
  );
  const at = rows.findIndex((one) => Number(one["ord"]) === ord);
  if (at < 0) return own;
  const free = (one: SqlRow | undefined): one is SqlRow =>
    one !== undefined && !taken.has(chunkId(itemId, Number(one["ord"])));
  let first = at;
  let last = at;
  while (first > 0 && free(rows[first - 1])) first--;
  while (last < rows.length - 1 && free(rows[last + 1])) last++;
  let text = "";
  let end = 0;
  for (const one of rows.slice(first, last + 1)) {
    taken.add(chunkId(itemId, Number(one["ord"])));
    text +=
      text === ""
        ? String(one["text"])
        : joint(String(one["text"]), end - Number(one["start_byte"]));
    end = Number(one["end_byte"]);
  }
  return { text, ...pageNumbers(rows[first] ?? row, rows[last]) };
}

/**
 * The next chunk without the bytes that the one before ends with. Where they do not touch only blanks lie between: one is a
 * space, or a line break before an item of a list or a row of a table; more are a new paragraph.
 */
function joint(text: string, overlap: number): string {
  if (overlap < -1) return `\n\n${text}`;
  if (overlap === -1) return /^(?:[-*+|>#]|\d+[.)]\s)/.test(text) ? `\n${text}` : ` ${text}`;
  return new TextDecoder().decode(utf8(text).subarray(overlap));
}
