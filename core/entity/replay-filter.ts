/** The events or dead letters to run again. */
export type ReplayFilter = {
  readonly of: "events" | "dead-letters";
  readonly agent?: string | undefined;
  readonly entity?: string | undefined;
  readonly source?: string | undefined;
  readonly type?: string | undefined;
  /** Fixed-width UTC, both inclusive: when an event came, or when a dead letter failed for good. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
};
