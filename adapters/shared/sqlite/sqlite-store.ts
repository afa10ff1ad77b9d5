import { LAST_INSTANT } from "../../../core/http/fields/bounded-number.ts";
import type { ActorKind, Log, System } from "../../../core/ports.ts";
import { alarmTable } from "../sql/alarm-rows.ts";
import type { ActorStore } from "../sql/actor-store.ts";
import { steadyClock } from "./sqlite-clock.ts";
import { createTables, isOutdated, migrate } from "./schema.ts";
import type { SqliteDatabase } from "./sqlite.ts";

export interface SqliteStoreOptions {
  readonly db: SqliteDatabase;
  readonly system: Pick<System, "monotonic" | "now">;
  readonly log: Log;
  /** Is called before tables of an older form are changed; throws to prevent that. @default nothing */
  readonly beforeUpgrade?: (() => void) | undefined;
}

/** Makes the store of local actors over one shared journal database. */
export function sqliteStore({ db, system, log, beforeUpgrade }: SqliteStoreOptions): ActorStore {
  createTables(db);
  const clock = steadyClock(db, system);
  repairAlarms(db, clock.now(), log);
  return {
    sqlOf: () => db,
    sql: db,
    clock,
    alarms: alarmTable(db),
    prepare(kind: ActorKind) {
      if (isOutdated(db, kind)) beforeUpgrade?.();
      migrate(db, kind);
      return undefined;
    },
  };
}

const REPAIR = `UPDATE causey_alarms SET at = ? WHERE NOT (at BETWEEN 0 AND ?) OR typeof(at) = 'text' RETURNING kind`;

/** Makes alarms go off now that an earlier version has stored for a time that never comes; their actors set them again. */
function repairAlarms(db: SqliteDatabase, now: number, log: Log): void {
  try {
    const alarms = db.rows(REPAIR, [now, LAST_INSTANT]).length;
    if (alarms > 0)
      log(
        "warn",
        "Alarms were stored for times that no date has: they go off now, and their actors set them again",
        { alarms },
      );
  } catch (error) {
    log("warn", "Could not look after stored alarms", { error: String(error) });
  }
}
