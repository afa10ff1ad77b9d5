// Whether core's SQL is what SQLite and PostgreSQL share: every statement that the unit and contract suites run on
// core's tables is prepared by a real PostgreSQL, in WebAssembly (https://pglite.dev). `npm run check:sql` records the
// statements first; scripts/ok.ts has them from its own run of the suites and names the file.
import { PGlite } from "@electric-sql/pglite";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./step.ts";

/** Tables of core begin so; others belong to an adapter or a test. */
const coreTable = /\b(?:agents|auth|gateway|rendering|search|webhooks)_[a-z_]+/u;
/** Full text is behind an interface of its own (core/search/query/keyword-index.ts), which another database implements. */
const fullText = /\bsearch_fts_|\bUSING fts5\b/u;
const definition = /^\s*(?:CREATE|ALTER|DROP)\b/u;

/** SQLite's column types with their PostgreSQL names and the widths of their values. */
const types: readonly [RegExp, string][] = [
  [/\bBLOB\b/gu, "BYTEA"],
  [/\bINTEGER\b/gu, "BIGINT"],
  [/\bREAL\b/gu, "DOUBLE PRECISION"],
];

function toPostgres(sql: string): string {
  let count = 0;
  const numbered = sql.replaceAll("?", () => `$${(count += 1)}`);
  return types.reduce((text, [from, to]) => text.replaceAll(from, to), numbered);
}

/** The first kind of statement that made a table comes first: suites that use it may have run in any order. */
function byNeed(a: string, b: string): number {
  const rank = (sql: string): number =>
    /^\s*CREATE TABLE/u.test(sql) ? 0 : /^\s*ALTER/u.test(sql) ? 1 : definition.test(sql) ? 2 : 3;
  return rank(a) - rank(b);
}

async function record(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "causey-sql-"));
  const file = join(folder, "statements");
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "tests/unit", "tests/contract"];
  const { ok, output } = await run([process.execPath, ...vitest], { CAUSEY_TEST_SQL: file });
  if (!ok) console.error(output);
  const statements = ok ? read(file) : [];
  rmSync(folder, { recursive: true, force: true });
  return statements;
}

function read(file: string): string[] {
  const lines = new Set(readFileSync(file, "utf8").split("\n").filter(Boolean));
  return [...lines].map((line) => JSON.parse(line) as string);
}

/** Tests look into core's tables beside tables of their own: those statements are not core's. */
function isOfCore(sql: string): boolean {
  const tables = [...sql.matchAll(/\b(?:FROM|INTO|JOIN|UPDATE)\s+(\w+)/gu)].map(
    ([, name]) => name ?? "",
  );
  const foreign = tables.some((name) => name !== "json_each" && !coreTable.test(name));
  return coreTable.test(sql) && !fullText.test(sql) && !foreign;
}

const named = process.argv[2];
const statements = (named === undefined ? await record() : read(named))
  .filter(isOfCore)
  .toSorted(byNeed);
const database = new PGlite();
const refused: string[] = [];
for (const [index, sql] of statements.entries()) {
  const text = toPostgres(sql);
  try {
    await database.exec(definition.test(sql) ? text : `PREPARE s${index} AS ${text}`);
  } catch (error) {
    refused.push(`${error instanceof Error ? error.message : String(error)}\n  ${text}`);
  }
}
await database.close();
for (const line of refused) console.log(line);
console.log(`${statements.length} statements, ${refused.length} refused by PostgreSQL.`);
// No statements: nothing was recorded, so nothing was checked.
process.exitCode = refused.length > 0 || statements.length === 0 ? 1 : 0;
