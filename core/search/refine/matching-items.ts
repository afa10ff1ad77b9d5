import type { InstanceState } from "../instance/instance-state.ts";
import { type KeywordPlan, matchExpression } from "../query/keyword-plan.ts";
import type { Allowed } from "../retrieve/allowed-items.ts";
import { besideOthers } from "../retrieve/keyword-index.ts";
import type { VectorHit } from "../retrieve/vector-leg.ts";

/** Chunks that are looked at in one statement: a few milliseconds. */
const SLICE = 5_000;

/**
 * All items that a search matches, with the count of their chunks that do: by keywords the whole index is looked through,
 * by vectors only what the vector leg found counts.
 */
export async function matchingItems(
  state: InstanceState,
  plan: KeywordPlan | null,
  mode: "and" | "or",
  vector: readonly VectorHit[],
  allowed: Allowed | null,
): Promise<Map<string, number>> {
  const out =
    plan === null ? new Map<string, number>() : await byKeywords(state, plan, mode, allowed);
  const near = new Map<string, number>();
  for (const { itemId } of vector) near.set(itemId, (near.get(itemId) ?? 0) + 1);
  // What keywords found of an item may be the same chunks.
  for (const [item, chunks] of near) if (!out.has(item)) out.set(item, chunks);
  return out;
}

async function byKeywords(
  state: InstanceState,
  plan: KeywordPlan,
  mode: "and" | "or",
  allowed: Allowed | null,
): Promise<Map<string, number>> {
  const { actor, index, context } = state;
  const out = new Map<string, number>();
  const match = matchExpression(plan, mode);
  if (match === null) return out;
  for (let from = 0; from < state.facts().nextChunk; from += SLICE) {
    const rows = await context.sql.all(
      `SELECT c.item_id AS item, COUNT(*) AS n FROM ${index} JOIN search_chunks c ON c.actor = ? AND c.id = ${index}.rowid
        WHERE ${index} MATCH ? AND ${index}.rowid BETWEEN ? AND ? GROUP BY c.item_id`,
      [actor, match, from, from + SLICE - 1],
      besideOthers(state),
    );
    for (const row of rows) {
      const item = String(row["item"]);
      if (allowed === null || allowed.ids.has(item))
        out.set(item, (out.get(item) ?? 0) + Number(row["n"]));
    }
    await context.system.sleep(0);
  }
  return out;
}
