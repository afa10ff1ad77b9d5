import { afterAll, beforeAll, expect, it } from "vitest";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

// More items than those whose chunks are looked up one by one: filters then look at the best of all chunks.
const COUNT = 800;
const GERMAN = 200;
const english = { filters: { lang: "en" }, retrieval_type: "keyword", max_num_results: 50 };

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest(
    {},
    {
      index_method: { vector: false, keyword: true },
      custom_metadata: [{ field_name: "lang", data_type: "text" }],
    },
  );
  const put = (n: number): Promise<unknown> => {
    // All German documents are better hits of "bread", and nearly the only ones of "needle".
    const german = n < GERMAN;
    const text = german
      ? "bread bread needle"
      : n === 799
        ? "bread with a needle"
        : "bread and more";
    return api.upload(`doc-${n}.md`, text, { metadata: { lang: german ? "de" : "en" } });
  };
  for (let n = 0; n < COUNT; n += 40) {
    await Promise.all(Array.from({ length: 40 }, (_, i) => put(n + i)));
  }
});
afterAll(() => api.close());

const keys = async (query: string, retrieval: Record<string, unknown>): Promise<string[]> =>
  (await api.search(query, retrieval)).map(({ item }) => item.key);

it("a filter that most items pass keeps the order of the others", async () => {
  const all = await keys("bread", { retrieval_type: "keyword", max_num_results: 50 });
  expect(all.every((key) => Number(/\d+/u.exec(key)?.[0]) < GERMAN)).toBe(true);
  const found = await keys("bread", english);
  expect(found).toHaveLength(50);
  expect(found.some((key) => Number(/\d+/u.exec(key)?.[0]) < GERMAN)).toBe(false);
});

it("a filter that most items pass finds the one hit behind those that it refuses", async () => {
  expect(await keys("needle", english)).toEqual(["doc-799.md"]);
});

it("a filter that few items pass, which are a good part of all, finds theirs alone", async () => {
  const german = { ...english, filters: { lang: "de" } };
  const found = await keys("needle bread", german);
  expect(found).toHaveLength(50);
  expect(found.every((key) => Number(/\d+/u.exec(key)?.[0]) < GERMAN)).toBe(true);
  expect(await keys("more", german)).toEqual([]);
});

it("a filter sees what was uploaded and deleted since it was used last", async () => {
  expect(await keys("thimble", english)).toEqual([]);
  const added = await api.upload("doc-new.md", "thimble", { metadata: { lang: "en" } });
  expect(await keys("thimble", english)).toEqual(["doc-new.md"]);
  await api.upload("doc-new.md", "thimble", { metadata: { lang: "de" } });
  expect(await keys("thimble", english)).toEqual([]);
  await api.upload("doc-new.md", "thimble", { metadata: { lang: "en" } });
  await api.call("DELETE", `/instances/main/items/${added.body.result.id}`);
  expect(await keys("thimble", english)).toEqual([]);
});
