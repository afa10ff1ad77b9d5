import { restoreKeywordIndexes } from "../../../core/search/query/restore-keyword-indexes.ts";
import type { SqlRow, Statement } from "../../../core/ports.ts";
import { type SchemaStep, stepSql } from "../../../core/sql/schema-step.ts";
import { progress } from "../api/progress.ts";
import { quotedName } from "../../../core/sql/sql-text.ts";
import type { MovedTables } from "./moved-tables.ts";

/** The result of a move: counts of all that was copied, and the tables that were left out. */
export interface MoveReport {
  readonly tables: number;
  readonly rows: number;
  readonly alarms: number;
  /** Search instances whose full-text index was made again from their rows: it is SQLite's. */
  readonly keywordIndexes: number;
  /** Tables of a program's own actors, which the command cannot make. */
  readonly leftOut: readonly { readonly table: string; readonly rows: number }[];
}

const SCHEMA = "causey_schema";
/** Tables of the adapters: of those that hold no state, each makes its own. */
const OWN = /^causey_(?!alarms$|clock$)/u;

/**
 * Copies all rows into empty tables that the same schema steps have made. Throws when a count differs at the end, and
 * what the caller's transactions hold is undone.
 */
export async function moveTables(
  from: MovedTables,
  to: MovedTables,
  known: ReadonlyMap<string, readonly SchemaStep[]>,
): Promise<MoveReport> {
  await makeTables(from, to, known);
  const [there, made] = [await from.tables(), new Set(await to.tables())];
  const state = there.filter((table) => !OWN.test(table));
  const counts = new Map<string, number>();
  for (const table of state) counts.set(table, await countOf(from, table));
  const moved = state.filter((table) => made.has(table));
  const total = moved.reduce((sum, table) => sum + (counts.get(table) ?? 0), 0);
  const bar = progress({ total, unit: "rows" });
  let rows = 0;
  try {
    for (const table of moved)
      for await (const some of from.read(table)) {
        await insert(to, table, some);
        bar.at((rows += some.length));
      }
  } finally {
    bar.end("");
  }
  for (const table of moved) await checkCount(to, table, counts.get(table) ?? 0);
  const keywordIndexes = to.dialect === "sqlite" ? await restoreKeywordIndexes(to) : 0;
  return {
    tables: moved.length,
    rows,
    alarms: counts.get("causey_alarms") ?? 0,
    keywordIndexes,
    leftOut: state
      .filter((table) => !made.has(table) && counts.get(table) !== 0)
      .map((table) => ({ table, rows: counts.get(table) ?? 0 })),
  };
}

/** Makes the tables as they are at the other end, which may be those of an older version. */
async function makeTables(
  from: MovedTables,
  to: MovedTables,
  known: ReadonlyMap<string, readonly SchemaStep[]>,
): Promise<void> {
  const rows = await from.all(`SELECT * FROM ${SCHEMA}`);
  const applied = new Map(rows.map((row) => [String(row["kind"]), row]));
  // In the order in which a server makes them: the own tables of a kind may build on shared ones.
  for (const [kind, steps] of known) {
    const row = applied.get(kind);
    const count = Number(row?.["steps"] ?? 0);
    if (count > steps.length)
      throw new Error(
        `The state holds "${kind}" at schema step ${count} and this version knows ${steps.length}: use the version that wrote it`,
      );
    for (const step of steps.slice(0, count)) await to.applyStep(stepSql(step));
    if (row !== undefined) await insert(to, SCHEMA, [row]);
  }
}

async function countOf(end: MovedTables, table: string): Promise<number> {
  const [row] = await end.all(`SELECT COUNT(*) AS n FROM ${quotedName(table)}`);
  return Number(row?.["n"]);
}

async function insert(to: MovedTables, table: string, rows: readonly SqlRow[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const places = columns.map(() => "?").join(", ");
  const sql = `INSERT INTO ${quotedName(table)} (${columns.map(quotedName).join(", ")}) VALUES (${places})`;
  const statements: Statement[] = rows.map((row) => ({
    sql,
    params: columns.map((column) => row[column] ?? null),
  }));
  await to.batch(statements).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The rows of ${table} cannot be copied: ${reason}`, { cause: error });
  });
}

async function checkCount(to: MovedTables, table: string, expected: number): Promise<void> {
  const count = await countOf(to, table);
  if (count !== expected)
    throw new Error(`${table} has ${count} rows instead of ${expected}: nothing was changed`);
}
