import "vitest";

/** What `global-setup.ts` hands to the tests, who `inject()` it. */
export interface Provided {
  /** Base URL of the upstream of the transport suite. */
  upstream: string;
  /** A folder for what the tests of this run write. */
  scratch: string;
  /** Base URL of what starts PostgreSQL (`tests/fakes/postgres.ts`). */
  postgres: string;
}

declare module "vitest" {
  interface ProvidedContext extends Provided {}
}
