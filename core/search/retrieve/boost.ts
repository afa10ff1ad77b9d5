import type { Boost } from "../state/instance-schema.ts";
import { type ApiError, invalidRequest } from "../../http/api-error.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import type { InstanceState } from "../state/instance-state.ts";
import type { MetadataField } from "../filter/metadata.ts";

/** The most that one boost adds to a score of at most 1, before the sum is scaled back. */
const STRENGTH = 0.1;

/**
 * A function that adds boosts to the score of an item's chunk. Boosts reorder what was retrieved; they
 * bring nothing in. Throws 400 for a field or direction that cannot be.
 */
export async function boosts(
  state: InstanceState,
  wanted: readonly Boost[],
  itemIds: readonly string[],
): Promise<(itemId: string, score: number) => number> {
  if (wanted.length === 0) return (_, score) => score;
  const { custom_metadata: schema } = state.facts().settings;
  const shares = await Promise.all(
    wanted.map((boost) => itemShares(state, boost, schema, itemIds)),
  );
  return (itemId, score) => {
    const added = shares.reduce((sum, share) => sum + STRENGTH * (share.get(itemId) ?? 0), 0);
    return (score + added) / (1 + STRENGTH * wanted.length);
  };
}

/** How much of a boost each item earns, 0 to 1. */
async function itemShares(
  state: InstanceState,
  boost: Boost,
  schema: readonly MetadataField[],
  itemIds: readonly string[],
): Promise<Map<string, number>> {
  const field = boost.field.toLowerCase();
  const type =
    field === "timestamp" ? "datetime" : schema.find((one) => one.field_name === field)?.data_type;
  if (type === undefined)
    throw invalid(
      `"${field}" is neither "timestamp" nor a field of the instance's custom_metadata`,
    );
  const ordered = type === "number" || type === "datetime";
  const direction = boost.direction ?? (ordered ? "asc" : "exists");
  if (!ordered && (direction === "asc" || direction === "desc"))
    throw invalid(`"${field}" has no order, so "${direction}" has no meaning`);
  const rows = await state.context.sql.all(
    `SELECT item_id, num FROM search_meta WHERE actor = ? AND field = ? AND ${isOneOf("item_id", "TEXT")}`,
    [state.actor, field, asSet(itemIds)],
  );
  const values = new Map(rows.map((row) => [String(row["item_id"]), Number(row["num"])]));
  if (direction === "exists") return new Map([...values.keys()].map((id) => [id, 1]));
  if (direction === "not_exists")
    return new Map(itemIds.filter((id) => !values.has(id)).map((id) => [id, 1]));
  const low = Math.min(...values.values());
  const width = Math.max(...values.values()) - low;
  return new Map(
    [...values].map(([id, value]) => {
      const share = width > 0 ? (value - low) / width : 0;
      return [id, direction === "desc" ? share : 1 - share];
    }),
  );
}

function invalid(why: string): ApiError {
  return invalidRequest(`boost_by: ${why}`);
}
