import { type ApiError, invalidRequest } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { PdfBody } from "./body.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** The timers of a rendering in ms (docs/compatibility.md). */
export interface Timers {
  readonly goto: number;
  readonly selector: number;
  readonly function: number;
  readonly wait: number;
  /** Each action before the capture, and all of them together. */
  readonly eachAction: readonly number[];
  readonly actions: number;
  readonly action: number;
}

/** The largest values that a caller may set, in ms. */
export interface TimerCaps {
  /** For `gotoOptions.timeout`. @default 60000 */
  readonly goto?: number;
  /** For `waitForSelector`, `waitForFunction` and one action. @default 60000 */
  readonly selector?: number;
  /** For `waitForTimeout`, and for all actions together. @default 60000 */
  readonly wait?: number;
  /** For `actionTimeout` and `pdfOptions.timeout`. @default 300000 */
  readonly action?: number;
}

/** Timers that the caller does not set: 30 s for the load and the action, so that no page can hold a slot for long. */
const DEFAULT_MS = 30_000;

/**
 * Reads the timers of a request. A value above its cap is refused, not clamped; 0 means the cap.
 *
 * @throws ApiError `invalid_request` naming field and cap
 */
export function readTimers(body: PdfBody, caps: TimerCaps = {}): Timers {
  const load = body.gotoOptions ?? body.goToOptions;
  const minute = 60_000;
  const action = caps.action ?? 300_000;
  const printing = readTimer("pdfOptions.timeout", body.pdfOptions?.timeout, action, DEFAULT_MS);
  return {
    goto: readTimer("gotoOptions.timeout", load?.timeout, caps.goto ?? minute, DEFAULT_MS),
    selector: readTimer(
      "waitForSelector.timeout",
      body.waitForSelector?.timeout,
      caps.selector ?? minute,
      DEFAULT_MS,
    ),
    function: readTimer(
      "waitForFunction.timeout",
      body.waitForFunction?.timeout,
      caps.selector ?? minute,
      DEFAULT_MS,
    ),
    eachAction: (body.actions ?? []).map((one, index) =>
      readTimer(
        `actions.${index}.timeout`,
        "timeout" in one ? one.timeout : undefined,
        caps.selector ?? minute,
        DEFAULT_MS,
      ),
    ),
    actions: caps.wait ?? minute,
    // A fixed wait has no timer: 0 does not wait.
    wait:
      body.waitForTimeout === 0
        ? 0
        : readTimer("waitForTimeout", body.waitForTimeout, caps.wait ?? minute, 0),
    action: readTimer("actionTimeout", body.actionTimeout, action, printing),
  };
}

function readTimer(
  field: string,
  value: number | undefined,
  cap: number,
  fallback: number,
): number {
  if (value === undefined) return Math.min(fallback, cap);
  if (value > cap) {
    throw invalidRequest(`${field}: ${value} ms is above the maximum of ${cap} ms`);
  }
  return value === 0 ? cap : value;
}

/** The time that work may take, and what ends it sooner. */
export interface WaitLimits {
  readonly ms: number;
  readonly system: System;
  readonly signal: AbortSignal;
  /** The failure of work that took too long. */
  readonly expired: () => ApiError;
}

/** Runs work that must end within `ms`: later, or on abort, it rejects and the work's signal fires. */
export async function within<T>(
  { ms, system, signal, expired }: WaitLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const timer = system.sleep(ms, both).then(
    () => {
      throw expired();
    },
    () => {
      // Aborted from outside, or the work was done first.
      signal.throwIfAborted();
      return new Promise<never>(() => undefined);
    },
  );
  try {
    return await Promise.race([work(both), timer]);
  } finally {
    stop.abort(TIMER_OVER);
  }
}
