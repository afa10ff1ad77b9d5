import type { ActorKind, Log, Sql, System } from "../../core/ports.ts";
import type { ActorStore } from "../shared/sql/actor-store.ts";
import type { PostgresDatabase } from "./open-postgres.ts";
import { postgresClock } from "./postgres-clock.ts";
import { migrateTables } from "./schema.ts";
import { slotAlarms } from "./slot-alarms.ts";
import type { Fence } from "./transaction.ts";

export interface PostgresStoreOptions {
  readonly db: PostgresDatabase;
  readonly system: Pick<System, "monotonic" | "now">;
  readonly log: Log;
  /** Returns what the batches of an actor check. */
  readonly fenceOf: (kind: string, name: string) => Fence;
  /** The slots of this node. */
  readonly ownSlots: () => readonly number[];
  /** Returns the database for what PostgreSQL has no index for. @default there is none: actors that need it fail */
  readonly fullText?: (() => Sql) | undefined;
}

/** The store of actors, some of which other processes have. */
export interface PostgresStore extends ActorStore {
  /** Resolves when the tables are there that are being prepared. */
  prepared(): Promise<unknown>;
}

/** Makes the store of actors over a PostgreSQL database. */
export async function postgresStore({
  db,
  system,
  log,
  fenceOf,
  ownSlots,
  fullText,
}: PostgresStoreOptions): Promise<PostgresStore> {
  const sql = db.sqlOf("");
  /** One after the other: each takes a connection of its own. */
  let last: Promise<unknown> = Promise.resolve();
  return {
    sqlOf: (kind, name) => db.sqlOf(`${kind}\0${name}`, fenceOf(kind, name)),
    sql,
    fullText,
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
    prepared: () => last,
  };
}
