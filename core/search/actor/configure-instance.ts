import { ApiError } from "../../http/api-error.ts";
import type { Statement } from "../../ports.ts";
import { metaStatements } from "../ingest/commit-item.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { scheduleStatements } from "../queue/run-schedule.ts";
import { jobsDue } from "../state/work-rows.ts";
import { clearQuestions } from "../rows/question-log.ts";
import { type InstanceState, vectorTag } from "../state/instance-state.ts";
import { tokenizerOf } from "../keyword/keyword-index.ts";
import type { KeywordChange } from "../keyword/keyword-change.ts";
import { indexMetadata, type Metadata } from "../filter/metadata.ts";
import { instanceTableNames } from "../state/tables.ts";

/** Creates the instance; throws 7022 when it is there already. */
export async function initializeInstance(
  state: InstanceState,
  settings: InstanceSettings,
): Promise<void> {
  if (state.exists())
    throw new ApiError("name_exists", {
      message: `name_already_exist: instance "${settings.id}" exists: choose another id, or change it by PUT`,
    });
  const facts = {
    settings,
    nextChunk: 1,
    chunks: 0,
    trainedVersion: 0,
    trainedChunks: 0,
    activeMs: null,
  };
  const schedule = scheduleStatements(state, settings, null);
  const keywords = settings.index_method.keyword ? made(settings) : null;
  await state.keywords.commit(keywords, (together) =>
    state.clock.write(
      [...together, ...schedule, state.save(facts)],
      schedule.length > 0 ? state.context.steady() : null,
    ),
  );
  state.remember(facts);
  state.queueNews.notify();
}

/**
 * Changes the settings, and rebuilds the indexes that can be made from stored chunks: keywords and metadata. A new chunk
 * size or embedding model takes effect as items are indexed again (a sync job).
 */
export async function changeInstance(
  state: InstanceState,
  settings: InstanceSettings,
): Promise<void> {
  const facts = state.facts();
  const old = facts.settings;
  const statements: Statement[] = [];
  if (JSON.stringify(settings.custom_metadata) !== JSON.stringify(old.custom_metadata)) {
    statements.push(...(await reindexMetadata(state, settings)));
  }
  const next = { ...facts, settings };
  const schedule = scheduleStatements(state, settings, old);
  statements.push(...schedule);
  if (settings.log_questions === false && old.log_questions !== false)
    statements.push(clearQuestions(state.actor));
  const goesOn = old.paused === true && settings.paused !== true;
  // A job looks seldom whether the pause is over.
  if (goesOn) statements.push(jobsDue(state));
  // Work that waited while the instance was paused is now due.
  const due = goesOn || schedule.length > 0 ? state.context.steady() : null;
  await state.keywords.commit(keywordChange(settings, old), (together) =>
    state.clock.write([...together, ...statements, state.save(next)], due),
  );
  state.remember(next);
  state.queueNews.notify();
  state.forgetCounts();
  if (settings.embedding_model !== old.embedding_model) state.vectors.reset();
}

function keywordChange(settings: InstanceSettings, old: InstanceSettings): KeywordChange | null {
  const { keyword } = settings.index_method;
  if (keyword === old.index_method.keyword && tokenizerOf(settings) === tokenizerOf(old))
    return null;
  return keyword ? made(settings) : { type: "drop" };
}

function made(settings: InstanceSettings): KeywordChange {
  return { type: "make", tokenizer: tokenizerOf(settings) };
}

async function reindexMetadata(
  state: InstanceState,
  settings: InstanceSettings,
): Promise<Statement[]> {
  const rows = await state.context.sql.all(
    "SELECT id, key, metadata, modified_ms FROM search_items WHERE actor = ? AND indexed_revision IS NOT NULL",
    [state.actor],
  );
  return [
    { sql: "DELETE FROM search_meta WHERE actor = ?", params: [state.actor] },
    ...rows.flatMap((row) => {
      const metadata = JSON.parse(String(row["metadata"])) as Metadata;
      const { values } = indexMetadata(
        String(row["key"]),
        Number(row["modified_ms"]),
        metadata,
        settings.custom_metadata,
      );
      return metaStatements(state.actor, String(row["id"]), values);
    }),
  ];
}

/** Removes the instance with all its rows. */
export async function destroyInstance(state: InstanceState): Promise<InstanceSettings> {
  const { settings } = state.facts();
  const others = instanceTableNames.filter((table) => table !== "search_instances");
  const rows = others.map((table) => ({
    sql: `DELETE FROM ${table} WHERE actor = ?`,
    params: [state.actor],
  }));
  await state.keywords.commit({ type: "drop" }, (together) =>
    state.clock.clear([...together, ...rows, state.save(null)], null),
  );
  state.queueNews.notify();
  state.remember(null);
  state.vectors.reset();
  state.forgetCounts();
  state.languages.forget();
  state.longWords.forget();
  return settings;
}

/** Returns the counts as the API shows them. */
export async function instanceStats(state: InstanceState): Promise<Record<string, unknown>> {
  const facts = state.facts();
  const { sql } = state.context;
  const rows = await sql.all(
    "SELECT status, COUNT(*) AS n FROM search_items WHERE actor = ? GROUP BY status",
    [state.actor],
  );
  const counts = new Map(rows.map((row) => [String(row["status"]), Number(row["n"])]));
  const [vectors] = await sql.all(
    "SELECT COALESCE(SUM(LENGTH(scales) / 4), 0) AS n, COALESCE(MAX(dimensions), 0) AS d FROM search_vector_blocks WHERE actor = ? AND model = ?",
    [state.actor, vectorTag(facts)],
  );
  const [content] = await sql.all(
    "SELECT COUNT(*) AS n, COALESCE(SUM(size), 0) AS bytes FROM search_items WHERE actor = ? AND revision > 0",
    [state.actor],
  );
  const waiting = await sql.all(
    `SELECT i.error, COUNT(*) AS n FROM search_items i JOIN search_work w ON w.actor = i.actor AND w.id = i.id
      WHERE i.actor = ? AND i.status = 'error' GROUP BY i.error ORDER BY n DESC, i.error LIMIT 20`,
    [state.actor],
  );
  const statuses = ["queued", "running", "completed", "error", "skipped", "outdated"];
  return {
    ...Object.fromEntries(statuses.map((status) => [status, counts.get(status) ?? 0])),
    ...(facts.activeMs === null ? {} : { last_activity: new Date(facts.activeMs).toISOString() }),
    degraded: waiting.length > 0,
    file_embed_errors: Object.fromEntries(
      waiting.map((row) => [String(row["error"]), Number(row["n"])]),
    ),
    index_source_errors: {},
    engine: {
      vectorize: {
        dimensions: Number(vectors?.["d"] ?? 0),
        vectorsCount: Number(vectors?.["n"] ?? 0),
        ...(state.vectors.isStreamed() && { streamed: true }),
      },
      r2: {
        metadataSizeBytes: 0,
        objectCount: Number(content?.["n"] ?? 0),
        payloadSizeBytes: Number(content?.["bytes"] ?? 0),
      },
    },
  };
}
