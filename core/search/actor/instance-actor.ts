import type { Actor, ActorContext, ActorKind, Log } from "../../ports.ts";
import type { Answer } from "../retrieve/answerer.ts";
import { cachedAnswer, keepAnswer } from "./stored-answers.ts";
import type { FairSlots } from "../../work/fair-slots.ts";
import type { CacheThreshold } from "../state/search-schema.ts";
import { commitItem, type IndexedContent } from "../ingest/commit-item.ts";
import {
  changeInstance,
  initializeInstance,
  destroyInstance,
  instanceStats,
} from "./configure-instance.ts";
import { parseFilter } from "../filter/filter.ts";
import { filterCondition } from "../filter/filter-sql.ts";
import { tokenizerOf } from "../keyword/keyword-index.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { type InstanceState, needsTraining, openState } from "../state/instance-state.ts";
import { itemChunks, itemLogs } from "../ingest/item-details.ts";
import {
  beginSync,
  beginUpload,
  getItem,
  type ItemQuery,
  listItems,
  readContent,
  type Upload,
} from "../rows/item-store.ts";
import { cancelJob, getJob, jobLogs, listJobs, startJob } from "../rows/job-store.ts";
import {
  type QuestionKind,
  type QuestionLog,
  questionLog,
  type QuestionPage,
} from "../rows/question-log.ts";
import { performWork, type ItemWorkOptions } from "../queue/perform-work.ts";
import { pictureSlots } from "../queue/index-pictures.ts";
import { queueRunner } from "../queue/run-queue.ts";
import { releaseWork } from "../state/work-rows.ts";
import { retrieve } from "../retrieve/retrieve.ts";
import type { SearchInput } from "../retrieve/search-input.ts";
import { instanceTables } from "../state/tables.ts";
import { failItem, removeItem } from "../ingest/remove-item.ts";
import { unchangedItem, type UploadFacts } from "../ingest/unchanged-item.ts";
import { type PicturesAttempt, queuePictures } from "../ingest/queue-pictures.ts";
import { trainInstance } from "../ingest/train-instance.ts";
import { createVectorBudget, type VectorBudget } from "../vectors/vector-budget.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { type VisitCounter, visitCounter } from "../state/visit-counter.ts";
import { steadyNow } from "../../time/steady-now.ts";

/** The name of the kind of actor that is one search instance; each is named `account/namespace/id`. */
export const INSTANCE_KIND: string = "search";

/**
 * The methods, all of which run beside the mailbox: what changes something waits for its turn among its like. The
 * mailbox belongs to the alarm, which lasts as long as the queue has work to do.
 */
const interleaved =
  "create change destroy read stats search train admitVisit questions clickQuestion clearQuestions cachedAnswer keepAnswer unchanged begin beginSync queuePictures commit fail release remove item items chunks content logs startJob cancelJob job jobLogs jobs";

/** Bytes of vectors in memory: an isolate of Workers has 128 MB for all that it does. */
const VECTORS = 512 * 1024 * 1024;
const WORKER_VECTORS = 48 * 1024 * 1024;

/** Makes the kind of actor that is one search instance, with what its queue indexes with. */
export function instanceKind(deps: SearchOptions): ActorKind {
  const { runtime, system } = deps.platform;
  const bytes = deps.vectorMemoryBytes ?? (runtime === "workers" ? WORKER_VECTORS : VECTORS);
  const budget = createVectorBudget(bytes, () => system.monotonic());
  const shared = pictureSlots();
  // A Durable Object may not wake another one. Each has slots of its own, and runs in an isolate with few others.
  const pictures = (): FairSlots => (runtime === "workers" ? pictureSlots() : shared);
  return {
    name: INSTANCE_KIND,
    schema: instanceTables,
    interleaved: interleaved.split(" "),
    start: (context) => start(context, { ...deps, pictures: pictures() }, budget),
  };
}

async function start(
  context: ActorContext,
  deps: SearchOptions & Pick<ItemWorkOptions, "pictures">,
  budget: VectorBudget,
): Promise<Actor> {
  const state = await openState(context, budget);
  renewKeywords(state, deps.platform.log);
  const own: ItemWorkOptions = { ...deps, owner: state.actor };
  const questions = questionLog(state);
  const runQueue = queueRunner(state, (work) => performWork(state, work, own), deps.platform.log);
  return {
    methods: {
      ...settingsMethods(state, deps, questions),
      ...askingMethods(state, questions),
      ...visitMethods(state, visitCounter(steadyNow(context.system))),
      ...itemMethods(state),
      ...jobMethods(state),
    },
    onAlarm: () =>
      state.clock.onAlarm(async () => {
        await runQueue();
        if (state.exists() && !state.facts().settings.paused && needsTraining(state.facts()))
          await trainInstance(state, deps.platform.background);
      }),
  };
}

/** Makes the keyword index of an earlier version again, while it is searched as it is. After a failure, the next change of an item tries again. */
function renewKeywords(state: InstanceState, log: Log): void {
  const { settings } = state.exists() ? state.facts() : {};
  if (settings?.index_method.keyword !== true) return;
  const renewing = state.inTurn(async () => {
    await state.keywords.renew(tokenizerOf(settings));
    state.forgetCounts();
  });
  state.context.system.waitUntil(
    renewing.catch((error: unknown) => {
      log("warn", "A keyword index cannot be made again", { error: String(error) });
    }),
  );
}

