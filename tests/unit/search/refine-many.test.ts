import { afterEach, describe, expect, it } from "vitest";
import { custom_metadata, keysOf, searchRefined } from "../../fakes/refined-search.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

// Which of many items are looked at where an answer is sorted: making them takes most of the time.

let api: SearchUnderTest;
afterEach(() => api.close());

describe("a sort by a field that all items share", () => {
  const names = "bread butter river heron boat noon pier island ferry tern".split(" ");
  /** Items with the words of the query in numbers of their own; more than the legs bring. */
  const text = (n: number): string => {
    const own = names.map((name, at) => ` ${name}`.repeat((n * (at + 3)) % 7));
    return `Document ${n}.${own.join("")}${" filler".repeat(n % 11)}`;
  };

  // The items are made once: a search changes nothing of them, and making them takes most of the time.
  it("keeps the order that a search has without the sort", async () => {
    api = await searchUnderTest({}, { custom_metadata });
    for (let n = 0; n < 130; n++)
      await api.upload(`d${n}.md`, text(n), { metadata: { kind: "same", price: (n * 37) % 130 } });
    const boosted = { boost_by: [{ field: "price", direction: "desc" }] };
    const kinds = [
      { retrieval_type: "keyword" },
      { retrieval_type: "hybrid" },
      { retrieval_type: "vector" },
      { retrieval_type: "keyword", ...boosted },
      { retrieval_type: "hybrid", ...boosted },
    ];
    for (const kind of kinds)
      for (const query of ["bread", "heron boat noon", "ferry ferry tern"]) {
        const options = { ...kind, max_num_results: 20 };
        const plain = keysOf(await searchRefined(api, query, options));
        const sorted = await searchRefined(api, query, { ...options, sort: ["kind:asc"] });
        expect(plain).toHaveLength(20);
        expect([kind, query, keysOf(sorted)]).toEqual([kind, query, plain]);
      }
  });
});

describe("a sort of many items", () => {
  it("finds the first items among many better ones, and orders those of one place by score", async () => {
    api = await searchUnderTest(
      {},
      { custom_metadata, index_method: { vector: false, keyword: true } },
    );
    for (let n = 0; n < 150; n++)
      await api.upload(`good-${n}.md`, "blue blue blue", { metadata: { price: 50 + (n % 2) } });
    await api.upload("poor.md", `blue ${"grey ".repeat(150)}`, { metadata: { price: 1 } });
    await api.upload("best.md", "blue blue blue blue blue blue", { metadata: { price: 50 } });
    const found = await searchRefined(api, "blue", { sort: ["price:asc"], max_num_results: 3 });
    expect(keysOf(found)).toEqual(["poor.md", "best.md", expect.stringContaining("good-")]);
    const scores = found.chunks.slice(1).map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  });

  it.each(["hybrid", "vector"])("orders what only vectors find too: %s", async (type) => {
    api = await searchUnderTest({}, { custom_metadata });
    for (let n = 0; n < 130; n++)
      await api.upload(`near-${n}.md`, "harbour harbour", { metadata: { price: 50 + n } });
    // No word of the query, and behind all others by its vector.
    await api.upload("far.md", `harbourmaster ${"grey ".repeat(60)}`, { metadata: { price: 1 } });
    const options = { retrieval_type: type, sort: ["price:asc"], facets: ["price"] };
    const found = await searchRefined(api, "harbour", { ...options, max_num_results: 2 });
    expect(keysOf(found)).toEqual(["far.md", "near-0.md"]);
    expect(found.facet_stats).toEqual({ price: { min: 1, max: 179 } });
  });

  it("says where more chunks are near enough than count", async () => {
    api = await searchUnderTest(
      {},
      { custom_metadata, chunk_size: 64, index_method: { vector: true, keyword: false } },
    );
    // A section is a chunk.
    const sections = Array.from({ length: 1000 }, (_, n) => `## Part ${n}\n\nharbour words\n`);
    await api.upload("long.md", sections.join(""), { metadata: { price: 2 } });
    const notesOf = async (retrieval: object): Promise<readonly unknown[]> => {
      const body = { query: "harbour", ai_search_options: { retrieval } };
      return (await api.call("POST", "/instances/main/search", body)).body.messages;
    };
    const said = { code: 10531, message: expect.stringContaining("more than 1000 chunks") };
    expect(await notesOf({ sort: ["price:asc"], match_threshold: 0 })).toEqual([]);
    await api.upload("short.md", "harbour", { metadata: { price: 1 } });
    expect(await notesOf({ sort: ["price:asc"], match_threshold: 0 })).toEqual([said]);
    expect(await notesOf({ facets: ["price"], match_threshold: 0 })).toEqual([said]);
    expect(await notesOf({ match_threshold: 0 })).toEqual([]);
    expect(await notesOf({ sort: ["price:asc"], match_threshold: 1 })).toEqual([]);
  });
});
