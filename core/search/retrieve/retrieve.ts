import type { RetrievalType, SearchInput } from "./search-input.ts";
import { ApiError } from "../../http/api-error.ts";
import type { SqlRow } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql-text.ts";
import { askLegs } from "./ask-legs.ts";
import { boosts } from "./boost.ts";
import type { Boost } from "../instance/instance-schema.ts";
import { coverageOf } from "./coverage.ts";
import { type Chunk, chunkId, expandedText, toChunk } from "./chunk-view.ts";
import { parseFilter } from "./filter.ts";
import { type Condition, filterCondition } from "./filter-sql.ts";
import { type Candidate, fuse, type FusionMethod, singleLeg } from "./fuse.ts";
import type { InstanceState } from "../instance/instance-state.ts";
import { LEXICAL_MODEL, TRAIN_FROM } from "../lexical/lexical-model.ts";
import { round } from "../lexical/trained-model.ts";

/** Share of the builtin vectors in a hybrid score: after a training, and before. */
const TRAINED_WEIGHT = 0.2;
const UNTRAINED_WEIGHT = 0.1;

/**
 * The one retrieval pipeline: both legs, fusion, threshold, boosts, cut, text. The best hit of keywords scores what it holds
 * of the question, and the others less: the best of bad hits has a bad score.
 * Throws 7070 for a type that the instance cannot serve, the filter's errors, and 7073 when no leg answered.
 */
export async function retrieve(state: InstanceState, input: SearchInput): Promise<Chunk[]> {
  const { settings } = state.facts();
  const type = retrievalType(input.type, settings.index_method);
  const limit = input.limit ?? settings.max_num_results;
  const threshold = input.threshold ?? settings.score_threshold;
  const filter = conditionOf(state, input);
  const wanted = input.boostBy ?? settings.retrieval_options?.boost_by ?? [];
  const { legs, both } = await askLegs(state, input, type, limit, filter, wanted.length > 0);
  const fusion = both ? fusionMethod(state, input) : null;
  const weight = state.facts().trainedChunks >= TRAIN_FROM ? TRAINED_WEIGHT : UNTRAINED_WEIGHT;
  const candidates =
    fusion === null ? singleLeg(legs, threshold) : fuse(legs, fusion, weight, threshold);
  const ranked = await rank(state, candidates, wanted);
  const taken = new Set(
    ranked.slice(0, limit).map(({ row }) => chunkId(String(row["item_id"]), Number(row["ord"]))),
  );
  const shown = await withText(state, ranked.slice(0, limit));
  const covers = await coverageOf(state, input.query);
  const coverages = shown.map(({ row }) =>
    covers(`${String(row["heading"])}\n${String(row["text"])}`),
  );
  const byKeywords = type !== "vector" && legs.keyword.length > 0;
  const scale = bestWorth(shown, coverages, both, byKeywords);
  const out: Chunk[] = [];
  for (const [n, { candidate, row }] of shown.entries()) {
    const text =
      input.metadataOnly === true
        ? ""
        : await expandedText(state, row, input.expansion ?? 0, taken);
    const scored = { ...candidate, score: round(candidate.score * scale) };
    out.push(toChunk(scored, row, text, fusion, coverages[n] ?? 0));
  }
  return out;
}

/** What the best hit is worth by itself: the share of the question that it holds, or its similarity where that was asked. */
function bestWorth(
  shown: readonly Ranked[],
  coverages: readonly number[],
  bySimilarity: boolean,
  byKeywords: boolean,
): number {
  if (!byKeywords && !bySimilarity) return 1;
  const similarities = shown.map(({ candidate }) => candidate.vectorScore ?? 0);
  return Math.max(0, ...coverages, ...(bySimilarity ? similarities : []));
}

function conditionOf(state: InstanceState, { filters }: SearchInput): Condition | null {
  if (filters === undefined) return null;
  return filterCondition(parseFilter(JSON.parse(filters)), state.facts().settings.custom_metadata);
}

function retrievalType(
  wanted: RetrievalType | undefined,
  method: { readonly vector: boolean; readonly keyword: boolean },
): RetrievalType {
  const best = method.vector && method.keyword ? "hybrid" : method.vector ? "vector" : "keyword";
  if (wanted === undefined || wanted === best || best === "hybrid") return wanted ?? best;
  throw new ApiError("invalid_retrieval_type", {
    message: `invalid_retrieval_type: the instance has no ${wanted === "hybrid" ? "hybrid" : wanted} index; use "${best}"`,
  });
}

function fusionMethod(state: InstanceState, input: SearchInput): FusionMethod {
  const { settings } = state.facts();
  const wanted = input.fusion ?? settings.fusion_method;
  // Ranks of the builtin vectors are too weak to count as much as those of the keyword leg.
  return wanted === "rrf" && settings.embedding_model === LEXICAL_MODEL ? "weighted" : wanted;
}

interface Ranked {
  readonly candidate: Candidate;
  readonly row: SqlRow;
}

/** Candidates that still exist, best first; equal scores by key and place, so that every run agrees. */
async function rank(
  state: InstanceState,
  candidates: readonly Candidate[],
  wanted: readonly Boost[],
): Promise<Ranked[]> {
  const rows = await state.context.sql.all(
    `SELECT c.id AS chunk, c.item_id, c.ord, i.key, i.metadata, i.modified_ms FROM search_chunks c
      JOIN search_items i ON i.actor = c.actor AND i.id = c.item_id
      WHERE c.actor = ? AND ${isOneOf("c.id", "BIGINT")}`,
    [state.actor, asSet(candidates.map((one) => one.chunk))],
  );
  const byChunk = new Map(rows.map((row) => [Number(row["chunk"]), row]));
  const present = candidates.flatMap((candidate) => {
    const row = byChunk.get(candidate.chunk);
    return row === undefined ? [] : [{ candidate, row }];
  });
  const boost = await boosts(state, wanted, [
    ...new Set(rows.map((row) => String(row["item_id"]))),
  ]);
  return present
    .map(({ candidate, row }) => ({
      row,
      candidate: { ...candidate, score: boost(String(row["item_id"]), candidate.score) },
    }))
    .toSorted(compare);
}

function compare(a: Ranked, b: Ranked): number {
  if (a.candidate.score !== b.candidate.score) return b.candidate.score - a.candidate.score;
  const [x, y] = [String(a.row["key"]), String(b.row["key"])];
  if (x !== y) return x < y ? -1 : 1;
  return Number(a.row["ord"]) - Number(b.row["ord"]);
}

/** Adds the texts; a chunk that went in the meantime is left out. */
async function withText(state: InstanceState, ranked: readonly Ranked[]): Promise<Ranked[]> {
  const rows = await state.context.sql.all(
    `SELECT id, heading, text FROM search_chunks WHERE actor = ? AND ${isOneOf("id", "BIGINT")}`,
    [state.actor, asSet(ranked.map(({ candidate }) => candidate.chunk))],
  );
  const texts = new Map(rows.map((row) => [Number(row["id"]), row]));
  return ranked.flatMap(({ candidate, row }) => {
    const text = texts.get(candidate.chunk);
    return text === undefined ? [] : [{ candidate, row: { ...row, ...text } }];
  });
}
