import { ApiError } from "../../http/api-error.ts";
import type { SqlRow, SqlValue, Statement } from "../../ports.ts";
import { contains } from "../../sql/sql-text.ts";
import { enqueue } from "../state/work-rows.ts";
import { addContent, storedBytes } from "./kept-content.ts";
import type { Condition } from "../filter/filter-sql.ts";
import { type InstanceSettings, isRemote } from "../state/instance-settings.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { ITEM_COLUMNS, type Item, toItem, WAITS } from "./item-record.ts";
import { indexMetadata, type Metadata, type MetadataWarning } from "../filter/metadata.ts";

/** An upload before it is indexed. */
export type Upload = {
  readonly key: string;
  readonly metadata: Metadata;
  readonly checksum: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
  /** When it was changed, in Unix ms. @default now */
  readonly modified?: number;
  /** The `traceparent` of the request. @default no tracing */
  readonly trace?: string | null | undefined;
  /** The source that gave it. @default a client uploads it */
  readonly source?: ItemSource;
};

/** The origin of an item that a source gave. */
export type ItemSource = {
  readonly id: string;
  /** The source's name for this state of the item; null where it has none. */
  readonly version: string | null;
  /** The sync job that saw it. */
  readonly job: string;
};

/** Ticket of one attempt to index an item: only the newest one may be committed. */
export type Attempt = {
  readonly itemId: string;
  readonly revision: number;
  readonly warnings: readonly MetadataWarning[];
  readonly settings: InstanceSettings;
  /** Whether the holder of the ticket indexes the item itself; else the queue of the instance does. */
  readonly isOwn: boolean;
};

/** The facts that replace an item's own when its new chunks become visible. */
export type Pending = Pick<Upload, "metadata" | "checksum" | "contentType"> & {
  readonly size: number;
  readonly modified: number;
};

/** Returns the row of an item by id; throws 7041. */
export async function itemRow(state: InstanceState, itemId: string): Promise<SqlRow> {
  state.facts();
  const [row] = await state.context.sql.all(
    `SELECT i.*, ${WAITS} FROM search_items i WHERE i.actor = ? AND i.id = ?`,
    [state.actor, itemId],
  );
  if (row !== undefined) return row;
  throw new ApiError("item_not_found", {
    message: `item_not_found: no item "${itemId.slice(0, 64)}"`,
  });
}

/** One item by id, as the API shows it. */
export async function getItem(state: InstanceState, itemId: string): Promise<Item> {
  return toItem(await itemRow(state, itemId), state.facts().settings.namespace);
}

/**
 * Stores an upload and opens an attempt to index it. The chunks indexed before under the same key go on serving until the
 * attempt is committed.
 */
export async function beginUpload(state: InstanceState, upload: Upload): Promise<Attempt> {
  const { settings } = state.facts();
  const { sql, system } = state.context;
  const now = system.now();
  const [old] = await sql.all("SELECT * FROM search_items WHERE actor = ? AND key = ?", [
    state.actor,
    upload.key,
  ]);
  const itemId = old === undefined ? system.id() : String(old["id"]);
  const revision = Number(old?.["revision"] ?? 0) + 1;
  const pending: Pending = {
    metadata: upload.metadata,
    checksum: upload.checksum,
    contentType: upload.contentType,
    size: upload.bytes.length,
    modified: upload.modified ?? now,
  };
  const content = addContent(state.actor, itemId, revision, upload.bytes);
  const isOwn = indexesAtOnce(settings);
  await state.clock.write(
    [
      startRow(state, { upload, pending, old, itemId }),
      ...dropOtherContent(state, itemId, Number(old?.["indexed_revision"] ?? 0)),
      ...content,
      enqueue(state, { id: itemId, stage: "text", revision, trace: upload.trace ?? null }, isOwn),
    ],
    state.context.steady(),
  );
  if (!isOwn) state.queueNews.notify();
  const { warnings } = indexMetadata(upload.key, now, upload.metadata, settings.custom_metadata);
  return { itemId, revision, warnings, settings, isOwn };
}

/** Returns the status of an item whose indexing begins; a paused instance only queues uploads. */
function startStatus({ paused }: InstanceSettings): "queued" | "running" {
  return paused === true ? "queued" : "running";
}

interface StartedRow {
  readonly upload: Upload;
  readonly pending: Pending;
  readonly old: SqlRow | undefined;
  readonly itemId: string;
}

