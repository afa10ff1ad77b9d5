import { appendFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/**
 * Writes every SQL text that the tests run to the file `CAUSEY_TEST_SQL`, once per thread and one JSON string a line.
 * `scripts/check-sql.ts` prepares them on PostgreSQL.
 */
const file = process.env["CAUSEY_TEST_SQL"];
const seen = new Set<string>();

function record(sql: string): void {
  if (file === undefined || seen.has(sql)) return;
  seen.add(sql);
  appendFileSync(file, `${JSON.stringify(sql)}\n`);
}

// This file runs again for each test file of a thread, in which it has wrapped the prototype once.
if (file !== undefined && DatabaseSync.prototype.prepare.name !== "recordPrepare") {
  const { prepare, exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function recordPrepare(sql, ...rest) {
    record(sql);
    return prepare.call(this, sql, ...rest);
  };
  DatabaseSync.prototype.exec = function (sql) {
    record(sql);
    exec.call(this, sql);
  };
}
