import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type FoundChunk,
  type SearchAnswer,
  searchUnderTest,
  type SearchUnderTest,
} from "../../fakes/search-api.ts";

interface Called {
  readonly status: number;
  readonly body: SearchAnswer;
}

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest();
  for (let n = 0; n < 60; n++) await api.upload(`doc-${n}.md`, `Document number ${n} about bread.`);
});
afterAll(() => api.close());

const options = (ai_search_options: unknown, more: Record<string, unknown> = {}): Promise<Called> =>
  api.call("POST", "/instances/main/search", { query: "bread", ai_search_options, ...more });

describe("search", () => {
  it("answers the same under both path forms", async () => {
    const body = { messages: [{ role: "user", content: "bread" }] };
    const short = await api.call("POST", "/instances/main/search", body);
    const long = await api.call("POST", "/namespaces/default/instances/main/search", body);
    expect(short).toEqual(long);
    expect(short.body.result).toMatchObject({ search_query: "bread", query_kind: "text" });
    expect(short.body.result.chunks).toHaveLength(10);
    const [chunk] = short.body.result.chunks;
    expect(Object.keys(chunk!)).toEqual(["id", "type", "score", "text", "item", "scoring_details"]);
    expect(chunk).toMatchObject({
      type: "text",
      item: { key: expect.any(String), timestamp: expect.any(Number) },
    });
    expect(chunk!.scoring_details.vector_score).toBeGreaterThan(0);
  });

  it("caps max_num_results at 50", async () => {
    expect((await options({ retrieval: { max_num_results: 50 } })).body.result.chunks).toHaveLength(
      50,
    );
  });

  it.each([
    { retrieval: { max_num_results: 51 } },
    { retrieval: { max_num_results: 0 } },
    { retrieval: { max_num_results: 1.5 } },
    { retrieval: { max_num_results: "10" } },
    { retrieval: { max_num_results: null } },
    { retrieval: { match_threshold: 1.01 } },
    { retrieval: { match_threshold: -0.01 } },
    { retrieval: { match_threshold: "0.4" } },
    { retrieval: { retrieval_type: "semantic" } },
    { retrieval: { retrieval_type: null } },
    { retrieval: { filters: [] } },
    { retrieval: { filters: "x" } },
    { retrieval: { context_expansion: 4 } },
    { retrieval: { fusion_method: "sum" } },
    { retrieval: { keyword_match_mode: "xor" } },
    { retrieval: { return_on_failure: "no" } },
    { retrieval: { boost_by: [{ field: "timestamp" }, { field: "timestamp" }] } },
    { retrieval: { boost_by: [{ field: "unknown" }] } },
    { cache: { enabled: "yes" } },
    { cache: { cache_threshold: "loose" } },
    { reranking: { enabled: 1 } },
    { reranking: { match_threshold: 2 } },
    { retrieval: [] },
    "x",
  ])("refuses %j with 400", async (bad) => {
    const { status, body } = await options(bad);
    expect([status, body.success, body.result]).toEqual([400, false, null]);
    expect(body.errors[0]!.message).toBeTruthy();
  });

  it.each([
    { retrieval: { match_threshold: 0 } },
    { retrieval: { match_threshold: 1 } },
    { retrieval: { max_num_results: 1, retrieval_type: "vector" } },
    { retrieval: { retrieval_type: "hybrid", fusion_method: "max", context_expansion: 3 } },
    { retrieval: { boost_by: [{ field: "timestamp", direction: "desc" }], metadata_only: true } },
    {
      cache: { enabled: true, cache_threshold: "anything_goes" },
      reranking: { enabled: true, match_threshold: 0.4 },
    },
    {},
  ])("takes %j", async (good) => {
    expect((await options(good)).status).toBe(200);
  });

  it.each([
    [{}, 7039],
    [{ query: "  " }, 7039],
    [{ messages: [] }, 7039],
    [{ messages: [{ role: "assistant", content: "x" }] }, 7039],
    [{ messages: [{ role: "user", content: null }] }, 7039],
    [
      {
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "https://x/y.png" } }] },
        ],
      },
      7089,
    ],
    [{ query: "a", messages: [{ role: "user", content: "b" }] }, 400],
    [{ messages: [{ role: "robot", content: "b" }] }, 400],
    [{ messages: "x" }, 400],
    [[], 400],
  ])("answers %j with %i", async (body, code) => {
    const answer = await api.call("POST", "/instances/main/search", body);
    expect([answer.status, answer.body.errors?.[0]?.code]).toEqual([400, code]);
  });

  it("takes the last user message and joins its text parts", async () => {
    const messages = [
      { role: "system", content: "x" },
      { role: "user", content: "first" },
      { role: "assistant", content: "answer" },
      {
        role: "user",
        content: [
          { type: "text", text: "bread" },
          { type: "text", text: "number" },
        ],
      },
    ];
    expect(
      (await api.call("POST", "/instances/main/search", { messages })).body.result.search_query,
    ).toBe("bread\nnumber");
  });

  it("answers 7038 to a chat without a question", async () => {
    expect(
      (await api.call("POST", "/instances/main/chat/completions", { messages: [] })).body
        .errors?.[0]?.code,
    ).toBe(7038);
  });

  it("orders equal scores by key, the same every time", async () => {
    const run = async (): Promise<string[]> =>
      (
        await options({ retrieval: { retrieval_type: "keyword", max_num_results: 50 } })
      ).body.result.chunks.map((chunk) => chunk.item.key);
    const first = await run();
    expect(await run()).toEqual(first);
    expect(first).toEqual(first.toSorted());
  });

  it("drops what the vector leg alone found below match_threshold, and nothing else", async () => {
    const at = async (match_threshold: number): Promise<readonly FoundChunk[]> =>
      (await options({ retrieval: { match_threshold, max_num_results: 50 } })).body.result.chunks;
    expect((await at(1)).length).toBe(50);
    const vector = (
      await options({
        retrieval: { retrieval_type: "vector", match_threshold: 0.4, max_num_results: 50 },
      })
    ).body.result.chunks;
    for (const chunk of vector)
      expect(chunk.scoring_details.vector_score).toBeGreaterThanOrEqual(0.4);
    expect(
      (await options({ retrieval: { retrieval_type: "vector", match_threshold: 1 } })).body.result
        .chunks,
    ).toEqual([]);
  });

  it("widens a chunk by its neighbours, never twice and never past the item", async () => {
    const text = Array.from(
      { length: 12 },
      (_, n) =>
        `Part ${n} of the long story has many words in it, so that it fills a chunk by itself: ${"lorem ipsum dolor ".repeat(12)}`,
    ).join("\n\n");
    await api.call("POST", "/instances", { id: "long", chunk_size: 64, chunk_overlap: 10 });
    await api.upload("long.md", text, { instance: "long" });
    const body = {
      query: "part 5 story",
      ai_search_options: {
        retrieval: { retrieval_type: "keyword", max_num_results: 1, context_expansion: 1 },
      },
    };
    const [wide] = (await api.call("POST", "/instances/long/search", body)).body.result.chunks;
    // What is blank between two chunks is not kept, so its amount may differ.
    const plain = (source: string): string => source.replaceAll(/\s+/g, " ");
    expect(plain(text)).toContain(plain(wide!.text));
    expect(wide!.text.split("\n\n")).toHaveLength(3);
    body.ai_search_options.retrieval.context_expansion = 0;
    const [narrow] = (await api.call("POST", "/instances/long/search", body)).body.result.chunks;
    expect(wide!.text).toContain(narrow!.text);
    expect(wide!.text.length).toBeGreaterThan(narrow!.text.length);
  });
});

