import { ApiError } from "../../http/api-error.ts";
import { fairSlots, type FairSlots, inSlot } from "../../work/fair-slots.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";
import { indexContent } from "../ingest/index-content.ts";
import type { WorkOptions } from "../models/search-deps.ts";
import type { InstanceState } from "../state/instance-state.ts";
import {
  cutOff,
  isCurrent,
  MOST_PICTURE_ATTEMPTS,
  renewLease,
  type Work,
} from "../state/work-rows.ts";
import { newsOrTime } from "../../time/news-or-time.ts";

/** Files whose pictures are read at a time, and further ones of instances that have none read. */
const FILES = 4;
const RESERVE = 4;
/** Files that wait for their turn: an instance has two at most. */
const WAITING = 10_000;
/** Milliseconds between two looks at whether the work is still wanted, unless something happens before. */
const LOOK_MS = 60_000;

/** Makes the slots in which the instances of a process have pictures read: a slow scan keeps no other instance waiting. */
export function pictureSlots(): FairSlots {
  const refuse = (): ApiError =>
    new ApiError("unavailable", { message: "Too many files wait to have their pictures read" });
  return fairSlots({ running: FILES, reserve: RESERVE, waiting: WAITING, refuse });
}

/** Indexes an item whose file holds pictures of text. Deleting the item, or uploading another file in its place, ends it. */
export async function indexPictures(
  state: InstanceState,
  work: Work,
  deps: WorkOptions,
  slots: FairSlots,
): Promise<void> {
  if (work.attempts > MOST_PICTURE_ATTEMPTS) throw cutOff("item", MOST_PICTURE_ATTEMPTS);
  const { actor, context } = state;
  const { id, revision } = work;
  await whileCurrent(state, work, (signal) =>
    inSlot(slots, actor, signal, async () => {
      const started = context.system.monotonic();
      await context.sql.batch([
        {
          sql: "UPDATE search_items SET status = 'running', error = NULL WHERE actor = ? AND id = ? AND revision = ?",
          params: [actor, id, revision],
        },
      ]);
      await indexContent(state, id, { revision, deps, started, pictures: signal });
    }),
  );
}

/** Does work for as long as nothing has taken its place in the queue, and keeps its lease. */
async function whileCurrent(
  state: InstanceState,
  work: Work,
  run: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const { context, queueNews } = state;
  const { system } = context;
  const gone = new AbortController();
  const over = new AbortController();
  const ends = [gone.signal, ...(system.closing === undefined ? [] : [system.closing])];
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      if (!state.exists() || !(await isCurrent(state, work))) {
        gone.abort(new ApiError("item_not_found"));
        return;
      }
      await context.sql.batch([renewLease(state, work.id)]);
      await newsOrTime(system, queueNews.next(), LOOK_MS, over.signal);
    }
  };
  // The database may fail for a moment; the outcome of the work then tells.
  const watching = watch().catch(() => undefined);
  try {
    await run(AbortSignal.any(ends));
  } finally {
    over.abort(TIMER_OVER);
    await watching;
  }
}
