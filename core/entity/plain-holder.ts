import type { ActorContext } from "../ports.ts";
import { isAmong } from "../sql/sql-text.ts";

/** A row for each agent class: the source that has had it to itself, empty where several came together. */
export const holderSchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_index_holders (
    actor TEXT NOT NULL, agent TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (actor, agent))`,
];

/**
 * The source that had an agent class to itself and keeps its plain names; null without one. A source that is alone now
 * (`owners` are its names) takes the place of a removed one.
 */
export async function plainHolder(
  { name: actor, sql }: Pick<ActorContext, "name" | "sql">,
  agent: string,
  owners: readonly string[],
  isAlone: boolean,
): Promise<string | null> {
  const [source = ""] = owners;
  const hold = "INSERT INTO webhooks_index_holders (actor, agent, source)";
  const own = isAmong("webhooks_index_holders.source", owners);
  const [, row] = await sql.batch([
    isAlone
      ? {
          sql: `${hold} VALUES (?, ?, ?) ON CONFLICT (actor, agent) DO UPDATE SET source = excluded.source
            WHERE NOT (${own.sql})`,
          params: [actor, agent, source, ...own.params],
        }
      : // For a class that is older than this table, its entities show which source was alone.
        {
          sql: `${hold} SELECT CAST(? AS TEXT), CAST(? AS TEXT),
              CASE WHEN COUNT(DISTINCT e.source) = 1 THEN MIN(e.source) ELSE '' END
            FROM webhooks_index_entities e WHERE e.actor = ? AND e.agent = ?
            ON CONFLICT (actor, agent) DO NOTHING`,
          params: [actor, agent, actor, agent],
        },
    {
      sql: "SELECT source FROM webhooks_index_holders WHERE actor = ? AND agent = ?",
      params: [actor, agent],
    },
  ]);
  return String(row?.rows[0]?.["source"] ?? "") || null;
}
