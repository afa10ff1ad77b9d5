import type { RetrievalType, SearchInput, SearchNote } from "./search-input.ts";
import { ApiError } from "../../http/api-error.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import { hasLearned } from "./ask-legs.ts";
import { type AskedWords, askedWords, coverage, wordFinder } from "./coverage.ts";
import {
  type Chunk,
  chunkId,
  type FoundText,
  pageNumbers,
  passageOf,
  toChunk,
} from "./chunk-view.ts";
import { type Collected, collect, itemOf, type Search } from "./collect.ts";
import { MATCHED_BY_VECTORS } from "./matching-items.ts";
import { parseFilter } from "../filter/filter.ts";
import { filterCondition } from "../filter/filter-sql.ts";
import { fuse, type FusionMethod, singleLeg } from "./fuse.ts";
import type { RankedChunk } from "./rank.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { LEXICAL_MODEL } from "../lexical/lexical-model.ts";
import { round } from "../lexical/trained-model.ts";
import { keywordPlan } from "../query/keyword-plan.ts";
import type { Facets } from "../refine/facets.ts";
import { filterNotes } from "../refine/fields.ts";
import { nameWords } from "../text/name-words.ts";
import { highlighter } from "../refine/highlight.ts";
import { type ItemPlace, readOrder } from "../refine/order.ts";

/** Share of the builtin vectors in a hybrid score: after a training, and before. */
const TRAINED_WEIGHT = 0.3;
const UNTRAINED_WEIGHT = 0.1;

/** The results of a search of one instance. */
export type Retrieved = {
  readonly chunks: Chunk[];
  readonly facets: Facets | null;
  /** Each chunk's sort values and group; null when the request asked for no order. */
  readonly places: ItemPlace[] | null;
  readonly notes: readonly SearchNote[];
  readonly asked: AskedWords;
};

/**
 * The one retrieval pipeline: both legs, fusion, threshold, boosts, order, cut, text. The best hit of keywords scores what it
 * holds of the question, and the others less: the best of bad hits has a bad score.
 * Throws 503 while the keyword index is being made, 7070 for a type that the instance cannot serve, the filter's errors, and 7073 when no leg answered.
 */
export async function retrieve(state: InstanceState, input: SearchInput): Promise<Retrieved> {
  if (state.facts().settings.index_method.keyword) await state.keywords.ready();
  const search = await readSearch(state, input);
  const { limit, plan, type } = search;
  const collected = await collect(search);
  const { legs, both } = collected.legs;
  // Threads answer several searches at once: what is left to do of each, some milliseconds, has a turn of its own.
  await state.context.system.sleep(0);
  const shown = await withText(state, collected.ranked.slice(0, limit));
  const asked = await askedWords(state, plan);
  const found = wordFinder(asked);
  await state.context.system.sleep(0);
  const coverages = shown.map(({ row }) =>
    coverage(
      asked,
      found(`${nameWords(String(row["key"]))}\n${String(row["heading"])}\n${String(row["text"])}`),
    ),
  );
  const byKeywords = type !== "vector" && legs.keyword.length > 0;
  const scale = bestWorth(shown, coverages, both, byKeywords);
  const fusion = both ? fusionMethod(state, input) : null;
  const taken = new Set(
    shown.map(({ row }) => chunkId(String(row["item_id"]), Number(row["ord"]))),
  );
  const highlight = highlighter(state, plan, input.highlight);
  const chunks: Chunk[] = [];
  for (const [n, { candidate, row }] of shown.entries()) {
    const passage: FoundText =
      input.metadataOnly === true
        ? { text: "", ...pageNumbers(row) }
        : await passageOf(state, row, input.expansion ?? 0, taken);
    const scored = { ...candidate, score: round(candidate.score * scale) };
    const chunk = toChunk(scored, { row, passage, fusion, coverage: coverages[n] ?? 0 });
    chunks.push({ ...chunk, ...(await highlight(chunk)) });
  }
  const { filter } = search;
  const notes = (filter === null ? [] : filterNotes(state, filter)).map((message): SearchNote => ({
    name: "invalid_filter",
    message,
  }));
  if (collected.isCut) notes.push(cutNote(input));
  return { chunks, facets: collected.facets, places: placesIn(collected, shown), notes, asked };
}

function cutNote({ sort, facets }: SearchInput): SearchNote {
  const options = [...(sort?.length ? ["sort"] : []), ...(facets ? ["facets"] : [])].join(" and ");
  return {
    name: "more_matches",
    message: `${options}: more than ${MATCHED_BY_VECTORS} chunks are similar enough. Of the chunks without a word of the query, only the ${MATCHED_BY_VECTORS} nearest count. Raise match_threshold, or search by keywords`,
  };
}

/** Reads the options of a search, before anything is asked. */
async function readSearch(state: InstanceState, input: SearchInput): Promise<Search> {
  const { settings } = state.facts();
  const type = retrievalType(input.type, settings.index_method);
  const threshold = input.threshold ?? settings.score_threshold;
  const order = readOrder(state, input.sort, input.distinct);
  const filter = input.filters === undefined ? null : parseFilter(JSON.parse(input.filters));
  const plan = await keywordPlan(state, {
    query: input.query,
    operators: input.operators,
    typoTolerance: input.typoTolerance,
    prefix: input.prefix,
  });
  return {
    state,
    input,
    plan,
    type,
    limit: input.limit ?? settings.max_num_results,
    threshold,
    order,
    // Once for both legs.
    allowed:
      filter === null
        ? null
        : await state.allowed.of(filterCondition(filter, state.facts().settings.custom_metadata)),
    filter,
    join: ({ legs, both }) => {
      if (!both) return singleLeg(legs, threshold);
      const weight = hasLearned(state) ? TRAINED_WEIGHT : UNTRAINED_WEIGHT;
      return fuse(legs, fusionMethod(state, input), weight, threshold);
    },
  };
}

function placesIn({ placeOf }: Collected, shown: readonly RankedChunk[]): ItemPlace[] | null {
  return placeOf === null ? null : shown.map((one) => placeOf(itemOf(one)));
}

/** Scores the best hit by itself: the share of the question that it holds, or its similarity where that was asked. */
function bestWorth(
  shown: readonly RankedChunk[],
  coverages: readonly number[],
  bySimilarity: boolean,
  byKeywords: boolean,
): number {
  if (!byKeywords && !bySimilarity) return 1;
  const similarities = shown.map(({ candidate }) => candidate.vectorScore ?? 0);
  return Math.max(0, ...coverages, ...(bySimilarity ? similarities : []));
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

/** Adds the texts; a chunk that went in the meantime is left out. */
async function withText(
  state: InstanceState,
  ranked: readonly RankedChunk[],
): Promise<RankedChunk[]> {
  const rows = await state.context.sql.all(
    `SELECT id, heading, text, first_page, last_page FROM search_chunks WHERE actor = ? AND ${isOneOf("id", "BIGINT")}`,
    [state.actor, asSet(ranked.map(({ candidate }) => candidate.chunk))],
  );
  const texts = new Map(rows.map((row) => [Number(row["id"]), row]));
  return ranked.flatMap(({ candidate, row }) => {
    const text = texts.get(candidate.chunk);
    return text === undefined ? [] : [{ candidate, row: { ...row, ...text } }];
  });
}
