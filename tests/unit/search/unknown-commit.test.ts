import { expect, it } from "vitest";
import type { Sql } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { searchUnderTest } from "../../fakes/search-api.ts";

// PostgreSQL: the connection may break while it commits.
it("numbers chunks on after a change of which nobody knows whether it was stored", async () => {
  const cut = { isNext: false };
  const batchOf =
    (sql: Sql): Sql["batch"] =>
    async (statements, options) => {
      const results = await sql.batch(statements, options);
      const isMeant = statements.some((one) => one.sql.startsWith("INSERT INTO search_chunks"));
      if (!cut.isNext || !isMeant) return results;
      cut.isNext = false;
      throw new SqlError("unknown", "The connection broke at COMMIT");
    };
  const watched = (sql: Sql): Sql => Object.create(sql, { batch: { value: batchOf(sql) } }) as Sql;
  const search = await searchUnderTest({}, {}, undefined, {}, {}, { ms: 0, watched });
  await search.upload("before.md", "Mice live below the floor.");
  expect(await search.search("mice")).toHaveLength(1);
  cut.isNext = true;
  await search.upload("cut.md", "Cats sleep on warm roofs.");
  expect(cut.isNext).toBe(false);
  const after = await search.upload("after.md", "Dogs bark at the postman.");
  expect(after.body.result.status).toBe("completed");
  for (const [query, key] of [
    ["mice", "before.md"],
    ["cats", "cut.md"],
    ["dogs", "after.md"],
  ] as const) {
    const found = await search.search(query, { max_num_results: 1 });
    expect(found.map(({ item }) => item.key)).toEqual([key]);
  }
  await search.close();
});
