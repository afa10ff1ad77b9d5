import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SqlRow, SqlValue } from "../../../core/ports.ts";
import { openDataDir } from "../../shared/data-dir.ts";
import type { DatabaseSync } from "../../shared/sqlite/database-sync.ts";
import { withReadTexts } from "../../shared/sql/stored-text.ts";
import { openConnection } from "../../shared/sqlite/open-sqlite.ts";
import { OWN_TABLES } from "../../shared/sqlite/schema.ts";
import { statements } from "../../shared/sqlite/sqlite-statements.ts";
import { DATABASE } from "../backup/manifest.ts";
import { commandFailure } from "../context/command-options.ts";
import { quotedName } from "../../../core/sql/sql-text.ts";
import { type MovedTables, rowsAtATime } from "./moved-tables.ts";

/** Runs work on the tables of a data folder that no server uses. */
export async function withFolder<T>(
  path: string,
  role: "source" | "target",
  work: (tables: MovedTables) => Promise<T>,
): Promise<T> {
  const file = join(path, DATABASE);
  if (role === "source" && !(existsSync(file) && statSync(file).size > 0))
    throw commandFailure(`There is no state in "${path}"`, "Name the server's folder with --from");
  const folder = openDataDir(path);
  if (!folder.hold())
    throw commandFailure(`A server uses "${path}"`, "Stop it first: what it writes would be lost");
  let db: DatabaseSync | undefined;
  try {
    db = openConnection(file);
    db.exec("BEGIN IMMEDIATE");
    if (role === "target") {
      if (db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").all().length > 0)
        throw commandFailure(`"${path}" is not empty`, "Choose another folder with --to");
      db.exec(OWN_TABLES);
    }
    const result = await work(tablesOf(db));
    db.exec("COMMIT");
    return result;
  } finally {
    // Undoes what is not committed.
    db?.close();
    folder.release();
  }
}

/** https://sqlite.org/pragma.html#pragma_table_list */
const TABLES = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
  AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name`;

function tablesOf(db: DatabaseSync): MovedTables {
  const own = statements(db);
  const all = (sql: string, params: readonly SqlValue[] = []) =>
    withReadTexts(db.prepare(sql).all(...params));
  return {
    dialect: "sqlite",
    all: async (sql, params) => all(sql, params),
    batch: async (batch) => batch.map(({ sql, params }) => own.run(sql, params)),
    tables: async () => all(TABLES).map((row) => String(row["name"])),
    async applyStep(step) {
      db.exec(step);
    },
    async *read(table) {
      let rows: SqlRow[] = [];
      for (let last = 0; ;) {
        const count = rowsAtATime(rows);
        const sql = `SELECT rowid AS ${ROWID}, * FROM ${quotedName(table)} WHERE rowid > ? ORDER BY rowid LIMIT ?`;
        rows = all(sql, [last, count]);
        const read = rows.map(({ [ROWID]: id, ...row }) => {
          last = Number(id);
          return row;
        });
        if (read.length > 0) yield read;
        if (rows.length < count) return;
      }
    },
  };
}

const ROWID = "causey_rowid";
