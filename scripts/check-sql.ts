// Whether core's SQL is what SQLite and PostgreSQL share: every statement that the unit and contract suites run on
// core's tables is prepared by a real PostgreSQL. `npm run check:sql` records the statements first; scripts/ok.ts has them
// from its own run of the suites and names the file.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadDriver } from "../adapters/postgres/driver.ts";
import { statementTexts, toPostgresSchema } from "../adapters/postgres/statement-text.ts";
import { postgresStarter } from "../tests/config/postgres-starter.ts";
import { runningPostgres } from "../tests/platform/postgres-databases.ts";
import { run } from "./step.ts";

/** Tables of core begin so; others belong to an adapter or a test. */
const coreTable = /\b(?:agents|auth|gateway|rendering|search|webhooks)_[a-z_]+/u;
/** Full text is behind an interface of its own (core/search/keyword/keyword-index.ts): it is SQLite's, and beside PostgreSQL it has a database of its own. */
const fullText = /\bsearch_fts_|\bsearch_copies\b|\bUSING fts5\b|\bWITHOUT ROWID\b/u;
const definition = /^\s*(?:CREATE|ALTER|DROP)\b/u;

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
  // Core drops no column, and asks for no plan: tests do, of older tables and of SQLite.
  if (/\bDROP COLUMN\b|^EXPLAIN\b/u.test(sql)) return false;
  const foreign = tables.some((name) => name !== "json_each" && !coreTable.test(name));
  return coreTable.test(sql) && !fullText.test(sql) && !foreign;
}

/** Returns what PostgreSQL says of each statement that it refuses. */
async function refusedBy(url: string, statements: readonly string[]): Promise<string[]> {
  const client = (await loadDriver())(url, { max: 1, onnotice: () => undefined });
  const textOf = statementTexts();
  const refused: string[] = [];
  for (const [index, sql] of statements.entries()) {
    const text = definition.test(sql)
      ? toPostgresSchema(sql)
      : `PREPARE s${index} AS ${textOf(sql).text}`;
    await client.unsafe(text).catch((error: unknown) => {
      refused.push(`${error instanceof Error ? error.message : String(error)}\n  ${text}`);
    });
  }
  await client.end();
  return refused;
}

async function check(): Promise<number> {
  const starter = await postgresStarter();
  try {
    const postgres = await runningPostgres(starter.address);
    if ("lacks" in postgres) {
      console.log(`Nothing was checked: ${postgres.lacks}.`);
      return 0;
    }
    const named = process.argv[2];
    const all = named === undefined ? await record() : read(named);
    const statements = all.filter(isOfCore).toSorted(byNeed);
    const refused = await refusedBy(postgres.url, statements);
    for (const line of refused) console.log(line);
    console.log(`${statements.length} statements, ${refused.length} refused by PostgreSQL.`);
    // No statements: nothing was recorded, so nothing was checked.
    return refused.length > 0 || statements.length === 0 ? 1 : 0;
  } finally {
    await starter.stop();
  }
}

process.exitCode = await check();
