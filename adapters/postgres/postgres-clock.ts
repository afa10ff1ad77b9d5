import type { Sql, System } from "../../core/ports.ts";
import type { SteadyClock } from "../shared/sql/steady-clock.ts";

/** Changes of the clock above this are reported, in ms. */
const JUMP_MS = 1000;

const WALL = "CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT)";
/** Moves the line on by the time that has passed on the database's clock; setting that back stops it for a moment. */
const MOVE_ON = `INSERT INTO causey_clock (id, steady, wall) VALUES (1, ${WALL}, ${WALL})
  ON CONFLICT (id) DO UPDATE SET wall = excluded.wall,
    steady = causey_clock.steady + GREATEST(excluded.wall - causey_clock.wall, 0) RETURNING steady`;

/**
 * Makes the clock of a database: its time, and not that of the process, so that all processes mean the same moment. In
 * between, each goes by elapsed time; it never goes back.
 */
export async function postgresClock(
  sql: Sql,
  system: Pick<System, "monotonic" | "now">,
): Promise<SteadyClock> {
  let ahead = await read();
  let last = 0;
  let saved = system.monotonic();

  /** Returns what has to be added to elapsed time. */
  async function read(): Promise<number> {
    const before = system.monotonic();
    const [moved] = await sql.batch([{ sql: MOVE_ON }]);
    const after = system.monotonic();
    return Number(moved?.rows[0]?.["steady"]) - (before + after) / 2;
  }
  const now = (): number => (last = Math.max(last, Math.floor(ahead + system.monotonic())));
  const offset = (): number => now() - system.now();
  let known = offset();
  return {
    now,
    wasSet() {
      const before = known;
      known = offset();
      return Math.abs(known - before) > JUMP_MS;
    },
    async save(everyMs) {
      if (system.monotonic() - saved < everyMs) return;
      saved = system.monotonic();
      ahead = await read();
    },
  };
}
