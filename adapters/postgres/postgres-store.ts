import { ApiError } from "../../core/http/api-error.ts";
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
  /** The id of this node. @default it is none */
  readonly ownNode?: (() => string) | undefined;
  /** Returns the database for what PostgreSQL has no index for. @default there is none: actors that need it fail */
  readonly fullText?: (() => Sql) | undefined;
}

/** The store of actors, some of which other processes have. */
export interface PostgresStore extends ActorStore {
  /** Resolves when all tables that are being prepared are there, or could not be made. */
  prepared(): Promise<void>;
  /** Why this version must not work with the tables; null if it may. */
  refusal(): ApiError | null;
}

/** Makes the store of actors over a PostgreSQL database. */
export async function postgresStore({
  db,
  system,
  log,
  fenceOf,
  ownSlots,
  ownNode,
  fullText,
}: PostgresStoreOptions): Promise<PostgresStore> {
  const sql = db.sqlOf("");
  /** One after the other: each takes a connection of its own. */
  let last: Promise<unknown> = Promise.resolve();
  let refusal: ApiError | null = null;
  return {
    sqlOf: (kind, name) => db.sqlOf(`${kind}\0${name}`, fenceOf(kind, name)),
    sql,
    fullText,
    alarms: slotAlarms(sql, ownSlots),
    clock: await postgresClock(sql, system),
    prepare(kind: ActorKind) {
      const work = last.then(() => migrateTables(db.session, kind, ownNode?.()));
      last = work.catch((error: unknown) => {
        if (error instanceof ApiError) refusal ??= error;
        log("error", "The tables of an actor kind cannot be prepared", {
          kind: kind.name,
          error: String(error),
        });
      });
      return work;
    },
    refusal: () => refusal,
    async prepared() {
      for (let seen: unknown; seen !== last;) await (seen = last);
    },
  };
}
