import type { ActorContext, SqlRow, Statement } from "../../ports.ts";
import { fromBytes } from "./dense.ts";
import { toBlock } from "./vector-block.ts";
import { addVectors } from "./vector-rows.ts";

/** Rows that are converted in one transaction; each has at most 1 MB. */
const CONVERTED = 16;
/** Bytes of a row of the former format, which said how many vectors lie in one. */
const FORMER_PART_BYTES = 1_000_000;

/**
 * Converts vectors stored with four bytes a number into rows of one byte a number. Goes on where a process that was killed
 * left off. Costs one look at an empty table when nothing is left to convert.
 */
export async function convertVectors({ name: actor, sql, system }: ActorContext): Promise<void> {
  for (;;) {
    const rows = await sql.all(
      `SELECT model, item_id, part, dimensions, data FROM search_item_vectors WHERE actor = ?
        ORDER BY model, item_id, part LIMIT ${CONVERTED}`,
      [actor],
    );
    if (rows.length === 0) return;
    const statements: Statement[] = [];
    for (const row of rows) {
      const [chunk] = await sql.all(
        "SELECT MIN(id) AS id FROM search_chunks WHERE actor = ? AND item_id = ?",
        [actor, row["item_id"] ?? null],
      );
      const first = chunk?.["id"] ?? null;
      if (first !== null) statements.push(...converted(actor, row, Number(first)));
      statements.push({
        sql: "DELETE FROM search_item_vectors WHERE actor = ? AND model = ? AND item_id = ? AND part = ?",
        params: [actor, row["model"] ?? null, row["item_id"] ?? null, row["part"] ?? null],
      });
    }
    await sql.batch(statements);
    await system.sleep(0);
  }
}

function converted(actor: string, row: SqlRow, first: number): Statement[] {
  const dimensions = Number(row["dimensions"]);
  const { data } = row;
  if (!(data instanceof Uint8Array) || !(dimensions > 0)) return [];
  const perPart = Math.max(1, Math.floor(FORMER_PART_BYTES / (dimensions * 4)));
  const block = toBlock(first + Number(row["part"]) * perPart, dimensions, fromBytes(data));
  return addVectors(actor, String(row["item_id"]), String(row["model"]), block);
}
