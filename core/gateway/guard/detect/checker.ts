import type { SlicePause } from "../text/slices.ts";

/** The decision on a text: it passes, passes with a note, or is blocked. */
export type CheckAction = "allow" | "flag" | "block";

/** Whether a text is on its way to a model or comes from one. */
export type CheckPhase = "prompt" | "response";

/** One kind of finding of a checker. Never the text itself: findings travel in headers and logs. */
export interface Finding {
  /** Names the kind, e.g. `credit_card` or `S1`. */
  readonly type: string;
  /** How often it was found. */
  readonly count: number;
  /** Why, in words that callers may see. @default its kind says it */
  readonly reason?: string;
  /** Whether it is flagged even where a policy blocks. @default false */
  readonly onlyFlags?: boolean;
}

/** A checker's verdict on a text. */
export interface CheckResult {
  readonly action: CheckAction;
  readonly findings: readonly Finding[];
}

/** Looks at the text of a request or of an answer. A rejection counts as "cannot check". */
export interface Checker {
  /** Long work awaits `pause` every few milliseconds, so that other requests go on meanwhile. */
  check(
    text: string,
    phase: CheckPhase,
    signal: AbortSignal,
    pause?: SlicePause,
  ): CheckResult | Promise<CheckResult>;
}

/** Nothing found. */
export const clean: CheckResult = { action: "allow", findings: [] };
