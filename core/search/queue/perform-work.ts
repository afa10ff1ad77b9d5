import { ApiError } from "../../http/api-error.ts";
import { doubledPause, type DoublingPause } from "../../work/backoff.ts";
import type { InstanceState } from "../state/instance-state.ts";
import type { FairSlots } from "../../work/fair-slots.ts";
import { describeFailure } from "../ingest/embed-chunks.ts";
import { logStatements } from "../rows/item-log.ts";
import { itemRow } from "../rows/item-store.ts";
import { failItem } from "../ingest/remove-item.ts";
import type { SearchOptions, WorkOptions } from "../models/search-deps.ts";
import { embedItem } from "../ingest/embed-item.ts";
import { indexContent } from "../ingest/index-content.ts";
import { indexPictures } from "./index-pictures.ts";
import { runJob } from "./run-job.ts";
import { runSchedule } from "./run-schedule.ts";
import { tracedWork } from "./traced-work.ts";
import {
  cutOff,
  dropWork,
  isCurrent,
  MOST_INTERRUPTIONS,
  MOST_PICTURE_ATTEMPTS,
  postpone,
  type Work,
} from "../state/work-rows.ts";

/** First pause after a failed attempt, and the longest, in ms: it doubles. */
const PAUSE: DoublingPause = { baseMs: 1000, maxMs: 5 * 60_000 };

/** The options of an instance's queue. */
export interface ItemWorkOptions extends WorkOptions {
  /** Shared by all instances of the process. */
  readonly pictures: FairSlots;
}

/** Performs one piece of work of an instance's queue. A failure of the embedder is tried again for ever. */
export async function performWork(
  state: InstanceState,
  work: Work,
  deps: ItemWorkOptions,
): Promise<void> {
  if (work.stage === "job") return runJob(state, work, deps);
  if (work.stage === "schedule") return runSchedule(state, work);
  const { system } = state.context;
  const started = system.monotonic();
  let begun = work;
  try {
    await tracedWork(state.actor, work, deps, async (own, options) => {
      begun = own;
      if (own.stage === "vectors") await embedItem(state, own, options);
      else if (own.stage === "pictures") await indexPictures(state, own, options, deps.pictures);
      else await indexText(state, own, options);
      return true;
    });
  } catch (error) {
    // The shutdown has ended it: the row is as it was, and the next start goes on.
    if (system.closing?.aborted === true) return;
    if (error instanceof ApiError && error.status === 404) return;
    deps.platform.log("warn", "An item could not be indexed", {
      item_id: work.id,
      attempts: work.attempts,
      error: String(error),
    });
    const tookMs = Math.round(system.monotonic() - started);
    await state.inTurn(() => noteFailure(state, begun, { error, tookMs, deps }));
  }
}

/** Indexes an item from its stored content, after an earlier attempt to do so was cut off. */
async function indexText(state: InstanceState, work: Work, deps: WorkOptions): Promise<void> {
  const started = state.context.system.monotonic();
  if (work.attempts > MOST_INTERRUPTIONS) throw cutOff("item");
  await indexContent(state, work.id, { revision: work.revision, deps, started });
}

interface FailedWork {
  readonly error: unknown;
  readonly tookMs: number;
  readonly deps: SearchOptions;
}

/** Notes a failure on the item. A failure caused by the content is final; any other is tried again later. */
async function noteFailure(
  state: InstanceState,
  work: Work,
  { error, tookMs, deps }: FailedWork,
): Promise<void> {
  if (!(await isCurrent(state, work))) return;
  const reason = describeFailure(deps.embedder, error);
  const isLast = work.stage === "pictures" && work.attempts >= MOST_PICTURE_ATTEMPTS;
  if (isLast || (error instanceof ApiError && error.status < 500)) {
    await failItem(state, work.id, { revision: work.revision, error: reason, tookMs });
    return;
  }
  const shown = work.stage === "vectors" ? `Found by keywords only: ${reason}` : reason;
  const pause = doubledPause(PAUSE, work.attempts - 1);
  const { actor, context } = state;
  const now = context.system.now();
  const row = await itemRow(state, work.id).catch(() => null);
  if (row === null) {
    await context.sql.batch([dropWork(actor, work.id)]);
    return;
  }
  await state.clock.write(
    [
      {
        sql: "UPDATE search_items SET status = 'error', error = ?, seen_ms = ? WHERE actor = ? AND id = ?",
        params: [shown.slice(0, 500), now, actor, work.id],
      },
      ...logStatements(actor, work.id, {
        at: now,
        chunks: null,
        failure: `${reason} (attempt ${work.attempts}; the next in ${Math.round(pause / 1000)} s)`,
        tookMs,
      }),
      postpone(actor, work, context.steady() + pause),
    ],
    context.steady() + pause,
  );
}
