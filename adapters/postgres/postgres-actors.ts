import {
  localActors,
  type LocalActors,
  type LocalActorsOptions,
} from "../shared/actors/local-actors.ts";
import { openPostgres } from "./open-postgres.ts";
import { postgresStore } from "./postgres-store.ts";

/** Options of {@link postgresActors}. */
export interface PostgresActorsOptions extends Omit<LocalActorsOptions, "store"> {
  /** The address of the database, `postgres://…`. */
  readonly database: string;
}

/** The actors of a process over a database. */
export interface PostgresActors extends LocalActors {
  /** Closes the connections to the database. */
  release(): Promise<void>;
}

/** Opens a database for the actors of this process. Rejects with one line that says what to do. */
export async function postgresActors(options: PostgresActorsOptions): Promise<PostgresActors> {
  const { database: url, log, system } = options;
  const db = await openPostgres({ url, log });
  try {
    const actors = localActors({ ...options, store: await postgresStore({ db, system, log }) });
    return { ...actors, release: () => db.close() };
  } catch (error) {
    await db.close();
    throw error;
  }
}
