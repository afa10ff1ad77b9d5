import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { queryTerms } from "../../../core/search/terms/query-terms.ts";
import { segment } from "../../../core/search/text/segment.ts";
import { cjkCases } from "../../fakes/search-cjk.ts";
import { type FoundChunk, searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

describe("queryTerms()", () => {
  it("leaves stop words out, unless there is nothing else, and keeps repeated words", () => {
    expect(queryTerms("What is the heat of the heat shield?", "porter")).toEqual([
      "heat",
      "heat",
      "shield",
    ]);
    expect(queryTerms("To be or not to be", "porter")).toEqual([
      "to",
      "be",
      "or",
      "not",
      "to",
      "be",
    ]);
  });

  it("takes at most 64 terms, whatever the length of the query", () => {
    expect(queryTerms("word ".repeat(100_000), "porter")).toHaveLength(64);
  });

  it("splits words of scripts without spaces", () => {
    expect(queryTerms("東京都 2024年 abc", "porter")).toEqual([
      "東京",
      "京都",
      "2024",
      "年",
      "abc",
    ]);
    expect(queryTerms("ﬁne ｶﾞｽ", "porter")).toEqual(["fine", "ガス"]);
  });
});

describe("segment()", () => {
  it("passes Latin text unchanged", () => {
    expect(segment("Plain text, with (punctuation).", "index")).toBe(
      "Plain text, with (punctuation).",
    );
  });
});

/** Words in two spellings that readers take for one. */
const spellings: readonly { readonly sentence: string; readonly query: string }[] = [
  { sentence: "Die Hauptstraße führt zum Markt.", query: "HAUPTSTRASSE" },
  { sentence: "Der Grossglockner ist weiss.", query: "Großglockner weiß" },
  { sentence: "قَرَأَ الطَّالِبُ كِتَابًا جَدِيدًا", query: "كتابا" },
  { sentence: "ذهب احمد الى المدرسة", query: "أحمد" },
  { sentence: "Işık ve ısı yayılır.", query: "ISI ışık" },
  { sentence: "Diyarbakir bir sehir.", query: "DİYARBAKIR" },
  { sentence: "Ο ΛΟΓΟΣ ΕΓΙΝΕ", query: "λόγος" },
  { sentence: "Smørrebrød fra København", query: "kobenhavn smorrebrod" },
  { sentence: "בְּרֵאשִׁית בָּרָא", query: "בראשית" },
  { sentence: "Straßburg: Œuvre complète, Đà Nẵng", query: "oeuvre da nang" },
];

describe("the keyword leg", () => {
  let api: SearchUnderTest;
  beforeAll(async () => {
    api = await searchUnderTest();
    await api.upload(
      "plain.md",
      "# Wing\n\nThe running wing in a slipstream. Café résumé don't C++ foo-bar NEAR.",
    );
    await api.upload("other.md", "# Other\n\nA wing, a wing, a wing.");
    for (const [n, { sentence }] of spellings.entries())
      await api.upload(`spelling-${n}.txt`, sentence, { type: "text/plain" });
    for (const [n, { sentence }] of cjkCases.entries())
      await api.upload(`cjk-${n}.txt`, sentence, { type: "text/plain" });
  });
  afterAll(() => api.close());

  const keyword = (
    query: string,
    more: Record<string, unknown> = {},
  ): Promise<readonly FoundChunk[]> => api.search(query, { retrieval_type: "keyword", ...more });

  it("answers any query text", async () => {
    const nasty = fc.constantFrom(
      '"',
      "'",
      "(",
      ")",
      "*",
      "-",
      "^",
      ":",
      "+",
      "{",
      "}",
      "NEAR",
      "AND",
      "OR",
      "NOT",
      "\0",
      "body:",
      " ",
      "wing",
      "東",
      "\u0301",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.array(nasty, { minLength: 1, maxLength: 30 }).map((all) => all.join("")),
          fc.string({ unit: "binary" }),
        ),
        async (query) => {
          const { status } = await api.call("POST", "/instances/main/search", {
            query,
            ai_search_options: { retrieval: { retrieval_type: "keyword" } },
          });
          expect(status).toBe(query.trim() === "" ? 400 : 200);
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([
    "run",
    "RUNNING",
    "cafe",
    "CAFÉ",
    "cafe\u0301",
    "resume",
    "don't",
    "C++",
    "foo-bar",
    "foo bar",
  ])("finds %s", async (query) => {
    expect((await keyword(query))[0]?.item.key).toBe("plain.md");
  });

  it("quotes operators instead of obeying them", async () => {
    for (const query of ["wing NEAR zebra", "body:wing", "zebra OR wing"]) {
      expect(await keyword(query, { keyword_match_mode: "and" })).toEqual([]);
    }
  });

  it("ranks hits of all terms first and fills up with the others", async () => {
    const keys = (await keyword("wing slipstream")).map((chunk) => chunk.item.key);
    expect(keys).toEqual(["plain.md", "other.md"]);
    expect(
      (await keyword("wing slipstream", { keyword_match_mode: "and" })).map(
        (chunk) => chunk.item.key,
      ),
    ).toEqual(["plain.md"]);
  });

  it("reports raw BM25 beside a score from 0 to 1", async () => {
    const [best] = await keyword("slipstream");
    expect(best!.score).toBe(1);
    expect(best!.scoring_details.keyword_score).toBeGreaterThan(0);
    expect(best!.scoring_details.vector_score).toBe(0);
  });

  it("gives the best of bad hits a bad score, and says how much of the question it holds", async () => {
    const [good] = await keyword("wing slipstream");
    const [bad] = await keyword("wing of the albatross over Patagonia");
    expect(good).toMatchObject({ score: 1, scoring_details: { coverage: 1 } });
    expect(bad!.score).toBeGreaterThan(0);
    expect(bad!.score).toBeLessThan(0.4);
    expect(bad!.scoring_details.coverage).toBe(bad!.score);
  });

  it("counts words anew after an item has changed", async () => {
    const query = "wing zeppelin";
    const [before] = await keyword(query);
    await api.upload("zeppelin.md", "A zeppelin. One more zeppelin.");
    const [after] = await keyword(query);
    await api.raw("DELETE", `/instances/main/items/${after!.id.split(":")[0]}`);
    expect(after!.item.key).toBe("zeppelin.md");
    expect(await keyword(query)).toEqual(await keyword(query));
    expect((await keyword(query))[0]!.score).toBe(before!.score);
  });

  it("ignores match_threshold", async () => {
    expect(await keyword("slipstream", { match_threshold: 1 })).toHaveLength(1);
  });

  it.each(cjkCases.map(({ query }, n) => [query, n] as const))(
    "finds the two-character word %s",
    async (query, n) => {
      const keys = (await keyword(query, { max_num_results: 50 })).map((chunk) => chunk.item.key);
      expect(keys).toContain(`cjk-${n}.txt`);
    },
  );

  it.each(spellings.map(({ query }, n) => [query, n] as const))(
    "finds %s, however the text spells it",
    async (query, n) => {
      const [best] = await keyword(query, { keyword_match_mode: "and" });
      expect(best?.item.key).toBe(`spelling-${n}.txt`);
    },
  );

  it("finds these spellings by trigrams too", async () => {
    const { status } = await api.call("POST", "/instances", {
      id: "grams",
      indexing_options: { keyword_tokenizer: "trigram" },
    });
    expect(status).toBe(200);
    for (const [n, { sentence }] of spellings.entries())
      await api.upload(`spelling-${n}.txt`, sentence, { instance: "grams", type: "text/plain" });
    for (const [n, { query }] of spellings.entries()) {
      const { body } = await api.call("POST", "/instances/grams/search", {
        query,
        ai_search_options: { retrieval: { retrieval_type: "keyword" } },
      });
      expect([query, body.result.chunks[0]?.item.key]).toEqual([query, `spelling-${n}.txt`]);
    }
  });

  it("finds a single character wherever it stands", async () => {
    for (const character of ["東", "都"])
      expect((await keyword(character)).map((chunk) => chunk.item.key)).toContain("cjk-0.txt");
  });

  it("completes the last word", async () => {
    await api.upload("begun.txt", "Zymurgists brew.", { type: "text/plain" });
    const begun = (query: string) => keyword(query, { prefix: true });
    expect((await begun("brew zymu")).map((chunk) => chunk.item.key)).toEqual(["begun.txt"]);
  });
});
