import type { ActorKind, Log, System } from "../../core/ports.ts";
import type { ActorStore } from "../shared/sql/actor-store.ts";
import type { PostgresDatabase } from "./open-postgres.ts";
import { postgresClock } from "./postgres-clock.ts";
import { migrateTables } from "./schema.ts";
import { slotAlarms } from "./slot-alarms.ts";
import type { Fence } from "./transaction.ts";

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  readonly db: PostgresDatabase;
  readonly system: Pick<System, "monotonic" | "now">;
  readonly log: Log;
  /** Returns what the batches of an actor check. */
  readonly fenceOf: (kind: string, name: string) => Fence;
  /** The slots of this node. */
  readonly ownSlots: () => readonly number[];
}

/** Makes the store of actors over a PostgreSQL database. */
export async function postgresStore({
  db,
  system,
  log,
  fenceOf,
  ownSlots,
}: PostgresStoreOptions): Promise<ActorStore> {
  const sql = db.sqlOf("");
  /** One after the other: each takes a connection of its own. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    sqlOf: (kind, name) => db.sqlOf(`${kind}\0${name}`, fenceOf(kind, name)),
    sql,
    alarms: slotAlarms(sql, ownSlots),
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
