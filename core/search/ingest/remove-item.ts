import { dropWork } from "../state/work-rows.ts";
import { type InstanceState, vectorTag } from "../state/instance-state.ts";
import { keywordsOf, removeIndexed } from "./commit-item.ts";
import { logStatements } from "../rows/item-log.ts";
import type { Item } from "../rows/item-record.ts";
import { getItem, itemRow } from "../rows/item-store.ts";

/** A failed attempt to index an item. */
export interface ItemFailure {
  readonly revision: number;
  readonly error: string;
  /** Milliseconds of the attempt. */
  readonly tookMs: number;
}

/** Marks an attempt as failed; what was indexed before goes on serving. */
export async function failItem(
  state: InstanceState,
  itemId: string,
  { revision, error, tookMs }: ItemFailure,
): Promise<Item> {
  state.facts();
  const row = await itemRow(state, itemId);
  if (Number(row["revision"]) === revision) {
    const now = state.context.system.now();
    await state.context.sql.batch([
      {
        sql: "UPDATE search_items SET status = 'error', error = ?, seen_ms = ? WHERE actor = ? AND id = ?",
        params: [error.slice(0, 500), now, state.actor, itemId],
      },
      ...logStatements(state.actor, itemId, {
        at: now,
        chunks: null,
        failure: error.slice(0, 500),
        tookMs,
      }),
      dropWork(state.actor, itemId),
    ]);
    state.queueNews.notify();
  }
  return getItem(state, itemId);
}

/** Deletes an item with everything that was made of it. */
export async function removeItem(state: InstanceState, itemId: string): Promise<{ key: string }> {
  const facts = state.facts();
  const row = await itemRow(state, itemId);
  const params = [state.actor, itemId];
  const next = {
    ...facts,
    chunks: facts.chunks - Number(row["chunks"] ?? 0),
    activeMs: state.context.system.now(),
  };
  const change = keywordsOf(facts.settings, itemId, []);
  await state.keywords.commit(change, (together) =>
    state.context.sql.batch([
      ...together,
      ...removeIndexed(state, itemId),
      { sql: "DELETE FROM search_content WHERE actor = ? AND item_id = ?", params },
      { sql: "DELETE FROM search_logs WHERE actor = ? AND item_id = ?", params },
      { sql: "DELETE FROM search_items WHERE actor = ? AND id = ?", params },
      dropWork(state.actor, itemId),
      state.save(next),
    ]),
  );
  state.queueNews.notify();
  state.remember(next);
  state.vectors.replace(itemId, vectorTag(facts), null);
  state.forgetCounts();
  return { key: String(row["key"]) };
}
