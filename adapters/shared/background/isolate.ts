import type { TaskMessage, TaskOutcome } from "./messages.ts";

/** Runs one task at a time apart from the event loop, and can be ended at any time: a thread, or a process. */
export interface Isolate {
  /** Runs one task. Rejects when the isolate fails, and on abort; it may be used again only after it has resolved. */
  run(message: TaskMessage, signal: AbortSignal): Promise<TaskOutcome>;
  /** Ends it, whatever it does. */
  end(): Promise<void>;
  /** Whether the isolate keeps this process alive. */
  hold(isHeld: boolean): void;
  /** Whether it is not to be used again. */
  isSpent(): boolean;
  readonly ended: Promise<void>;
}
