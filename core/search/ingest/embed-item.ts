import { ApiError } from "../../http/api-error.ts";
import type { Embedder } from "../../ports.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { vectorTag, type InstanceState } from "../state/instance-state.ts";
import { embedChunks } from "./embed-chunks.ts";
import { logStatements } from "../rows/item-log.ts";
import { fromBytes } from "../vectors/dense.ts";
import { toBlock } from "../vectors/vector-block.ts";
import { vectorStatements } from "../vectors/vector-rows.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { dropWork, isCurrent, type Work } from "../state/work-rows.ts";

/** Returns the embedder that an instance's vectors are of; throws when the configuration has it no longer. */
export function embedderOf(
  { embedding_model: model }: InstanceSettings,
  { embedder }: Pick<SearchOptions, "embedder">,
): Embedder {
  if (embedder?.model === model) return embedder;
  throw new ApiError("unavailable", {
    message: `The embedding model "${model}" is not configured`,
  });
}

/** Makes the vectors of an item whose chunks are indexed, and stores them all at once. */
export async function embedItem(
  state: InstanceState,
  work: Work,
  deps: SearchOptions,
): Promise<void> {
  const { actor, context } = state;
  const { system, sql } = context;
  const started = system.monotonic();
  const embedder = embedderOf(state.facts().settings, deps);
  const rows = await sql.all(
    "SELECT id, heading, text FROM search_chunks WHERE actor = ? AND item_id = ? ORDER BY ord",
    [actor, work.id],
  );
  const chunks = rows.map((row) => ({
    heading: String(row["heading"]),
    text: String(row["text"]),
  }));
  const { data, dimensions, model } = await embedChunks(embedder, chunks, system.closing);
  const vectors = toBlock(Number(rows[0]?.["id"] ?? 0), dimensions, fromBytes(data));
  await state.inTurn(async () => {
    // The chunks are others now, and what makes their vectors is in the queue.
    if (!(await isCurrent(state, work))) return;
    const facts = state.facts();
    if (facts.settings.embedding_model !== model)
      throw new ApiError("unavailable", { message: "The embedding model was changed" });
    const tag = vectorTag(facts);
    const now = system.now();
    await sql.batch([
      ...vectorStatements(actor, work.id, tag, vectors),
      {
        sql: "UPDATE search_items SET status = 'completed', error = NULL, seen_ms = ? WHERE actor = ? AND id = ?",
        params: [now, actor, work.id],
      },
      ...logStatements(actor, work.id, {
        at: now,
        chunks: chunks.length,
        failure: null,
        tookMs: Math.round(system.monotonic() - started),
      }),
      dropWork(actor, work.id),
    ]);
    state.vectors.replace(work.id, tag, vectors);
  });
}
