import type { Sql } from "../../ports.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { keywordIndexName } from "../state/instance-state.ts";
import { createKeywordIndex, fillKeywordIndex, tokenizerOf } from "../keyword/keyword-index.ts";

/** Makes the full-text tables of all instances from their chunks, in a database that has none; returns how many. */
export async function restoreKeywordIndexes(sql: Pick<Sql, "all" | "batch">): Promise<number> {
  let made = 0;
  // From now on chunks change without a new one, so no copy may be taken for that of these rows.
  await sql.batch([{ sql: "DELETE FROM search_keyword_positions" }]);
  for (const row of await sql.all("SELECT actor, settings FROM search_instances ORDER BY actor")) {
    // `as`: an instance stores its own settings.
    const settings = JSON.parse(String(row["settings"])) as InstanceSettings;
    if (!settings.index_method.keyword) continue;
    const actor = String(row["actor"]);
    const table = { actor, index: await keywordIndexName(actor) };
    const tokenizer = tokenizerOf(settings);
    await sql.batch(createKeywordIndex(table, tokenizer));
    await sql.batch(await fillKeywordIndex(sql, table, tokenizer));
    made += 1;
  }
  return made;
}
