import type { SqlRow } from "../../../core/ports.ts";
import { openPostgres } from "../../postgres/open-postgres.ts";
import { createOwnTables } from "../../postgres/schema.ts";
import type { Session } from "../../postgres/session.ts";
import { toPostgresSchema } from "../../postgres/statement-text.ts";
import { COLUMNS } from "../../shared/sql/alarm-rows.ts";
import { commandFailure } from "../context/command-options.ts";
import { quotedName } from "../../../core/sql/sql-text.ts";
import { type MovedTables, rowsAtATime } from "./moved-tables.ts";

/** Runs work on the tables of a PostgreSQL database that no server uses. */
export async function withDatabase<T>(
  url: string,
  role: "source" | "target",
  work: (tables: MovedTables) => Promise<T>,
): Promise<T> {
  const db = await openPostgres({ url, log: () => undefined });
  try {
    return await db.session(async (session) => {
      // A server that starts meanwhile waits for this lock.
      await createOwnTables(session);
      await checkUse(session, role);
      if (role === "source") await session.exec(NEWS_AS_ALARMS);
      return work(tablesOf(session));
    });
  } finally {
    await db.close();
  }
}

/** Turns the news that a server stored for another server's silent object into alarms: a folder has no other form for it. */
const NEWS_AS_ALARMS = `INSERT INTO causey_alarms (kind, actor, at, attempts, version, slot)
    SELECT kind, actor, 0, 0, 1, slot FROM causey_news ON CONFLICT (kind, actor) DO UPDATE SET at = 0;
  DELETE FROM causey_news`;

const FACTS = `SELECT EXISTS (SELECT 1 FROM causey_schema) AS used, to_regclass('causey_nodes') IS NOT NULL AS joined`;
/** A server that was killed counts until its lease is over. */
const SERVED = "SELECT EXISTS (SELECT 1 FROM causey_nodes WHERE expires > now()) AS served";

async function checkUse(session: Session, role: "source" | "target"): Promise<void> {
  const [facts = {}] = await session.all(FACTS);
  const [{ served } = {}] = facts["joined"] === 1 ? await session.all(SERVED) : [];
  if (served === 1)
    throw commandFailure(
      "A server uses the database",
      "Stop it first: what it writes would be lost",
    );
  if (role === "target" && facts["used"] === 1)
    throw commandFailure(
      "The database is not empty: a server has used it, or an import filled it",
      "Create another one: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
    );
  if (role === "source" && facts["used"] !== 1)
    throw commandFailure("There is no state in the database", "Check its name in the address");
}

const TABLES = `SELECT relname AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace
  AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname`;

function tablesOf(session: Session): MovedTables {
  let cursors = 0;
  return {
    dialect: "postgres",
    all: (sql, params) => session.all(sql, params),
    batch: (statements) => session.batch(statements),
    tables: async () => (await session.all(TABLES)).map((row) => String(row["name"])),
    applyStep: (step) => session.exec(toPostgresSchema(step)),
    async *read(table) {
      const cursor = `causey_rows_${(cursors += 1)}`;
      // Without their slots, which a folder has none of: the first server of a database gives alarms theirs.
      const query = table === "causey_alarms" ? COLUMNS : `SELECT * FROM ${quotedName(table)}`;
      await session.exec(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query}`);
      let rows: SqlRow[] = [];
      for (;;) {
        const count = rowsAtATime(rows);
        rows = await session.all(`FETCH ${count} FROM ${cursor}`);
        if (rows.length > 0) yield rows;
        if (rows.length < count) break;
      }
      await session.exec(`CLOSE ${cursor}`);
    },
  };
}
