import { TransportError } from "../../../core/net/transport-error.ts";

/** Options of {@link beginDeadlines}. */
export interface BeginDeadlineOptions {
  /** Length of a tick in ms. @default 1000 */
  readonly tickMs?: number;
  /** From here on in ms a deadline counts in ticks: one more or less then means nothing. @default 30000 */
  readonly coarseFromMs?: number;
  /** Different durations that share a timer. @default 8 */
  readonly durations?: number;
}

/** A deadline that runs; hand it to {@link BeginDeadlines.stop} or {@link BeginDeadlines.restart}. */
export interface BeginDeadline {
  readonly ms: number;
  readonly expire: () => void;
  timer: ReturnType<typeof setTimeout> | null;
  queue: Queue | null;
  /** The tick after which it expires. */
  due: number;
  isOver: boolean;
  before: BeginDeadline | null;
  after: BeginDeadline | null;
}

/** Deadlines of one duration, the oldest first. */
interface Queue {
  first: BeginDeadline | null;
  last: BeginDeadline | null;
}

/** Deadlines for answers to begin. */
export interface BeginDeadlines {
  start(ms: number, expire: () => void): BeginDeadline;
  /** Counts from now again, unless it is over. */
  restart(deadline: BeginDeadline): void;
  stop(deadline: BeginDeadline): void;
}

/**
 * Keeps the deadlines of many requests with one timer: nearly all have the same duration, so the oldest is the next one
 * due. A timer per request would cost some percent of a small one. Beyond `durations` of them each has a timer of its own.
 */
export function beginDeadlines(options: BeginDeadlineOptions = {}): BeginDeadlines {
  const { tickMs = 1000, coarseFromMs = 30_000, durations = 8 } = options;
  const queues = new Map<number, Queue>();
  const clock = tickingClock(queues, tickMs);
  const queueOf = (ms: number): Queue | null => {
    const known = queues.get(ms);
    if (known !== undefined || ms < coarseFromMs || queues.size >= durations) return known ?? null;
    const queue: Queue = { first: null, last: null };
    queues.set(ms, queue);
    return queue;
  };
  const run = (deadline: BeginDeadline): void => {
    const { ms, queue } = deadline;
    if (queue === null) {
      deadline.timer = setTimeout(() => expire(deadline), ms);
      return;
    }
    deadline.due = clock.tick() + Math.ceil(ms / tickMs);
    append(deadline, queue);
  };
  return {
    start(ms, onExpire) {
      const queue = queueOf(ms);
      const deadline: BeginDeadline = {
        ms,
        expire: onExpire,
        timer: null,
        queue,
        due: 0,
        isOver: false,
        before: null,
        after: null,
      };
      run(deadline);
      return deadline;
    },
    restart(deadline) {
      if (deadline.isOver) return;
      pause(deadline);
      run(deadline);
    },
    stop(deadline) {
      deadline.isOver = true;
      pause(deadline);
    },
  };
}

/** Counts ticks for as long as a deadline is queued, and lets those expire that are due. */
function tickingClock(
  queues: ReadonlyMap<number, Queue>,
  tickMs: number,
): { /** The number of the tick under way. */ tick(): number } {
  let tick = 0;
  let ticking: ReturnType<typeof setInterval> | null = null;
  const onTick = (): void => {
    tick++;
    let isIdle = true;
    for (const queue of queues.values()) {
      for (let next = queue.first; next !== null && next.due < tick; next = queue.first) {
        remove(next);
        expire(next);
      }
      if (queue.first !== null) isIdle = false;
    }
    if (!isIdle || ticking === null) return;
    clearInterval(ticking);
    ticking = null;
  };
  return {
    tick() {
      ticking ??= setInterval(onTick, tickMs);
      return tick;
    },
  };
}

function expire(deadline: BeginDeadline): void {
  deadline.isOver = true;
  deadline.expire();
}

function pause(deadline: BeginDeadline): void {
  if (deadline.timer !== null) clearTimeout(deadline.timer);
  deadline.timer = null;
  remove(deadline);
}

function append(deadline: BeginDeadline, queue: Queue): void {
  deadline.before = queue.last;
  if (queue.last === null) queue.first = deadline;
  else queue.last.after = deadline;
  queue.last = deadline;
}

/** Does nothing to one that is in no queue. */
function remove(deadline: BeginDeadline): void {
  const { queue, before, after } = deadline;
  if (queue === null || (before === null && queue.first !== deadline)) return;
  if (before === null) queue.first = after;
  else before.after = after;
  if (after === null) queue.last = before;
  else after.before = before;
  deadline.before = null;
  deadline.after = null;
}

/** Returns the error of an answer that did not begin within `ms`. */
export function lateAnswer(ms: number): TransportError {
  return new TransportError("late", `No answer began within ${ms} ms`);
}
