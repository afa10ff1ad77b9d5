import { afterEach, describe, expect, it } from "vitest";
import { withinBudget } from "../../../core/search/query/completions.ts";
import { matchExpression } from "../../../core/search/query/keyword-plan.ts";
import { spelled } from "../../../core/search/query/typo-spellings.ts";
import { readOperators } from "../../../core/search/terms/read-operators.ts";
import { stem } from "../../../core/search/text/porter.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

// Phrases and exclusions, synonyms, typing errors: what users of search engines type, and what operators set.

let api: SearchUnderTest;
afterEach(() => api.close());

const birds: readonly (readonly [string, string])[] = [
  ["heron.md", "The blue heron nests near the river. It eats fish."],
  ["nest.md", "A heron that is not blue: its nest lies in the reeds of the river."],
  ["tern.md", "Terns follow the river to the sea, far from any nest."],
  ["tokyo.md", "東京都の鳥はユリカモメです。"],
];

async function open(settings: Record<string, unknown> = {}): Promise<void> {
  api = await searchUnderTest({}, settings);
  for (const [key, text] of birds) await api.upload(key, text);
}

const keys = async (query: string, retrieval: Record<string, unknown> = {}): Promise<string[]> =>
  (await api.search(query, { match_threshold: 0, ...retrieval })).map(({ item }) => item.key);

const refusal = async (query: string, retrieval: Record<string, unknown>): Promise<unknown[]> => {
  const { status, body } = await api.call("POST", "/instances/main/search", {
    query,
    ai_search_options: { retrieval },
  });
  return [status, body.errors[0]?.message];
};

describe("query_operators", () => {
  it.each(["keyword", "vector", "hybrid"])("hold for %s searches", async (type) => {
    await open();
    const search = (query: string): Promise<string[]> =>
      keys(query, { retrieval_type: type, query_operators: true });
    expect(await search('"blue heron" river')).toEqual(["heron.md"]);
    expect((await search("river -reeds")).toSorted()).toEqual(["heron.md", "tern.md"]);
    expect(await search('river -"blue heron" -terns')).toEqual(["nest.md"]);
    expect(await search("“東京都”")).toEqual(["tokyo.md"]);
    expect(await search('"heron blue"')).toEqual([]);
  });

  it("are off unless the request or the instance asks for them", async () => {
    await open();
    expect((await keys("river -reeds", { retrieval_type: "keyword" })).toSorted()).toEqual([
      "heron.md",
      "nest.md",
      "tern.md",
    ]);
    await api.call("PUT", "/instances/main", { retrieval_options: { query_operators: true } });
    const found = await keys("river -reeds", { retrieval_type: "keyword" });
    expect(found.toSorted()).toEqual(["heron.md", "tern.md"]);
    expect(await keys("river -reeds", { query_operators: false })).toContain("nest.md");
  });

  it("work with runs of three characters", async () => {
    await open({ indexing_options: { keyword_tokenizer: "trigram" } });
    const operators = { retrieval_type: "keyword", query_operators: true };
    expect(await keys('"blue heron"', operators)).toEqual(["heron.md"]);
    expect(await keys("river -reeds -terns", operators)).toEqual(["heron.md"]);
  });

  it("are refused where they cannot be followed", async () => {
    await open({ index_method: { vector: true, keyword: false } });
    const on = { query_operators: true };
    expect(await refusal("river -reeds", on)).toEqual([400, expect.stringContaining("no keyword")]);
    expect(await refusal("-reeds", on)).toEqual([400, expect.stringContaining("only excludes")]);
    const many = Array.from({ length: 17 }, (_, n) => `-a${n}`).join(" ");
    expect(await refusal(`x ${many}`, on)).toEqual([400, expect.stringContaining("more than 16")]);
  });

  it("leave hyphens, signs of numbers and single quotation marks alone", () => {
    const left = "well-known -  a-b 5-3 it's";
    expect(readOperators(left)).toEqual({ words: left, required: [], excluded: [] });
    expect(readOperators('a "b c')).toEqual({ words: "a", required: ["b c"], excluded: [] });
    expect(readOperators('a "" b')).toMatchObject({ required: [], excluded: [] });
  });

  it("never fail on any text", async () => {
    await open();
    for (const query of [
      'a "\0" b',
      'x -"',
      '"""" y',
      'z -\u{1F600} "NEAR(" -OR',
      '"*" a',
      `"${"w ".repeat(3000)}" a`,
    ])
      await keys(query, { query_operators: true });
  });
});

