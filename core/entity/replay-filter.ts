/** The events or dead letters to run again. */
export type ReplayFilter = {
  readonly of: "events" | "dead-letters";
  readonly agent?: string | undefined;
  readonly entity?: string | undefined;
  readonly source?: string | undefined;
  readonly type?: string | undefined;
  /** Fixed-width UTC, both inclusive: when an event came, when a dead letter was given up. */
  readonly since?: string | undefined;
  readonly until?: string | undefined;
};
