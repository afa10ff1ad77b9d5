import { ApiError } from "../../http/api-error.ts";
import type { Legs } from "./fuse.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import type { Allowed } from "../filter/allowed-items.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { type KeywordPlan, matchExpression } from "../query/keyword-plan.ts";
import { quoted } from "../terms/query-terms.ts";
import { LEXICAL_MODEL, TRAIN_FROM } from "../lexical/lexical-model.ts";
import { longQuery } from "../query/long-query.ts";
import { orderedHits, type KeywordHit, keywordLeg, type KeywordMode } from "./keyword-leg.ts";
import type { RetrievalType, SearchInput } from "./search-input.ts";
import { weighedByItems } from "./whole-items.ts";
import {
  type Beside,
  type NearChunks,
  NONE_NEAR,
  type VectorHit,
  type VectorLeg,
  vectorLeg,
} from "./vector-leg.ts";

/** The results of both legs of a search. */
export interface LegResults {
  readonly legs: Legs;
  /** Whether both legs answered. */
  readonly both: boolean;
  /** Whether the legs would find nothing more if more were asked for. */
  readonly exhausted: boolean;
  readonly near: NearChunks;
}

/** How much the legs are asked for. */
export interface Amount {
  /** Hits of all words with which hits of some are not looked for. */
  readonly enough: number;
  /** The most hits of a leg. */
  readonly bring: number;
  /** The most chunks of {@link LegResults.near}. @default 0 */
  readonly near?: number;
}

/** The legs of a search, and how much each of them brings. */
export interface LegsPlan {
  readonly plan: KeywordPlan;
  readonly type: RetrievalType;
  readonly amount: Amount;
  readonly allowed: Allowed | null;
}

/**
 * Asks the legs that a search wants. One that fails is left out; throws 7073 when none answered, or when
 * one failed and the search has `returnOnFailure: false`.
 */
export async function askLegs(
  state: InstanceState,
  input: SearchInput,
  { plan, type, amount: { enough, bring, near = 0 }, allowed }: LegsPlan,
): Promise<LegResults> {
  const failed = { keyword: [] as string[], vector: [] as string[] };
  const amount = { mode: keywordMode(state, input), enough, limit: bring, allowed };
  let isWhole = true;
  const askKeywords = async (): Promise<readonly KeywordHit[]> => {
    const found = await keywordLeg(state, plan, amount);
    isWhole = found.isWhole && found.hits.length < bring;
    return orderedHits(await weighedByItems(state, plan, found.hits));
  };
  const keywords = type === "vector" ? noKeywords : attempt(askKeywords, failed.keyword);
  // Each `await` of it still throws its failure; this only prevents an unhandled rejection when the vector leg ends first.
  keywords.catch(() => undefined);
  const asked = { query: plan.text, vector: input.vector };
  const mayExpand = type === "hybrid" && hasLearned(state);
  const beside = async (): Promise<Beside> => {
    const found = await keywords;
    const expands = mayExpand && found !== null;
    return { others: (found ?? []).map(({ chunk }) => chunk), expands };
  };
  // It begins while the keyword leg runs on a thread, and waits for it in the middle.
  const askVectors = (): Promise<VectorLeg> =>
    vectorLeg(state, asked, {
      limit: bring,
      near,
      allowed: allowed?.ids ?? null,
      mayExpand,
      beside,
    });
  const vector = type === "keyword" ? null : await attempt(askVectors, failed.vector);
  const keyword = await keywords;
  const failures = [...failed.keyword, ...failed.vector];
  const none = keyword === null && vector === null;
  if (failures.length > 0 && (none || input.returnOnFailure === false)) {
    throw new ApiError("all_searches_failed", {
      message: `all_search_methods_failed: ${failures.join("; ")}`,
    });
  }
  const found = vector ?? NOTHING;
  return {
    legs: {
      keyword: keyword ?? [],
      vector: await conforming(state, plan, found.hits),
      seen: found.seen,
    },
    near: { ...found.near, hits: await conforming(state, plan, found.near.hits) },
    both: keyword !== null && vector !== null,
    exhausted: isWhole && found.hits.length < bring,
  };
}

const noKeywords: Promise<KeywordHit[] | null> = Promise.resolve(null);
const NOTHING: VectorLeg = { hits: [], seen: () => null, near: NONE_NEAR };

/** Whether the vectors are builtin ones that a training has made. */
export function hasLearned(state: InstanceState): boolean {
  const { settings, trainedChunks } = state.facts();
  return settings.embedding_model === LEXICAL_MODEL && trainedChunks >= TRAIN_FROM;
}

/** How words are combined: as the request says, then the instance. */
export function keywordMode(state: InstanceState, input: SearchInput): KeywordMode {
  const configured = state.facts().settings.retrieval_options?.keyword_match_mode;
  return input.keywordMode ?? configured ?? "fill";
}

/** The hits of vectors that hold the phrases of a query and nothing that it excludes. */
async function conforming(
  state: InstanceState,
  { required, excluded }: KeywordPlan,
  hits: readonly VectorHit[],
): Promise<readonly VectorHit[]> {
  if (required.length + excluded.length === 0 || hits.length === 0) return hits;
  const wanted = matchExpression({ words: [], required, excluded }, "and");
  const match = wanted ?? excluded.map(quoted).join(" OR ");
  const rows = await state.keywords.all(
    `SELECT rowid AS id FROM ${state.index} WHERE ${state.index} MATCH ? AND +${isOneOf("rowid", "BIGINT")}`,
    [match, asSet(hits.map(({ chunk }) => chunk))],
    longQuery(state),
  );
  const found = new Set(rows.map((row) => Number(row["id"])));
  return hits.filter(({ chunk }) => found.has(chunk) === (wanted !== null));
}

/** A caller's mistake passes through; any other failure of a leg is noted, without its inner details. */
async function attempt<T>(leg: () => Promise<T>, failures: string[]): Promise<T | null> {
  try {
    return await leg();
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) throw error;
    failures.push(error instanceof ApiError ? error.message : "internal error");
    return null;
  }
}
