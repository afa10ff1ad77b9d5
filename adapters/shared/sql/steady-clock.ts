/** The time line of a database's due times. */
export interface SteadyClock {
  /** Whole Unix ms as they would be if the clock were never set; never goes back, not across restarts either. */
  now(): number;
  /** Whether the clock was set since this was asked last. */
  wasSet(): boolean;
  /** Stores where the line is, unless that was done within `everyMs`, so that the next process goes on from there. */
  save(everyMs: number): Promise<void>;
}
