import fc from "fast-check";
import { expect, it } from "vitest";
import type { Sql } from "../../../core/ports.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

// Facets, order and groups from columns in memory are what they are from rows, and what a look at all documents says.

type Value = string | number;
type Doc = {
  readonly words: readonly string[];
  readonly metadata: Readonly<Record<string, Value>>;
};

const WORDS = ["blue", "green", "red"];
/** In the order of UTF-16, which is not that of UTF-8. */
const KINDS = ["Zed", "cup", "pot", "ü", "\u{1F600}", "\uFF5E"];
const INSTANCES = ["main", "other"];
const settings = {
  index_method: { vector: false, keyword: true },
  custom_metadata: [
    { field_name: "kind", data_type: "text" },
    { field_name: "price", data_type: "number" },
  ],
};

const doc: fc.Arbitrary<Doc> = fc.record({
  words: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 4 }),
  metadata: fc.record(
    { kind: fc.constantFrom(...KINDS), price: fc.integer({ min: -2, max: 4 }) },
    { requiredKeys: [] },
  ),
});
const change = fc.record({
  instance: fc.constantFrom(...INSTANCES),
  key: fc.integer({ min: 0, max: 9 }).map((n) => `d${n}.md`),
  doc: fc.option(doc, { freq: 4 }),
});
const query = fc.record({
  words: fc.uniqueArray(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 2 }),
  facets: fc.uniqueArray(fc.constantFrom("kind", "price", "folder"), { minLength: 1 }),
  sort: fc
    .uniqueArray(fc.constantFrom("kind", "price", "filename"), { maxLength: 2 })
    .chain((fields) =>
      fc.tuple(...fields.map((one) => fc.constantFrom(`${one}:asc`, `${one}:desc`))),
    ),
  distinct: fc.option(fc.constantFrom("kind", "price", "key"), { nil: undefined }),
  least: fc.option(fc.integer({ min: -1, max: 3 })),
  limit: fc.integer({ min: 1, max: 8 }),
  ids: fc.constantFrom(["main"], INSTANCES),
});
type Query = typeof query extends fc.Arbitrary<infer Of> ? Of : never;

type Found = {
  readonly chunks: readonly { readonly item: { readonly key: string }; instance_id: string }[];
  readonly facet_distribution: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly facet_stats: unknown;
};

async function find(api: SearchUnderTest, asked: Query): Promise<Found> {
  const { words, facets, sort, distinct, least, limit, ids } = asked;
  const retrieval = {
    facets,
    sort,
    distinct,
    max_num_results: limit,
    ...(least !== null && { filters: { price: { $gte: least } } }),
  };
  const { status, body } = await api.call("POST", "/namespaces/default/search", {
    query: words.join(" "),
    ai_search_options: { retrieval, instance_ids: ids },
  });
  expect(status, JSON.stringify(body.errors)).toBe(200);
  // Each API has its own.
  return JSON.parse(
    JSON.stringify(body.result, (name, value: unknown) =>
      ["id", "timestamp"].includes(name) ? "" : value,
    ),
  );
}

type Stored = Doc & { readonly key: string; readonly instance: string };

function valueOf({ metadata, key }: Stored, field: string): Value | undefined {
  return field === "filename" ? key : field === "folder" ? "" : metadata[field];
}

/** Items without a value come last, whatever the direction. */
function byPlace(sort: readonly string[]): (a: Stored, b: Stored) => number {
  return (a, b) => {
    for (const entry of sort) {
      const [field = "", direction] = entry.split(":");
      const [x, y] = [valueOf(a, field), valueOf(b, field)];
      if (x === y) continue;
      if (x === undefined || y === undefined) return x === undefined ? 1 : -1;
      return x < y === (direction === "asc") ? -1 : 1;
    }
    return 0;
  };
}