describe("synonyms", () => {
  const synonyms = {
    seabird: ["tern", "gull"],
    "waterside plants": ["reeds"],
    Kahlschlag: ["nest"],
  };

  it("count as the word, and only that way round", async () => {
    await open({ synonyms });
    const words = { retrieval_type: "keyword" };
    expect(await keys("seabirds", words)).toEqual(["tern.md"]);
    expect(await keys("seabird river", { ...words, keyword_match_mode: "and" })).toEqual([
      "tern.md",
    ]);
    expect(await keys("waterside plant", { ...words, keyword_match_mode: "and" })).toEqual([
      "nest.md",
    ]);
    expect(await keys("plants", words)).toEqual([]);
    await api.upload("own.md", "One seabird.");
    expect(await keys("tern", words)).toEqual(["tern.md"]);
    expect((await keys("seabird", words)).toSorted()).toEqual(["own.md", "tern.md"]);
  });

  it("count when a chunk is judged by how much of the question it holds", async () => {
    await open({ synonyms });
    const [found] = await api.search("seabird", { retrieval_type: "keyword" });
    expect(found?.scoring_details.coverage).toBe(1);
    expect(found?.score).toBe(1);
  });

  it("are checked, and go with null", async () => {
    await open();
    const put = async (value: unknown): Promise<unknown[]> => {
      const { status, body } = await api.call("PUT", "/instances/main", { synonyms: value });
      return [status, body.errors[0]?.message];
    };
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`w${n}`, ["x"]]));
    expect(await put(many)).toEqual([400, expect.stringContaining("at most 1000")]);
    expect(await put({ a: Array.from({ length: 17 }, () => "x") })).toEqual([
      400,
      expect.any(String),
    ]);
    expect(await put({ "!": ["x"] })).toEqual([400, expect.any(String)]);
    expect(await put({ tern: ["heron"] })).toEqual([200, undefined]);
    expect(await keys("terns", { retrieval_type: "keyword" })).toHaveLength(3);
    expect(await put(null)).toEqual([200, undefined]);
    expect(await keys("terns", { retrieval_type: "keyword" })).toEqual(["tern.md"]);
  });
});

describe("prefix", () => {
  const words = { retrieval_type: "keyword", prefix: true };

  it("takes the last word for the beginning of one", async () => {
    await open();
    await api.upload(
      "plants.md",
      "Photosynthesis and computation. The theory of a relational base.",
    );
    for (const [query, found] of [
      ["riv", ["heron.md", "nest.md", "tern.md"]],
      ["blue her", ["heron.md", "nest.md"]],
      ["photos", ["plants.md"]],
      // Longer than the stem that the index holds.
      ["computati", ["plants.md"]],
      ["nesti", ["heron.md", "nest.md", "tern.md"]],
      ["relatio", ["plants.md"]],
      ["theo", ["plants.md"]],
    ] as const)
      expect([query, (await keys(query, words)).toSorted()]).toEqual([query, found]);
    for (const query of ["photos.", "nes blue-", "p", "zzz"])
      expect([query, await keys(query, { ...words, keyword_match_mode: "and" })]).toEqual([
        query,
        [],
      ]);
    expect(await keys("photos", { retrieval_type: "keyword" })).toEqual([]);
  });

  it("needs all other words, and marks what it found", async () => {
    await open();
    const all = { ...words, keyword_match_mode: "and", attributes_to_highlight: ["text"] };
    const [found, ...others] = await api.search("blue fish ne", all);
    expect([found, others]).toMatchObject([
      {
        item: { key: "heron.md" },
        formatted: { text: expect.stringContaining("<em>nests</em>") },
        scoring_details: { coverage: 1 },
      },
      [],
    ]);
    expect(await keys("terns ree", all)).toEqual([]);
  });

  it("reads over typing errors in what was typed", async () => {
    await open({ typo_tolerance: {} });
    await api.upload("plants.md", "Photosynthesis.");
    for (const query of ["phottosyn", "photsyn", "phtosynth", "photisynt"])
      expect([query, await keys(query, words)]).toEqual([query, ["plants.md"]]);
    expect(await keys("phottosyn", { retrieval_type: "keyword" })).toEqual([]);
    expect(await keys("phottosyn.", words)).toEqual([]);
  });

  it("leaves runs of three characters and indexes of vectors as they are", async () => {
    await open({ indexing_options: { keyword_tokenizer: "trigram" } });
    expect(await keys("blue her", words)).toContain("heron.md");
    await api.close();
    await open({ index_method: { vector: true, keyword: false } });
    expect(await refusal("blue her", { prefix: true })).toEqual([200, undefined]);
  });

  it("asks for a bounded number of words in a bounded number of chunks", () => {
    const many = Array.from(
      { length: 30 },
      (_, n) => [`pre${"abcdefgh".charAt(n % 8)}x${n}`, 10] as const,
    );
    expect(withinBudget(many)).toHaveLength(12);
    const large = [
      ["frequent", 20_001],
      ["known", 15_000],
      ["further", 6000],
      ["rare", 5000],
    ] as const;
    expect(withinBudget(large)).toEqual(["known", "rare"]);
    expect(withinBudget(large, 5500)).toEqual(["rare"]);
    expect(withinBudget([["the", 3]])).toEqual([]);
  });

  it("looks for frequent words that begin like the last one only together with the other words", () => {
    const begun = { terms: ["he"], others: ["heron", "hen"], frequent: ["heron"] };
    const match = (mode: "and" | "or", ...others: string[]): string | null => {
      const all = [...others.map((one) => ({ terms: [one], others: [] })), begun];
      return matchExpression({ words: all, required: [], excluded: [] }, mode);
    };
    expect(match("and", "blue")).toBe('"blue" AND ("he" OR "heron" OR "hen")');
    expect(match("or", "blue")).toBe('"blue" OR ("he" OR "hen")');
    expect(match("or")).toBe('("he" OR "heron" OR "hen")');
  });
});

