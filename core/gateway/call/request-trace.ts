import type { AttemptObserver } from "./ended-attempt.ts";
import type { TraceParent } from "./trace-parent.ts";

/** Observes a request, so that it and its attempts become one trace. Never throws and never waits. */
export interface RequestTrace {
  /**
   * An attempt begins, so the earlier ones were not the answer. The same `step` again is the same request, sent again.
   */
  begin(step: object, parent: TraceParent | null): TracedAttemptStart;
  /** The answer is on its way; the request ends with its row. */
  answer(answered: AnswerStart): void;
  /** The request ends with an error. */
  fail(error: unknown): void;
}

export interface TracedAttemptStart {
  /** Names its span to the provider. */
  readonly traceparent: string;
  /** Called when it has ended. */
  readonly ended: AttemptObserver;
}

export interface AnswerStart {
  readonly logId: string;
  readonly step: number;
  readonly reply: { readonly status: number };
}
