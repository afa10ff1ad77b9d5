import type { Plain } from "../../ports.ts";

/** One run of a handler from the queue. */
export interface Run {
  /** 1 at the first run; it also counts a run that a crash cut off. */
  readonly attempt: number;
  readonly job: string;
  /** Whether somebody replayed the event or task, which had run before or was a dead letter. */
  readonly isReplay: boolean;
  /** Aborted when the handler's time is over. */
  readonly signal: AbortSignal;
}

/**
 * When a task runs: after so many seconds, at a date, or at the times of a cron expression: five fields, or six with
 * seconds in front, in UTC or behind a zone, e.g. `TZ=Europe/Berlin 0 9 * * MON`.
 */
export type When = number | Date | string;

/** A task that is due once or repeatedly. */
export interface Schedule {
  readonly id: string;
  readonly task: string;
  readonly payload: Plain;
  /** Unix ms of the next run. */
  readonly due: number;
  readonly kind: "once" | "interval" | "cron";
}

/** Options of {@link Agent.schedule}. */
export interface AgentScheduleOptions {
  /**
   * One row for the same task with the same payload (and cron expression): asking again returns the schedule that is
   * there. @default true for a cron expression and in `onStart`, else false
   */
  readonly idempotent?: boolean | undefined;
}

/** A filter for schedules. */
export interface ScheduleFilter {
  readonly kind?: Schedule["kind"];
  readonly task?: string;
}

/** Options of {@link Agent.queue}. */
export interface QueueOptions {
  /** While a task with this id is queued, another one with the same id is ignored. @default a fresh id */
  readonly id?: string;
  /** Attempts and delays of this task. @default the definition's */
  readonly retry?: RetryOptions;
  /** Seconds to wait before the first run, at least. @default 0 */
  readonly delaySeconds?: number;
}

/** A waiting or running task of the queue. */
export interface QueuedTask {
  readonly id: string;
  readonly task: string;
  readonly payload: Plain;
  /** The number of runs so far. */
  readonly attempt: number;
  /** Unix ms of the next run. */
  readonly due: number;
  /** The reason why the last run failed. */
  readonly error: string | null;
}

/** A task or an event whose handler failed for good. */
export interface DeadLetter {
  readonly id: string;
  readonly task: string;
  readonly payload: Plain;
  /** Position of the event, when it was one. */
  readonly seq: number | null;
  readonly attempts: number;
  readonly error: string;
  /** ISO 8601. */
  readonly failedAt: string;
}

/** The retry policy of a failing job. */
export interface RetryOptions {
  /** Runs before the job becomes a dead letter. @default 5 */
  readonly maxAttempts?: number;
  /** First delay in ms; it doubles, with full jitter. @default 1000 */
  readonly baseMs?: number;
  /** Longest delay in ms. @default 300000 */
  readonly maxMs?: number;
}

/**
 * Thrown by a handler: the job becomes a dead letter at once.
 *
 * @example
 * ```ts
 * import { defineAgent, NonRetryableError } from "causey/agents";
 *
 * const Mailer = defineAgent({
 *   name: "mailer",
 *   onEvent(_agent, event) {
 *     if (event.type !== "mail") throw new NonRetryableError(`No handler of ${event.type}`);
 *   },
 * });
 * ```
 */
export class NonRetryableError extends Error {
  override readonly name = "NonRetryableError";
}