/** Looks at all documents, one after the other. */
function expected(docs: readonly Stored[], asked: Query): { places: unknown[]; counts: unknown } {
  const { words, facets, sort, distinct, least, limit, ids } = asked;
  const matching = docs.filter(
    (one) =>
      ids.includes(one.instance) &&
      one.words.some((word) => words.includes(word)) &&
      (least === null || Number(one.metadata["price"] ?? Number.NaN) >= least),
  );
  const counts = Object.fromEntries(
    facets.map((field): [string, Record<string, number>] => {
      const count = new Map<string, number>();
      for (const one of matching) {
        const value = valueOf(one, field);
        if (value !== undefined) count.set(String(value), (count.get(String(value)) ?? 0) + 1);
      }
      return [field, Object.fromEntries(count)];
    }),
  );
  const groups = new Set<Value>();
  const first = matching.toSorted(byPlace(sort)).filter((one) => {
    const group =
      distinct === "key" ? `${one.instance} ${one.key}` : distinct && valueOf(one, distinct);
    const isNew = group === undefined || !groups.has(group);
    if (group !== undefined) groups.add(group);
    return isNew;
  });
  return { counts, places: first.slice(0, limit).map((one) => placeOf(one, sort)) };
}

function placeOf(one: Stored, sort: readonly string[]): unknown[] {
  return sort.map((entry) => valueOf(one, entry.split(":")[0] ?? "") ?? null);
}

it("are the same whether columns are kept or not, whatever changes between two searches", async () => {
  const steps = fc.array(
    fc.tuple(
      fc.array(change, { minLength: 1, maxLength: 8 }),
      fc.array(query, { minLength: 2, maxLength: 4 }),
    ),
    { minLength: 3, maxLength: 5 },
  );
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const apis = [
        await searchUnderTest({}, settings),
        await searchUnderTest({ vectorMemoryBytes: 0 }, settings),
      ];
      try {
        for (const api of apis) await api.call("POST", "/instances", { id: "other", ...settings });
        const docs = new Map<string, Stored & { readonly ids: readonly string[] }>();
        for (const [changes, queries] of all) {
          for (const { instance, key, doc: next } of changes) {
            const at = `${instance} ${key}`;
            const known = docs.get(at);
            if (next === null && known === undefined) continue;
            const ids: string[] = [];
            for (const [n, api] of apis.entries()) {
              if (next === null) {
                const path = `/namespaces/default/instances/${instance}/items/${known?.ids[n]}`;
                expect((await api.call("DELETE", path)).status).toBe(200);
              } else {
                const { metadata, words } = next;
                const { body } = await api.upload(key, words.join(" "), { metadata, instance });
                ids.push(body.result.id);
              }
            }
            if (next === null) docs.delete(at);
            else docs.set(at, { ...next, key, instance, ids });
          }
          for (const asked of queries) {
            const [kept, read] = await Promise.all(apis.map((api) => find(api, asked)));
            expect(kept).toEqual(read);
            const { counts, places } = expected([...docs.values()], asked);
            expect(kept?.facet_distribution).toEqual(counts);
            const shown = (kept?.chunks ?? []).map((one) =>
              docs.get(`${one.instance_id} ${one.item.key}`),
            );
            expect(shown.map((one) => one && placeOf(one, asked.sort))).toEqual(places);
          }
        }
      } finally {
        for (const api of apis) await api.close();
      }
    }),
    { numRuns: 6 },
  );
}, 60_000);

it("take no more memory than there is", async () => {
  const ITEMS = 10;
  const reads = async (vectorMemoryBytes: number): Promise<number[]> => {
    let count = 0;
    const watched = (sql: Sql): Sql => ({
      ...sql,
      all: (text, ...rest) => {
        if (text.includes("FROM search_meta")) count += 1;
        return sql.all(text, ...rest);
      },
    });
    const skew = { ms: 0, watched };
    const api = await searchUnderTest({ vectorMemoryBytes }, settings, undefined, {}, {}, skew);
    for (let n = 0; n < ITEMS; n++)
      await api.upload(`${n}.md`, "blue", { metadata: { kind: `kind ${n}` } });
    const counts: number[] = [];
    for (let n = 0; n < 3; n++) {
      count = 0;
      await api.search("blue", { facets: ["kind"] });
      counts.push(count);
    }
    await api.close();
    return counts;
  };
  expect(await reads(1_000_000)).toEqual([1, 0, 0]);
  // Room for the items, not for their values.
  expect(await reads(ITEMS * 100)).toEqual([1, 1, 1]);
});

it("order results of one place and one score by their keys", async () => {
  const api = await searchUnderTest({}, settings);
  for (let n = 40; n > 0; n--) await api.upload(`${n + 10}.md`, "blue", { metadata: { price: 1 } });
  const found = await api.search("blue", { sort: ["price:asc"], max_num_results: 3 });
  expect(found.map(({ item }) => item.key)).toEqual(["11.md", "12.md", "13.md"]);
  await api.close();
});
