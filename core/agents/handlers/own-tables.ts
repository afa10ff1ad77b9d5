import { type SchemaStep, stepSql } from "../../sql/schema-step.ts";
import { quotedName } from "../../sql/sql-text.ts";
import type { Sql, Statement } from "../../ports.ts";
import { agentTables } from "../define/schema.ts";

const TABLES = {
  sqlite: "SELECT name FROM sqlite_schema WHERE type = 'table'",
  postgres:
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema()",
};
const HAS_ACTOR = {
  sqlite: "SELECT name FROM pragma_table_info(?) WHERE LOWER(name) = 'actor'",
  postgres: `SELECT column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = ? AND column_name = 'actor'`,
};

/**
 * The statements that delete an instance's rows from the tables of its class: those that the steps of the definition's
 * schema name, and that have an `actor` column. A table without one belongs to all instances.
 */
export async function deleteOwnRows(
  sql: Pick<Sql, "all" | "dialect">,
  steps: readonly SchemaStep[],
  agent: string,
): Promise<Statement[]> {
  if (steps.length === 0) return [];
  const text = steps.map(stepSql).join("\n").toLowerCase();
  const rows = await sql.all(TABLES[sql.dialect]);
  const named = rows
    .map(({ name }) => String(name))
    .filter((name) => text.includes(quotedName(name).slice(1, -1).toLowerCase()))
    // There `actor` is who caused an event.
    .filter((name) => !(agentTables as readonly string[]).includes(name));
  const statements: Statement[] = [];
  for (const name of named) {
    if ((await sql.all(HAS_ACTOR[sql.dialect], [name])).length === 0) continue;
    statements.push({ sql: `DELETE FROM ${quotedName(name)} WHERE actor = ?`, params: [agent] });
  }
  return statements;
}
