import { LAST_INSTANT } from "../../../core/http/fields/bounded-number.ts";
import type { System } from "../../../core/ports.ts";
import type { SteadyClock } from "../sql/steady-clock.ts";
import type { SqliteDatabase } from "./sqlite.ts";

/** Changes of the clock above this are reported, in ms. */
const JUMP_MS = 1000;

/**
 * Makes a clock that goes by elapsed time. It begins at the wall clock's time, or at the last process's steady time when
 * that is later: after a clock was set back while nothing ran, nothing has to wait for it to catch up.
 */
export function steadyClock(
  db: SqliteDatabase,
  system: Pick<System, "monotonic" | "now">,
): SteadyClock {
  const [stored] = db.rows(
    "SELECT steady, wall FROM causey_clock WHERE steady BETWEEN 0 AND ? AND wall BETWEEN 0 AND ?",
    [LAST_INSTANT, LAST_INSTANT],
  );
  const ahead = stored === undefined ? 0 : Number(stored["steady"]) - Number(stored["wall"]);
  const start = Math.max(system.now() + ahead, Number(stored?.["steady"] ?? 0));
  const origin = system.monotonic();
  const now = (): number => Math.floor(start + system.monotonic() - origin);
  const offset = (): number => now() - system.now();
  let known = offset();
  let saved = 0;
  return {
    now,
    wasSet() {
      const before = known;
      known = offset();
      return Math.abs(known - before) > JUMP_MS;
    },
    async save(everyMs) {
      if (now() - saved < everyMs) return;
      saved = now();
      db.rows(
        "INSERT INTO causey_clock (id, steady, wall) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET steady = excluded.steady, wall = excluded.wall",
        [saved, system.now()],
      );
    },
  };
}
