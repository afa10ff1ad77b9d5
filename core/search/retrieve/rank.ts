import type { SqlRow } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import type { Boost } from "../state/instance-schema.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { boosts } from "./boost.ts";
import type { Candidate } from "./fuse.ts";
import type { SearchInput } from "./search-input.ts";

/** A candidate with the row of its chunk and item. */
export interface RankedChunk {
  readonly candidate: Candidate;
  readonly row: SqlRow;
}

/** The boosts of a request, or else of the instance. */
export function boostsOf(state: InstanceState, { boostBy }: SearchInput): readonly Boost[] {
  return boostBy ?? state.facts().settings.retrieval_options?.boost_by ?? [];
}

/** Candidates that still exist, best first; equal scores by key and place, so that every run agrees. */
export async function rank(
  state: InstanceState,
  candidates: readonly Candidate[],
  wanted: readonly Boost[],
): Promise<RankedChunk[]> {
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

function compare(a: RankedChunk, b: RankedChunk): number {
  if (a.candidate.score !== b.candidate.score) return b.candidate.score - a.candidate.score;
  const [x, y] = [String(a.row["key"]), String(b.row["key"])];
  if (x !== y) return x < y ? -1 : 1;
  return Number(a.row["ord"]) - Number(b.row["ord"]);
}
