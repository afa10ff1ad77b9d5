import { afterEach, describe, expect, it } from "vitest";
import {
  custom_metadata,
  keysOf,
  type RefinedResult,
  searchRefined,
} from "../../fakes/refined-search.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

// Facets, sorting, grouping and highlighting.

let api: SearchUnderTest;
afterEach(() => api.close());

const things: readonly (readonly [string, string, Record<string, unknown>])[] = [
  ["a/cup.md", "A blue cup for tea.", { kind: "cup", price: 7, sold: true, made: "2024-05-01" }],
  ["a/mug.md", "A blue mug, a mug, a mug for tea.", { kind: "cup", price: 5, sold: false }],
  [
    "b/pot.md",
    "A pot for tea, and tea, and blue tea.",
    { kind: "pot", price: 30, made: "2020-01-01" },
  ],
  ["b/bowl.md", "A bowl without a colour.", { kind: "bowl", price: 1 }],
  ["c/tray.md", "A blue tray.", {}],
];

async function open(settings: Record<string, unknown> = {}): Promise<void> {
  api = await searchUnderTest({}, { custom_metadata, ...settings });
  for (const [key, text, metadata] of things) await api.upload(key, text, { metadata });
}

type Searched = Parameters<typeof searchRefined> extends [unknown, ...infer Rest] ? Rest : never;
const search = (...asked: Searched): Promise<RefinedResult> => searchRefined(api, ...asked);
const keyword = { retrieval_type: "keyword" };

describe("facets", () => {
  it("count the items that match the words and the filter, whatever the limit", async () => {
    await open();
    const found = await search("blue", {
      ...keyword,
      facets: ["kind", "Price", "sold", "made", "folder"],
      max_num_results: 1,
    });
    expect(found.chunks).toHaveLength(1);
    expect(found.facet_distribution).toEqual({
      kind: { cup: 2, pot: 1 },
      price: { 5: 1, 7: 1, 30: 1 },
      sold: { true: 1, false: 1 },
      made: { "2024-05-01T00:00:00.000Z": 1, "2020-01-01T00:00:00.000Z": 1 },
      folder: { "a/": 2, "b/": 1, "c/": 1 },
    });
    expect(found.facet_stats).toEqual({
      price: { min: 5, max: 30 },
      made: { min: 1577836800, max: 1714521600 },
    });
    const filtered = await search("blue", {
      ...keyword,
      facets: ["kind"],
      filters: { folder: "a/" },
    });
    expect(filtered.facet_distribution).toEqual({ kind: { cup: 2 } });
  });

  it("follow how words are combined", async () => {
    await open();
    const of = async (mode: object): Promise<unknown> =>
      (await search("blue tea", { ...keyword, ...mode, facets: ["folder"] })).facet_distribution;
    expect(await of({ keyword_match_mode: "and" })).toEqual({ folder: { "a/": 2, "b/": 1 } });
    expect(await of({})).toEqual({ folder: { "a/": 2, "b/": 1, "c/": 1 } });
  });

  it("count an item once, however many of its chunks match, and the hundred most frequent values", async () => {
    api = await searchUnderTest(
      {},
      { custom_metadata, chunk_size: 64, index_method: { vector: false, keyword: true } },
    );
    await api.upload("long.md", "blue words. ".repeat(400), { metadata: { kind: "a long one" } });
    for (let n = 0; n < 110; n++)
      await api.upload(`${n}.md`, "blue", { metadata: { kind: `k${n % 105}` } });
    const { facet_distribution: counts } = await search("blue", { facets: ["kind"] });
    expect(Object.keys(counts?.["kind"] ?? {})).toHaveLength(100);
    expect(counts?.["kind"]).toMatchObject({ k0: 2, k4: 2, "a long one": 1 });
  });

  it("add up over instances", async () => {
    await open();
    await api.call("POST", "/instances", { id: "other", custom_metadata });
    const metadata = { kind: "cup", price: 100 };
    await api.upload("z.md", "A blue cup.", { instance: "other", metadata });
    const found = await search(
      "blue",
      { ...keyword, facets: ["kind", "price"], sort: ["price:desc"], max_num_results: 3 },
      { instance_ids: ["main", "other"] },
      "/namespaces/default/search",
    );
    expect(found.facet_distribution?.["kind"]).toEqual({ cup: 3, pot: 1 });
    expect(found.facet_stats).toEqual({ price: { min: 5, max: 100 } });
    expect(keysOf(found)).toEqual(["z.md", "b/pot.md", "a/cup.md"]);
  });

  it("are not told unless asked for, and unknown fields are refused with the nearest", async () => {
    await open();
    expect(Object.keys(await search("blue", {})).toSorted()).toEqual([
      "chunks",
      "query_kind",
      "search_query",
    ]);
    for (const option of [{ facets: ["prise"] }, { sort: ["prise:asc"] }, { distinct: "prise" }])
      await expect(search("blue", option)).rejects.toThrow('did you mean "price"');
    await expect(search("blue", { facets: ["a", "a"] })).rejects.toThrow("different fields");
    await expect(search("blue", { sort: ["price"] })).rejects.toThrow("field:asc");
    await expect(search("blue", { sort: ["price:asc", "price:desc"] })).rejects.toThrow(
      "different",
    );
  });
});

