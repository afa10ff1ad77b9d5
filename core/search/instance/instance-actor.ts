import type { Actor, ActorContext, ActorKind } from "../../ports.ts";
import { commitItem, type NewChunk, type NewVectors } from "../items/commit-item.ts";
import {
  changeInstance,
  createInstance,
  destroyInstance,
  instanceStats,
} from "./configure-instance.ts";
import { parseFilter } from "../retrieve/filter.ts";
import { filterCondition } from "../retrieve/filter-sql.ts";
import type { InstanceSettings } from "./instance-settings.ts";
import { type InstanceState, openState } from "./instance-state.ts";
import { itemChunks, itemLogs } from "../items/item-details.ts";
import {
  beginSync,
  beginUpload,
  getItem,
  type ItemQuery,
  listItems,
  readContent,
  type Upload,
} from "../items/item-store.ts";
import {
  cancelJob,
  endJob,
  getJob,
  jobLogs,
  jobProgress,
  listJobs,
  startJob,
} from "../items/job-store.ts";
import { retrieve, type SearchInput } from "../retrieve/retrieve.ts";
import { instanceTables } from "./tables.ts";
import { failItem, removeItem } from "../items/remove-item.ts";
import { trainInstance } from "../lexical/train-instance.ts";

/** The kind of actor that is one search instance, named `account/namespace/id`. */
export const instanceKind: ActorKind = {
  name: "search",
  schema: instanceTables,
  // Readers: a search must not wait for an upload, nor for a training.
  interleaved: [
    "search",
    "read",
    "stats",
    "items",
    "item",
    "chunks",
    "content",
    "logs",
    "jobs",
    "job",
    "jobLogs",
  ],
  start,
};

/** An attempt to index that is older than this died with its process, in ms. */
const LOST_AFTER_MS = 10 * 60_000;

async function start(context: ActorContext): Promise<Actor> {
  const state = await openState(context);
  await failLostAttempts(context);
  return {
    methods: { ...settingsMethods(state), ...itemMethods(state), ...jobMethods(state) },
    onAlarm: () => alarm(state),
  };
}

async function alarm(state: InstanceState): Promise<void> {
  if (state.exists()) await trainInstance(state);
}

/** The methods of an instance; `instance-client.ts` is their typed other end. */
export type InstanceMethods = ReturnType<typeof settingsMethods> &
  ReturnType<typeof itemMethods> &
  ReturnType<typeof jobMethods>;

function settingsMethods(state: InstanceState): {
  create(settings: InstanceSettings): Promise<void>;
  change(settings: InstanceSettings): Promise<void>;
  destroy(): Promise<InstanceSettings>;
  read(): InstanceSettings;
  stats(): Promise<Record<string, unknown>>;
  search(input: SearchInput): ReturnType<typeof retrieve>;
  train(): Promise<void>;
} {
  return {
    create: (settings) => createInstance(state, settings),
    change: (settings) => changeInstance(state, settings),
    destroy: () => destroyInstance(state),
    read: () => state.facts().settings,
    stats: () => instanceStats(state),
    search: (input) => retrieve(state, input),
    train: () => trainInstance(state),
  };
}

function itemMethods(state: InstanceState): {
  begin(upload: Upload): ReturnType<typeof beginUpload>;
  beginSync(itemId: string): ReturnType<typeof beginSync>;
  commit(
    itemId: string,
    revision: number,
    chunks: readonly NewChunk[],
    vectors: NewVectors | null,
    tookMs: number,
  ): ReturnType<typeof commitItem>;
  fail(
    itemId: string,
    revision: number,
    error: string,
    tookMs: number,
  ): ReturnType<typeof failItem>;
  remove(itemId: string): ReturnType<typeof removeItem>;
  item(itemId: string): ReturnType<typeof getItem>;
  items(query: ItemQuery, filter: string | null): ReturnType<typeof listItems>;
  chunks(itemId: string, limit: number, offset: number): ReturnType<typeof itemChunks>;
  content(itemId: string): ReturnType<typeof readContent>;
  logs(itemId: string, limit: number, before: number | null): ReturnType<typeof itemLogs>;
} {
  return {
    begin: (upload) => beginUpload(state, upload),
    beginSync: (itemId) => beginSync(state, itemId),
    commit: (itemId, revision, chunks, vectors, tookMs) =>
      commitItem(state, itemId, revision, chunks, vectors, tookMs),
    fail: (itemId, revision, error, tookMs) => failItem(state, itemId, revision, error, tookMs),
    remove: (itemId) => removeItem(state, itemId),
    item: (itemId) => getItem(state, itemId),
    items: (query, filter) => {
      const { custom_metadata: schema } = state.facts().settings;
      return listItems(
        state,
        query,
        filter === null ? null : filterCondition(parseFilter(JSON.parse(filter)), schema),
      );
    },
    chunks: (itemId, limit, offset) => itemChunks(state, itemId, limit, offset),
    content: (itemId) => readContent(state, itemId),
    logs: (itemId, limit, before) => itemLogs(state, itemId, limit, before),
  };
}

function jobMethods(state: InstanceState): {
  startJob(description: string | undefined): ReturnType<typeof startJob>;
  jobProgress(id: string, message: string, failed: boolean): Promise<boolean>;
  endJob(id: string, reason: string): Promise<void>;
  cancelJob(id: string): ReturnType<typeof cancelJob>;
  job(id: string): ReturnType<typeof getJob>;
  jobLogs(id: string): ReturnType<typeof jobLogs>;
  jobs(page: number, perPage: number): ReturnType<typeof listJobs>;
} {
  return {
    startJob: (description) => startJob(state, description),
    jobProgress: (id, message, failed) => jobProgress(state, id, message, failed),
    endJob: (id, reason) => endJob(state, id, reason),
    cancelJob: (id) => cancelJob(state, id),
    job: (id) => getJob(state, id),
    jobLogs: (id) => jobLogs(state, id),
    jobs: (page, perPage) => listJobs(state, page, perPage),
  };
}

/** An attempt whose process died would say "running" for ever. */
async function failLostAttempts({ name, sql, system }: ActorContext): Promise<void> {
  const before = system.now() - LOST_AFTER_MS;
  const [lost] = await sql.all(
    "SELECT COUNT(*) AS n FROM search_items WHERE actor = ? AND status = 'running' AND seen_ms < ?",
    [name, before],
  );
  if (Number(lost?.["n"] ?? 0) === 0) return;
  await sql.batch([
    {
      sql: `UPDATE search_items SET status = 'error', error = 'Indexing was interrupted: sync the item again'
        WHERE actor = ? AND status = 'running' AND seen_ms < ?`,
      params: [name, before],
    },
  ]);
}