describe("typo_tolerance", () => {
  const words = { retrieval_type: "keyword" };

  it("finds words that the instance knows for words that it does not know", async () => {
    await open({ typo_tolerance: {} });
    expect((await keys("herno", words)).toSorted()).toEqual(["heron.md", "nest.md"]);
    expect(await keys("folow", words)).toEqual(["tern.md"]);
    const [found] = await api.search("herno", words);
    expect(found?.scoring_details.coverage).toBe(1);
    // Words of up to four letters, a wrong first letter, and two errors in a short word.
    for (const query of ["netz", "jeron", "hxrxn"]) expect(await keys(query, words)).toEqual([]);
  });

  it("never widens a word that the instance knows", async () => {
    await open({ typo_tolerance: {} });
    await api.upload("mistyped.md", "A hreon.");
    expect((await keys("heron", words)).toSorted()).toEqual(["heron.md", "nest.md"]);
    expect(await keys("hreon", words)).toEqual(["mistyped.md"]);
  });

  it("is off unless the instance or the request asks for it", async () => {
    await open();
    expect(await keys("herno", words)).toEqual([]);
    expect(await keys("herno", { ...words, typo_tolerance: {} })).toHaveLength(2);
    await api.call("PUT", "/instances/main", { typo_tolerance: { enabled: true } });
    expect(await keys("herno", words)).toHaveLength(2);
    expect(await keys("herno", { ...words, typo_tolerance: { enabled: false } })).toEqual([]);
  });

  it("follows the sizes and the words that are excepted", async () => {
    await open();
    const tolerant = (query: string, typo_tolerance: unknown): Promise<string[]> =>
      keys(query, { ...words, typo_tolerance });
    const sizes = { one_typo: 3, two_typos: 5 };
    expect(await tolerant("nesz", { min_word_size_for_typos: sizes })).not.toEqual([]);
    expect(await tolerant("hxrxn", { min_word_size_for_typos: sizes })).toHaveLength(2);
    expect(await tolerant("herno", { min_word_size_for_typos: { one_typo: 6 } })).toEqual([]);
    expect(await tolerant("herno", { disable_on_words: ["HERNO"] })).toEqual([]);
    const [status, message] = await refusal("x", {
      typo_tolerance: { min_word_size_for_typos: { one_typo: 10 } },
    });
    expect([status, message]).toEqual([400, expect.stringContaining("one_typo")]);
    expect((await refusal("x", { typo_tolerance: { enabld: true } }))[1]).toContain("enabld");
  });

  it("knows the words that came and went", async () => {
    await open({ typo_tolerance: {} });
    expect(await keys("flamigno", words)).toEqual([]);
    const { body } = await api.upload("flamingo.md", "One flamingo.");
    expect(await keys("flamigno", words)).toEqual(["flamingo.md"]);
    await api.call("DELETE", `/instances/main/items/${body.result.id}`);
    expect(await keys("flamigno", words)).toEqual([]);
    // The index is made anew, and its list of words with it.
    const put = (tokenizer: string): Promise<unknown> =>
      api.call("PUT", "/instances/main", {
        indexing_options: { keyword_tokenizer: tokenizer },
        typo_tolerance: null,
      });
    await put("trigram");
    await put("porter");
    expect(await keys("herno", { ...words, typo_tolerance: {} })).toHaveLength(2);
    expect((await api.call("DELETE", "/instances/main")).status).toBe(200);
  });

  it("is refused where it would have no effect", async () => {
    await open();
    const put = async (body: object): Promise<unknown> =>
      (await api.call("PUT", "/instances/main", body)).body.errors[0]?.message;
    const on = { typo_tolerance: { enabled: true } };
    expect(await put({ ...on, indexing_options: { keyword_tokenizer: "trigram" } })).toContain(
      "trigram",
    );
    expect(await put({ ...on, index_method: { vector: true, keyword: false } })).toContain(
      "keyword index",
    );
  });

  it("looks for a word whose stem is the one that the index holds", () => {
    for (const word of [
      "universe",
      "happy",
      "relational",
      "nest",
      "study",
      "agreement",
      "oscillation",
    ])
      expect(stem(spelled(stem(word)) ?? "")).toBe(stem(word));
  });
});
