import type { Log } from "../../ports.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { claim, earliestLease, type Work } from "../state/work-rows.ts";
import { newsOrTime } from "../../time/news-or-time.ts";

/** Pieces of work of one instance that are under way at a time: an embedder is asked by so many at most. */
const AT_ONCE = 4;
/** The same of files whose pictures are read, beside the others. */
const PICTURES_AT_ONCE = 2;
/** How long the alarm waits for more once all is done, in ms: uploads come in series. */
const LINGER_MS = 50;
/** Longest time that one alarm goes on, in ms: some runtimes end an alarm that takes a quarter of an hour. */
const RUN_MS = 60_000;

/**
 * Makes the runner of an instance's queue, for its alarm. The alarm lasts while any work is running or leased: a process
 * that dies leaves it due, and the next one goes on at once.
 */
export function queueRunner(
  state: InstanceState,
  perform: (work: Work) => Promise<void>,
  log: Log,
): () => Promise<void> {
  const { context, queueNews } = state;
  const { system } = context;
  const underWay = { others: new Set<string>(), pictures: new Set<string>() };

  function start(work: Work): void {
    const alike = work.stage === "pictures" ? underWay.pictures : underWay.others;
    alike.add(work.token);
    const done = perform(work)
      // Work whose outcome could not be stored stays leased, and is taken up again.
      .catch((error: unknown) => {
        if (system.closing?.aborted !== true)
          log("error", "Indexing failed", { id: work.id, error: String(error) });
      })
      .then(() => {
        alike.delete(work.token);
        queueNews.notify();
      });
    system.waitUntil(done);
  }

  return async () => {
    const end = context.steady() + RUN_MS;
    let lingers = false;
    for (;;) {
      const news = queueNews.next();
      const now = context.steady();
      // Work still running at the end goes on beside the next alarm.
      if (now > end || system.closing?.aborted === true || !state.exists()) return;
      if (state.facts().settings.paused === true) return;
      const claimed = [
        ...(await claim(state, AT_ONCE - underWay.others.size, "others")),
        ...(await claim(state, PICTURES_AT_ONCE - underWay.pictures.size, "pictures")),
      ];
      for (const work of claimed) start(work);
      if (claimed.length > 0) {
        lingers = false;
        continue;
      }
      const lease = await earliestLease(state);
      const isIdle = lease === null && underWay.others.size + underWay.pictures.size === 0;
      if (isIdle && lingers) return;
      lingers = isIdle;
      await newsOrTime(system, news, isIdle ? LINGER_MS : Math.min(end, lease ?? end) - now);
    }
  };
}
