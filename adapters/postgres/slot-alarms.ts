import type { Sql } from "../../core/ports.ts";
import {
  COLUMNS,
  newVersion,
  SAME,
  sameAs,
  toAlarmRow,
  type AlarmTable,
} from "../shared/sql/alarm-rows.ts";
import type { Session } from "./session.ts";
import { slotOf } from "./slot-of.ts";

/** Rows that get their slots in one statement. */
const PIECE = 10_000;

/** Alarms from before the table had slots get theirs. */
export async function addAlarmSlots(session: Session): Promise<void> {
  for (;;) {
    const rows = await session.all(
      "SELECT kind, actor FROM causey_alarms WHERE slot IS NULL LIMIT ?",
      [PIECE],
    );
    if (rows.length === 0) return;
    const places = rows.map(({ kind, actor }) => ({
      kind,
      actor,
      slot: slotOf(String(kind), String(actor)),
    }));
    await session.all(
      `UPDATE causey_alarms AS alarm SET slot = one.slot
        FROM json_to_recordset(CAST(? AS JSON)) AS one (kind TEXT, actor TEXT, slot INTEGER)
        WHERE alarm.kind = one.kind AND alarm.actor = one.actor`,
      [JSON.stringify(places)],
    );
  }
}

/**
 * Makes the alarms of this node: those whose slots it has. An alarm is claimed under the fence of its actor, so a node that
 * has lost the slot does not ring it. The row stays until `onAlarm` is done: if the actor moves before that, the alarm rings
 * at its next node.
 */
export function slotAlarms(all: Pick<Sql, "all">, own: () => readonly number[]): AlarmTable {
  return {
    async earliest(kind, limit) {
      const slots = own();
      if (slots.length === 0) return [];
      const rows = await all.all(
        `${COLUMNS} WHERE kind = ? AND slot = ANY (CAST(STRING_TO_ARRAY(?, ' ') AS INTEGER[])) ORDER BY at LIMIT ?`,
        [kind, slots.join(" "), limit],
      );
      return rows.map(toAlarmRow);
    },
    upsert: (kind, actor, at) => ({
      sql: `INSERT INTO causey_alarms (kind, actor, at, attempts, version, slot) VALUES (?, ?, ?, 0, ?, ?)
        ON CONFLICT (kind, actor) DO UPDATE SET at = excluded.at, attempts = 0, version = excluded.version`,
      params: [kind, actor, at, newVersion(), slotOf(kind, actor)],
    }),
    async isDue(sql, row) {
      const [found] = await sql.batch([
        { sql: `${COLUMNS} ${SAME} FOR UPDATE`, params: sameAs(row) },
      ]);
      return (found?.rows.length ?? 0) > 0;
    },
  };
}