describe("routes", () => {
  it("answer 404 and 405 in the envelope", async () => {
    expect((await api.call("GET", "/nothing")).body.errors?.[0]?.code).toBe(7003);
    const wrong = await api.raw("GET", "/instances/main/search");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    expect(
      (await api.call("POST", "/instances/UPPER%2F..%2Fx/search", { query: "x" })).body.errors?.[0]
        ?.code,
    ).toBe(7002);
  });

  it("ask for Run to search and for Read or Edit to manage", async () => {
    let permission: "AI Search Run" | "AI Search Read" | "AI Search Edit" = "AI Search Edit";
    await api.close();
    api = await searchUnderTest({
      auth: () =>
        Promise.resolve({
          id: "t",
          kind: "token",
          grants: [{ permissions: [permission], accounts: ["acme"] }],
        }),
    });
    const status = async (
      granted: typeof permission,
      method: string,
      path: string,
      account: string = "acme",
    ): Promise<number> => {
      permission = granted;
      const init = {
        method,
        ...(method === "POST"
          ? { body: '{"query":"x"}', headers: { "content-type": "application/json" } }
          : {}),
      };
      const request = new Request(`http://test/accounts/${account}/ai-search${path}`, init);
      return (await api.app.fetch(request)).status;
    };
    expect(await status("AI Search Run", "POST", "/instances/main/search")).toBe(200);
    expect(await status("AI Search Run", "GET", "/instances/main")).toBe(403);
    expect(await status("AI Search Read", "POST", "/instances/main/search")).toBe(403);
    expect(await status("AI Search Read", "GET", "/instances/main/items")).toBe(200);
    expect(await status("AI Search Read", "DELETE", "/instances/main")).toBe(403);
    expect(await status("AI Search Edit", "GET", "/instances/main/stats")).toBe(200);
    expect(await status("AI Search Edit", "GET", "/instances/main/stats", "other")).toBe(403);
  });
});