/** The methods of an instance; `instance-client.ts` is their typed other end. */
export type InstanceMethods = ReturnType<typeof settingsMethods> &
  ReturnType<typeof visitMethods> &
  ReturnType<typeof askingMethods> &
  ReturnType<typeof itemMethods> &
  ReturnType<typeof jobMethods>;

function settingsMethods(
  state: InstanceState,
  deps: SearchOptions,
  questions: QuestionLog,
): {
  create(settings: InstanceSettings): Promise<void>;
  change(settings: InstanceSettings): Promise<void>;
  destroy(): Promise<InstanceSettings>;
  read(): InstanceSettings;
  stats(): Promise<Record<string, unknown>>;
  train(): Promise<void>;
  cachedAnswer(
    context: string,
    question: string,
    threshold: CacheThreshold,
  ): ReturnType<typeof cachedAnswer>;
  keepAnswer(context: string, question: string, answer: Answer, ttl: number): Promise<void>;
} {
  return {
    create: (settings) => state.inTurn(() => initializeInstance(state, settings)),
    change: (settings) =>
      state.inTurn(async () => {
        await changeInstance(state, settings);
        if (settings.log_questions === false) questions.forget();
      }),
    destroy: () =>
      state.inTurn(async () => {
        const settings = await destroyInstance(state);
        questions.forget();
        return settings;
      }),
    read: () => state.facts().settings,
    stats: () => instanceStats(state),
    cachedAnswer: (context, question, threshold) =>
      cachedAnswer(state, context, question, threshold),
    keepAnswer: (context, question, answer, ttl) =>
      keepAnswer(state, { context, question, answer, ttl }),
    train: () => trainInstance(state, deps.platform.background),
  };
}

function askingMethods(
  state: InstanceState,
  log: QuestionLog,
): {
  search(input: SearchInput): ReturnType<typeof retrieve>;
  questions(kind: QuestionKind, page: number, perPage: number): Promise<QuestionPage>;
  clickQuestion(question: string): boolean;
  clearQuestions(): Promise<void>;
} {
  return {
    async search(input) {
      const found = await retrieve(state, input);
      // A prefix search is sent while its question is still being typed.
      if (input.prefix !== true) log.note(input.query, found.chunks[0]?.score ?? 0);
      return found;
    },
    async questions(kind, page, perPage) {
      state.facts();
      return log.page(kind, page, perPage);
    },
    clickQuestion: (question) => log.click(question),
    async clearQuestions() {
      state.facts();
      await log.clear();
    },
  };
}

function visitMethods(
  state: InstanceState,
  visits: VisitCounter,
): {
  /** Counts a request to the public endpoint: 0 when it fits, else the ms until one would; null where it is not open. */
  admitVisit(endpoint: string, network: string): number | null;
} {
  return {
    admitVisit(endpoint, network) {
      const { public_endpoint_id: id, public_endpoint_params: params } = state.facts().settings;
      const isOpen = id === endpoint && params?.enabled === true;
      return isOpen ? visits.admit(params, network) : null;
    },
  };
}

function itemMethods(state: InstanceState): {
  unchanged(upload: UploadFacts): ReturnType<typeof unchangedItem>;
  begin(upload: Upload): ReturnType<typeof beginUpload>;
  beginSync(itemId: string, trace: string | null): ReturnType<typeof beginSync>;
  commit(itemId: string, content: IndexedContent): ReturnType<typeof commitItem>;
  queuePictures(itemId: string, attempt: PicturesAttempt): Promise<void>;
  release(itemId: string): Promise<void>;
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
    unchanged: (upload) => state.inTurn(() => unchangedItem(state, upload)),
    begin: (upload) => state.inTurn(() => beginUpload(state, upload)),
    beginSync: (itemId, trace) => state.inTurn(() => beginSync(state, itemId, trace)),
    queuePictures: (itemId, attempt) => state.inTurn(() => queuePictures(state, itemId, attempt)),
    commit: (itemId, content) => state.inTurn(() => commitItem(state, itemId, content)),
    fail: (itemId, revision, error, tookMs) =>
      state.inTurn(() => failItem(state, itemId, { revision, error, tookMs })),
    release: (itemId) => state.inTurn(() => releaseWork(state, itemId)),
    remove: (itemId) => state.inTurn(() => removeItem(state, itemId)),
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
  startJob(description: string | undefined, trace: string | null): ReturnType<typeof startJob>;
  cancelJob(id: string): ReturnType<typeof cancelJob>;
  job(id: string): ReturnType<typeof getJob>;
  jobLogs(id: string, page: number, perPage: number): ReturnType<typeof jobLogs>;
  jobs(page: number, perPage: number): ReturnType<typeof listJobs>;
} {
  return {
    startJob: (description, trace) =>
      state.inTurn(() => startJob(state, description, "user", trace)),
    cancelJob: (id) => state.inTurn(() => cancelJob(state, id)),
    job: (id) => getJob(state, id),
    jobLogs: (id, page, perPage) => jobLogs(state, id, page, perPage),
    jobs: (page, perPage) => listJobs(state, page, perPage),
  };
}
