import { ApiError } from "../../http/api-error.ts";
import type { Condition } from "./filter-sql.ts";
import type { Legs } from "./fuse.ts";
import type { Allowed } from "./allowed-items.ts";
import type { InstanceState } from "../instance/instance-state.ts";
import { type KeywordHit, keywordLeg, type KeywordMode } from "./keyword-leg.ts";
import type { RetrievalType, SearchInput } from "./search-input.ts";
import { type VectorLeg, vectorLeg } from "./vector-leg.ts";

/** Candidates that each leg brings at most, for fusion and for boosts to reorder. */
const CANDIDATES = 100;
/** What a leg brings beyond the limit when nothing will reorder it: room for chunks that are just being replaced. */
const SPARE = 20;

/** What the legs of a search found. */
export interface LegResults {
  readonly legs: Legs;
  /** Whether both legs answered. */
  readonly both: boolean;
}

/**
 * Asks the legs that a search wants. One that fails is left out; throws 7073 when none answered, or when
 * one failed and the search has `returnOnFailure: false`.
 *
 * @param reordered whether boosts will reorder what is found
 */
export async function askLegs(
  state: InstanceState,
  input: SearchInput,
  type: RetrievalType,
  limit: number,
  filter: Condition | null,
  reordered: boolean,
): Promise<LegResults> {
  // Once for both legs.
  const allowed = filter === null ? null : await state.allowed.of(filter);
  const failures: string[] = [];
  const bring = reordered || type === "hybrid" ? CANDIDATES : limit + SPARE;
  const keyword =
    type === "vector"
      ? null
      : await attempt(() => askKeywords(state, input, limit, bring, allowed), failures);
  const vector =
    type === "keyword"
      ? null
      : await attempt(
          () =>
            vectorLeg(
              state,
              input,
              bring,
              allowed?.ids ?? null,
              (keyword ?? []).map(({ chunk }) => chunk),
            ),
          failures,
        );
  const none = keyword === null && vector === null;
  if (failures.length > 0 && (none || input.returnOnFailure === false)) {
    throw new ApiError("all_searches_failed", {
      message: `all_search_methods_failed: ${failures.join("; ")}`,
    });
  }
  return { legs: legsOf(keyword, vector), both: keyword !== null && vector !== null };
}

function askKeywords(
  state: InstanceState,
  input: SearchInput,
  limit: number,
  bring: number,
  allowed: Allowed | null,
): Promise<KeywordHit[]> {
  const configured = state.facts().settings.retrieval_options?.keyword_match_mode;
  const mode: KeywordMode = input.keywordMode ?? configured ?? "fill";
  return keywordLeg(state, input.query, mode, limit, bring, allowed);
}

function legsOf(keyword: readonly KeywordHit[] | null, vector: VectorLeg | null): Legs {
  return {
    keyword: keyword ?? [],
    vector: vector?.hits ?? [],
    vectorScore: vector?.scoreOf ?? (() => null),
  };
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
