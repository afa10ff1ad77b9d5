/** One guard taken away: the suites must notice. */
export interface Mutant {
  /** What no longer holds. */
  readonly name: string;
  readonly file: string;
  /** Text that stands in the file once. */
  readonly find: string;
  readonly replace: string;
  /** Where a test must fail, as vitest filters. */
  readonly tests: readonly string[];
}
