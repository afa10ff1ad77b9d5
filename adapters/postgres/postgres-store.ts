import type { ActorKind, Log, System } from "../../core/ports.ts";
import type { ActorStore } from "../shared/sql/actor-store.ts";
import type { PostgresDatabase } from "./open-postgres.ts";
import { postgresClock } from "./postgres-clock.ts";
import { migrateTables } from "./schema.ts";

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  readonly db: PostgresDatabase;
  readonly system: Pick<System, "monotonic" | "now">;
  readonly log: Log;
}

/** Makes the store of actors over a PostgreSQL database. */
export async function postgresStore({
  db,
  system,
  log,
}: PostgresStoreOptions): Promise<ActorStore> {
  const sql = db.sqlOf("");
  /** One after the other: each takes a connection of its own. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    sqlOf: (kind, name) => db.sqlOf(`${kind}\0${name}`),
    sql,
    clock: await postgresClock(sql, system),
    prepare(kind: ActorKind) {
      const work = last.then(() => migrateTables(db.session, kind));
      last = work.catch((error: unknown) => {
        log("error", "The tables of an actor kind cannot be prepared", {
          kind: kind.name,
          error: String(error),
        });
      });
      return work;
    },
  };
}
