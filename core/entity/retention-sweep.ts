import type { ActorContext } from "../ports.ts";
import type { Clock } from "./clock.ts";
import type { Retention } from "./event.ts";
import { agentKindName } from "./kebab.ts";

/** Entities that are asked at a time. Asking starts them, so they come slowly. */
const SLICE = 16;
const PAUSE_MS = 250;

/** One row: the retention that the entities follow, and how far the sweep is; without `due` it is over. */
export const sweepSchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_index_sweep (
    actor TEXT PRIMARY KEY, retention TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, due BIGINT)`,
];

/** Applies a changed retention to entities that no event, alarm or start of their own would inform. */
export interface RetentionSweep {
  /** Takes the retention that is configured now, as an entity reports it. */
  follow(retention: Retention): Promise<void>;
  /** The alarm's part: the next slice of entities. */
  run(): Promise<void>;
}

const START = `INSERT INTO webhooks_index_sweep (actor, retention, agent, entity, due) VALUES (?, ?, '', '', ?)
  ON CONFLICT (actor) DO UPDATE SET retention = excluded.retention, agent = '', entity = '', due = excluded.due
    WHERE webhooks_index_sweep.retention <> excluded.retention`;

export function startSweep(context: ActorContext, clock: Clock): RetentionSweep {
  const { actors, name: actor, sql, steady } = context;
  let known: string | undefined;

  return {
    async follow({ maxAgeMs, maxEvents }) {
      const retention = JSON.stringify({ maxAgeMs, maxEvents });
      if (retention === known) return;
      await clock.write([{ sql: START, params: [actor, retention, steady()] }], steady());
      known = retention;
    },
    async run() {
      const [sweep] = await sql.all(
        "SELECT retention, agent, entity FROM webhooks_index_sweep WHERE actor = ? AND due <= ?",
        [actor, steady()],
      );
      if (sweep === undefined) return;
      const rows = await sql.all(
        `SELECT agent, entity FROM webhooks_index_entities
          WHERE actor = ? AND (agent, entity) > (?, ?) ORDER BY agent, entity LIMIT ?`,
        [actor, sweep["agent"] ?? "", sweep["entity"] ?? "", SLICE],
      );
      // An entity that cannot start follows when it can.
      await Promise.allSettled(
        rows.map(({ agent, entity }) =>
          actors.get(agentKindName(String(agent)), String(entity)).call("followRetention"),
        ),
      );
      const last = rows.at(-1) ?? sweep;
      const due = rows.length < SLICE ? null : steady() + PAUSE_MS;
      await sql.batch([
        {
          sql: `UPDATE webhooks_index_sweep SET agent = ?, entity = ?, due = ? WHERE actor = ? AND retention = ?`,
          params: [last["agent"] ?? "", last["entity"] ?? "", due, actor, sweep["retention"] ?? ""],
        },
      ]);
    },
  };
}

/** When the next slice is due, by the steady clock. */
export async function nextSweep({ name, sql }: ActorContext): Promise<number | null> {
  const [row] = await sql.all("SELECT due FROM webhooks_index_sweep WHERE actor = ?", [name]);
  return row?.["due"] == null ? null : Number(row["due"]);
}
