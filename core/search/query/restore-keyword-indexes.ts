import type { Sql } from "../../ports.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { keywordIndexName } from "../state/instance-state.ts";
import { createKeywordIndex, fillKeywordIndex, tokenizerOf } from "./keyword-index.ts";

/** Makes the full-text tables of all instances from their chunks, in a database that has none; returns how many. */
export async function restoreKeywordIndexes(
  sql: Pick<Sql, "all" | "batch" | "dialect">,
): Promise<number> {
  let made = 0;
  for (const row of await sql.all("SELECT actor, settings FROM search_instances ORDER BY actor")) {
    // `as`: an instance stores its own settings.
    const settings = JSON.parse(String(row["settings"])) as InstanceSettings;
    if (!settings.index_method.keyword) continue;
    const actor = String(row["actor"]);
    const table = { actor, index: await keywordIndexName(actor), context: { sql } };
    await sql.batch(createKeywordIndex(table, settings));
    await sql.batch(await fillKeywordIndex(table, tokenizerOf(settings)));
    made += 1;
  }
  return made;
}
