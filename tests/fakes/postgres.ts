import { describe, inject, it } from "vitest";
import { newDatabase, runningPostgres } from "../platform/postgres-databases.ts";

export { asAdmin } from "../platform/postgres-databases.ts";

/** Says why there is no PostgreSQL here; undefined where there is. */
export async function lacksPostgres(): Promise<string | undefined> {
  const postgres = await runningPostgres(inject("postgres"));
  return "lacks" in postgres ? postgres.lacks : undefined;
}

/** Makes an empty database and returns its address. */
export function freshDatabase(settings = ""): Promise<string> {
  return newDatabase(inject("postgres"), settings);
}

/** Declares tests that need PostgreSQL, or one that is skipped with the reason why there is none. */
export async function describeOnPostgres(name: string, tests: () => void): Promise<void> {
  const lacks = await lacksPostgres();
  const skipped = (): void => it("has a PostgreSQL to run on", ({ skip }) => skip(lacks));
  describe(name, lacks === undefined ? tests : skipped);
}
