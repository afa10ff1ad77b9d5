import { expect, it } from "vitest";
import type { Sql } from "../../../core/ports.ts";
import { searchUnderTest } from "../../fakes/search-api.ts";

/** Full-text tables, as plans name them. */
const FULL_TEXT = /\bVIRTUAL TABLE INDEX \d+:.*M\d/u;

interface Plans {
  readonly watched: (sql: Sql) => Sql;
  /** The steps of each query, in the order of their loops. */
  readonly steps: Map<string, readonly PlanStep[]>;
}

interface PlanStep {
  readonly parent: number;
  readonly detail: string;
}

function plans(): Plans {
  const steps: Plans["steps"] = new Map();
  const watched = (sql: Sql): Sql => {
    const all: Sql["all"] = async (text, params, options) => {
      if (/\bMATCH \?/u.test(text) && !steps.has(text)) {
        const rows = await sql.all(`EXPLAIN QUERY PLAN ${text}`, params);
        steps.set(
          text,
          rows.map((row) => ({ parent: Number(row["parent"]), detail: String(row["detail"]) })),
        );
      }
      return sql.all(text, params, options);
    };
    return Object.create(sql, { all: { value: all } }) as Sql;
  };
  return { watched, steps };
}

it("no search runs full text once per row of another table", async () => {
  const { watched, steps } = plans();
  const custom_metadata = [{ field_name: "kind", data_type: "text" }];
  const api = await searchUnderTest({}, { custom_metadata }, undefined, {}, {}, { ms: 0, watched });
  for (let n = 0; n < 30; n++)
    await api.upload(`doc-${n}.md`, `Document ${n} about bread and butter.`, {
      metadata: { kind: `k${n % 3}` },
    });
  const searches: readonly Record<string, unknown>[] = [
    {},
    { facets: ["kind"] },
    { sort: ["kind:asc"] },
    { distinct: "kind" },
    { filters: { kind: "k1" } },
    { filters: { filename: "doc-1.md" } },
    { facets: ["kind"], sort: ["kind:desc"], filters: { kind: "k2" } },
    { query_operators: true },
    { typo_tolerance: { enabled: true } },
    { prefix: true, typo_tolerance: { enabled: true } },
  ];
  for (const retrieval of searches)
    for (const retrieval_type of ["keyword", "hybrid"])
      for (const keyword_match_mode of ["and", "or"])
        for (const query of ["bread butter", '"bread and" -cheese', "braed"])
          await api.search(query, { ...retrieval, retrieval_type, keyword_match_mode });
  expect(steps.size).toBeGreaterThan(3);
  for (const [text, plan] of steps)
    for (const [at, { parent, detail }] of plan.entries()) {
      const outer = plan
        .slice(0, at)
        .filter((one) => one.parent === parent && /^(?:SCAN|SEARCH)/u.test(one.detail));
      if (FULL_TEXT.test(detail)) expect(outer, `${detail} of ${text}`).toEqual([]);
    }
  expect([...steps.values()].flat().filter(({ detail }) => FULL_TEXT.test(detail))).not.toEqual([]);
  await api.close();
});

it("an order reads the best of a place that all items share, and groups no more than there are", async () => {
  let most = 0;
  const watched = (sql: Sql): Sql => {
    const all: Sql["all"] = async (text, params, options) => {
      const rows = await sql.all(text, params, options);
      if (/\bMATCH \?/u.test(text)) most = Math.max(most, rows.length);
      return rows;
    };
    return Object.create(sql, { all: { value: all } }) as Sql;
  };
  const custom_metadata = [{ field_name: "kind", data_type: "text" }];
  const index_method = { keyword: true, vector: false };
  const settings = { custom_metadata, index_method };
  const api = await searchUnderTest({}, settings, undefined, {}, {}, { ms: 0, watched });
  const sections = Array.from(
    { length: 100 },
    (_, at) => `# ${at}\n\nBread${" and butter".repeat(1 + at)}.`,
  );
  for (let n = 0; n < 12; n++)
    await api.upload(`doc-${n}.md`, sections.join("\n\n"), {
      metadata: { kind: n % 2 === 0 ? "even" : "odd" },
    });
  const kinds = async (retrieval: Record<string, unknown>): Promise<string[]> =>
    (await api.search("bread butter", retrieval)).map(({ item: { key } }) =>
      Number(/\d+/u.exec(key)) % 2 === 0 ? "even" : "odd",
    );
  expect(await kinds({ sort: ["kind:asc"], max_num_results: 5 })).toEqual(Array(5).fill("even"));
  expect(most).toBeLessThanOrEqual(300);
  expect(await kinds({ distinct: "kind" })).toHaveLength(2);
  expect(most).toBeLessThanOrEqual(300);
  expect(await kinds({ sort: ["kind:desc"], distinct: "kind" })).toEqual(["odd", "even"]);
  await api.close();
});