/** Returns the statement that has an item's row say that an upload is being indexed. */
function startRow(state: InstanceState, { upload, pending, old, itemId }: StartedRow): Statement {
  const now = state.context.system.now();
  const { id: source = null, version = null, job = null } = upload.source ?? {};
  const status = startStatus(state.facts().settings);
  const revision = Number(old?.["revision"] ?? 0) + 1;
  if (old !== undefined) {
    return {
      sql: `UPDATE search_items SET status = ?, error = NULL, revision = ?, pending = ?, seen_ms = ?,
        source = ?, source_version = ?, seen_job = ? WHERE actor = ? AND id = ?`,
      params: [
        status,
        revision,
        JSON.stringify(pending),
        now,
        source,
        version,
        job,
        state.actor,
        itemId,
      ],
    };
  }
  return {
    sql: `INSERT INTO search_items (actor, id, key, status, error, revision, pending, metadata, checksum, size,
      content_type, created_ms, modified_ms, seen_ms, source, source_version, seen_job)
      VALUES (?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    params: [
      state.actor,
      itemId,
      upload.key,
      status,
      revision,
      JSON.stringify(pending),
      JSON.stringify(upload.metadata),
      upload.checksum,
      upload.bytes.length,
      upload.contentType,
      now,
      pending.modified,
      now,
      source,
      version,
      job,
    ],
  };
}

/** Not where an item can be found by nothing but vectors of an embedder: the old ones serve until those are there. */
function indexesAtOnce(settings: InstanceSettings): boolean {
  return settings.paused !== true && (settings.index_method.keyword || !isRemote(settings));
}

/** Removes contents that neither serve nor are about to. */
function dropOtherContent(state: InstanceState, itemId: string, keep: number): Statement[] {
  return [
    {
      sql: "DELETE FROM search_content WHERE actor = ? AND item_id = ? AND revision <> ?",
      params: [state.actor, itemId, keep],
    },
  ];
}

/** Opens an attempt to index an item again from its stored content. */
export async function beginSync(
  state: InstanceState,
  itemId: string,
  trace: string | null = null,
): Promise<Attempt & { readonly content: Content }> {
  const { settings } = state.facts();
  const row = await itemRow(state, itemId);
  const revision = Number(row["revision"]);
  const isOwn = indexesAtOnce(settings);
  await state.clock.write(
    [
      {
        sql: "UPDATE search_items SET status = ?, error = NULL, seen_ms = ? WHERE actor = ? AND id = ?",
        params: [startStatus(settings), state.context.system.now(), state.actor, itemId],
      },
      enqueue(state, { id: itemId, stage: "text", revision, trace }, isOwn),
    ],
    state.context.steady(),
  );
  if (!isOwn) state.queueNews.notify();
  const content = await readContent(state, itemId);
  return { itemId, revision, warnings: [], settings, isOwn, content };
}

/** The stored bytes of an item. */
export type Content = {
  readonly key: string;
  readonly contentType: string;
  readonly bytes: Uint8Array;
};

/** Returns the newest stored bytes of an item. */
export async function readContent(state: InstanceState, itemId: string): Promise<Content> {
  const row = await itemRow(state, itemId);
  const pending = row["pending"] === null ? null : (JSON.parse(String(row["pending"])) as Pending);
  return {
    key: String(row["key"]),
    contentType: pending?.contentType ?? String(row["content_type"]),
    bytes: await storedBytes(
      state.context,
      itemId,
      Number(row["revision"]),
      pending?.size ?? Number(row["size"]),
    ),
  };
}

/** Which items a list shows. */
export type ItemQuery = {
  readonly page: number;
  readonly perPage: number;
  readonly itemId?: string;
  readonly key?: string;
  readonly search?: string;
  readonly source?: string;
  readonly status?: string;
  readonly sortBy: "status" | "modified_at";
};

/** Returns a page of items and how many there are in all. `condition` narrows by metadata. */
export async function listItems(
  state: InstanceState,
  query: ItemQuery,
  condition: Condition | null,
): Promise<{ readonly items: Item[]; readonly total: number }> {
  const { settings } = state.facts();
  const clauses = ["i.actor = ?"];
  const params: SqlValue[] = [state.actor];
  const add = (sql: string, ...values: readonly SqlValue[]): void => {
    clauses.push(sql);
    params.push(...values);
  };
  if (query.itemId !== undefined) add("i.id = ?", query.itemId);
  if (query.key !== undefined) add("i.key = ?", query.key);
  if (query.status !== undefined) add("i.status = ?", query.status);
  if (query.source !== undefined) add("COALESCE(i.source, 'builtin') = ?", query.source);
  if (query.search !== undefined && query.search !== "") add(contains("i.key"), query.search);
  if (condition !== null) add(condition.sql, ...condition.params);
  const where = clauses.join(" AND ");
  const order =
    query.sortBy === "modified_at"
      ? "i.modified_ms DESC, i.key"
      : `CASE i.status WHEN 'running' THEN 0 WHEN 'queued' THEN 1 WHEN 'error' THEN 2 ELSE 3 END, i.seen_ms DESC, i.key`;
  const { sql } = state.context;
  const [count] = await sql.all(`SELECT COUNT(*) AS n FROM search_items i WHERE ${where}`, params);
  const rows = await sql.all(
    `SELECT ${ITEM_COLUMNS} FROM search_items i WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?`,
    [...params, query.perPage, (query.page - 1) * query.perPage],
  );
  return {
    items: rows.map((row) => toItem(row, settings.namespace)),
    total: Number(count?.["n"] ?? 0),
  };
}