describe("sort", () => {
  it.each(["keyword", "hybrid"])(
    "orders all that matches, items without a value last: %s",
    async (type) => {
      await open();
      const sorted = async (...sort: string[]): Promise<string[]> =>
        keysOf(
          await search("blue", { retrieval_type: type, sort, keyword_match_mode: "and" }),
        ).filter((key) => key !== "b/bowl.md");
      expect(await sorted("price:asc")).toEqual(["a/mug.md", "a/cup.md", "b/pot.md", "c/tray.md"]);
      expect(await sorted("price:desc")).toEqual(["b/pot.md", "a/cup.md", "a/mug.md", "c/tray.md"]);
      expect(await sorted("kind:asc", "price:asc")).toEqual([
        "a/mug.md",
        "a/cup.md",
        "b/pot.md",
        "c/tray.md",
      ]);
      expect(await sorted("sold:asc")).toEqual([
        "a/mug.md",
        "a/cup.md",
        expect.any(String),
        expect.any(String),
      ]);
    },
  );

  it("does without the reranking of the instance, and is refused beside that of the request", async () => {
    await open({ reranking: true });
    expect(keysOf(await search("blue", { ...keyword, sort: ["price:desc"] }))[0]).toBe("b/pot.md");
    const both = search("blue", { sort: ["price:desc"] }, { reranking: { enabled: true } });
    await expect(both).rejects.toThrow("reranking orders too");
  });
});

describe("distinct", () => {
  it("shows each item once, even where one has all the best chunks", async () => {
    api = await searchUnderTest(
      {},
      { custom_metadata, chunk_size: 64, index_method: { vector: false, keyword: true } },
    );
    await api.upload("long.md", "blue words. ".repeat(2500));
    for (const key of ["x.md", "y.md", "z.md"]) await api.upload(key, `blue ${"grey ".repeat(20)}`);
    expect(new Set(keysOf(await search("blue", {})))).toEqual(new Set(["long.md"]));
    const apart = keysOf(await search("blue", { distinct: "key" }));
    expect(apart.toSorted()).toEqual(["long.md", "x.md", "y.md", "z.md"]);
  });

  it("shows each value of a field once, and all items without one", async () => {
    await open();
    expect(keysOf(await search("blue", { ...keyword, distinct: "kind" })).toSorted()).toEqual([
      expect.stringMatching(/^a\//),
      "b/pot.md",
      "c/tray.md",
    ]);
    const sorted = await search("blue", {
      ...keyword,
      distinct: "kind",
      sort: ["price:asc"],
      max_num_results: 2,
    });
    expect(keysOf(sorted)).toEqual(["a/mug.md", "b/pot.md"]);
  });
});

describe("highlighting", () => {
  const all = { attributes_to_highlight: ["*"], show_matches_position: true, ...keyword };
  const first = async (
    query: string,
    retrieval: object = {},
  ): Promise<RefinedResult["chunks"][number] | undefined> =>
    (await search(query, { ...all, ...retrieval })).chunks[0];

  it("marks the words of the query by their stems, with places in bytes of UTF-8", async () => {
    api = await searchUnderTest();
    await api.upload("a.md", "# Nesting\n\nÜber Nester: the herons' <nest> nests.");
    const found = await first("nest heron");
    expect(found?.formatted).toEqual({
      text: "# <em>Nesting</em>\n\nÜber Nester: the <em>herons</em>' <<em>nest</em>> <em>nests</em>.",
      heading: "<em>Nesting</em>",
    });
    const bytes = new TextEncoder().encode(found?.text);
    const words = found?.matches_position?.["text"]?.map(({ start, length }) =>
      new TextDecoder().decode(bytes.subarray(start, start + length)),
    );
    expect(words).toEqual(["Nesting", "herons", "nest", "nests"]);
    expect(found?.matches_position?.["heading"]).toEqual([{ start: 0, length: 7 }]);
  });

  it("marks phrases, synonyms and corrected words, and nothing of what was not asked for", async () => {
    api = await searchUnderTest({}, { synonyms: { bird: ["grey heron"] }, typo_tolerance: {} });
    await api.upload("a.md", "A grey heron, grey, a heron; the rivers of Kenya.");
    const tags = { highlight_pre_tag: "[", highlight_post_tag: "]" };
    expect((await first("bird", tags))?.formatted?.["text"]).toBe(
      "A [grey heron], grey, a heron; the rivers of Kenya.",
    );
    expect((await first("kenia", tags))?.formatted?.["text"]).toContain("[Kenya]");
    const phrase = await first('"rivers of"', { ...tags, query_operators: true });
    expect(phrase?.formatted?.["text"]).toContain("the [rivers of] Kenya");
    const [plain] = (await search("bird", keyword)).chunks;
    expect(plain).not.toHaveProperty("formatted");
    expect(plain).not.toHaveProperty("matches_position");
    expect(await first("bird", { metadata_only: true })).not.toHaveProperty("formatted");
  });

  it.each([
    ["東京都に行く", "京都", "東[京都]に行く"],
    ["東京都に行く", "東京都", "[東京都]に行く"],
    ["猫が好き", "猫", "[猫]が好き"],
    ["ｶﾞｽ会社", "ガス", "[ｶﾞｽ]会社"],
    ["Die Straße", "strasse", "Die [Straße]"],
    ["cafe\u0301 au lait", "café", "[cafe\u0301] au lait"],
    ["ฉันกินข้าว", "ข้าว", "ฉันกิน[ข้าว]"],
  ])("marks %s for %s", async (text, query, marked) => {
    api = await searchUnderTest();
    await api.upload("a.txt", text, { type: "text/plain" });
    const tags = { highlight_pre_tag: "[", highlight_post_tag: "]" };
    expect((await first(query, tags))?.formatted?.["text"]).toBe(marked);
  });

  it("marks parts of words where the index knows runs of three characters", async () => {
    api = await searchUnderTest({}, { indexing_options: { keyword_tokenizer: "trigram" } });
    await api.upload("a.md", "Donaudampfschiff, DAMPFE");
    expect((await first("dampf"))?.formatted?.["text"]).toBe(
      "Donau<em>dampf</em>schiff, <em>DAMPF</em>E",
    );
  });
});
