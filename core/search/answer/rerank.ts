import { LEXICAL_RERANKER, checkReranker } from "../models/models.ts";
import { ApiError } from "../../http/api-error.ts";
import { embeddedText } from "../ingest/commit-item.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { round } from "../lexical/trained-model.ts";
import type { Chunk } from "../retrieve/chunk-view.ts";
import type { Reranker, SearchOptions } from "../models/search-deps.ts";
import type { RequestOptions } from "../state/search-schema.ts";
import { stem } from "../text/porter.ts";
import { words } from "../text/segment.ts";
import { isStopWord } from "../text/stop-words.ts";

export const RERANKED: number = 50;
/** The least score of a chunk that a configured reranker has judged, when a request says nothing. */
const THRESHOLD = 0.4;

/** How a search is to be reranked. */
export interface Reranking {
  readonly reranker: Reranker;
  readonly threshold: number;
}

/**
 * Returns the reranker that a request or its instance asks for; null when neither does. Throws 7010 for one that is not
 * here.
 */
export function chooseReranker(
  asked: RequestOptions["reranking"],
  settings: Pick<InstanceSettings, "reranking" | "reranking_model">,
  { reranker }: Pick<SearchOptions, "reranker">,
): Reranking | null {
  if (!(asked?.enabled ?? settings.reranking === true)) return null;
  const name = asked?.model ?? settings.reranking_model ?? "";
  checkReranker(name, reranker?.model ?? null);
  const chosen = reranker === undefined || name === LEXICAL_RERANKER ? lexicalReranker : reranker;
  return {
    reranker: chosen,
    threshold: asked?.match_threshold ?? (chosen === lexicalReranker ? 0 : THRESHOLD),
  };
}

/** Returns the chunks by the scores of a reranker, best first, without those below the threshold. */
export async function rerank(
  query: string,
  chunks: readonly Chunk[],
  { reranker, threshold }: Reranking,
  signal: AbortSignal,
): Promise<Chunk[]> {
  if (chunks.length === 0) return [];
  const texts = chunks.map(({ heading = "", text }) => embeddedText({ heading, text }));
  const scores = await reranker.rerank(query, texts, signal);
  if (scores.length !== chunks.length || !scores.every(Number.isFinite)) {
    throw new ApiError("unavailable", {
      message: `The reranker "${reranker.model}" answered ${scores.length} scores for ${chunks.length} texts`,
    });
  }
  // The builtin one only orders: what the best is worth the search knows.
  const most = reranker === lexicalReranker ? Math.max(...chunks.map(({ score }) => score)) : 1;
  return chunks
    .map((chunk, at) => {
      const score = round(most * Math.min(1, Math.max(0, scores[at] ?? 0)));
      const details = { ...chunk.scoring_details, reranking_score: score };
      return { ...chunk, score, scoring_details: details };
    })
    .filter(({ score }) => score >= threshold)
    .toSorted((a, b) => b.score - a.score);
}

/** Weight of the former order, which knows the whole collection, against what the texts alone tell. */
const FORMER = 0.7;

/** Counts which of the question's words a text holds, and how many of their pairs stand side by side. */
const lexicalReranker: Reranker = {
  model: LEXICAL_RERANKER,
  rerank(query, texts) {
    const asked = stems(query);
    const terms = [...new Set(asked)];
    const pairs = asked.slice(1).map((term, at) => `${asked[at]} ${term}`);
    const lists = texts.map(stems);
    const counts = new Map(
      terms.map((term) => [term, lists.filter((list) => list.includes(term)).length]),
    );
    const rarity = (term: string): number =>
      Math.log(1 + texts.length / (1 + (counts.get(term) ?? 0)));
    const whole = terms.reduce((sum, term) => sum + rarity(term), 0);
    return Promise.resolve(
      lists.map((list, rank) => {
        const there = new Set(list);
        const beside = new Set(list.slice(1).map((term, at) => `${list[at]} ${term}`));
        const covered = terms.reduce((sum, term) => sum + (there.has(term) ? rarity(term) : 0), 0);
        const adjacent =
          pairs.filter((pair) => beside.has(pair)).length / Math.max(1, pairs.length);
        const own = whole === 0 ? 0 : 0.8 * (covered / whole) + 0.2 * adjacent;
        return FORMER * (1 - rank / texts.length) + (1 - FORMER) * own;
      }),
    );
  },
};

function stems(text: string): string[] {
  return words(text, "query")
    .filter((word) => !isStopWord(word))
    .map(stem);
}
