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

describe("instances", () => {
  it("are created with defaults, read, changed, listed and deleted, under both path forms", async () => {
    const created = await api.call("POST", "/namespaces/default/instances", { id: "shop_1" });
    expect(created.body.result).toMatchObject({
      id: "shop_1",
      namespace: "default",
      embedding_model: "builtin/lexical",
      ai_search_model: "builtin/extractive",
      max_num_results: 10,
      score_threshold: 0.4,
      index_method: { vector: true, keyword: true },
    });
    const changed = await api.call("PUT", "/instances/shop_1", {
      max_num_results: 3,
      score_threshold: 0.1,
    });
    expect(changed.body.result).toMatchObject({
      max_num_results: 3,
      score_threshold: 0.1,
      chunk_size: 256,
    });
    expect((await api.call("GET", "/namespaces/default/instances/shop_1")).body.result).toEqual(
      changed.body.result,
    );
    const listed = await api.call("GET", "/instances?search=SHOP");
    expect(listed.body.result).toEqual([changed.body.result]);
    expect(listed.body.result_info).toMatchObject({ page: 1, per_page: 20, total_count: 1 });
    expect((await api.call("POST", "/instances", { id: "shop_1" })).body.errors?.[0]?.code).toBe(
      7022,
    );
    expect((await api.call("DELETE", "/instances/shop_1")).body.result.id).toBe("shop_1");
    expect((await api.call("GET", "/instances/shop_1")).body.errors?.[0]).toMatchObject({
      code: 7002,
    });
    expect((await api.call("GET", "/instances/shop_1")).status).toBe(404);
    expect((await api.call("POST", "/instances", { id: "shop_1" })).status).toBe(200);
  });

  it.each([
    [{ id: "UPPER" }, 400],
    [{ id: "a--b" }, 400],
    [{ id: "a".repeat(33) }, 400],
    [{}, 400],
    [{ id: "x", chunk_size: 63 }, 7036],
    [{ id: "x", chunk_size: 100_000 }, 7036],
    [{ id: "x", chunk_overlap: 31 }, 400],
    [{ id: "x", max_num_results: 51 }, 400],
    [{ id: "x", index_method: { vector: false, keyword: false } }, 400],
    [{ id: "x", embedding_model: "@cf/baai/bge-m3" }, 7010],
    [{ id: "x", custom_metadata: [{ field_name: "Folder", data_type: "text" }] }, 400],
    [{ id: "x", cache_ttl: 601 }, 400],
    [{ id: "x", type: "r2" }, 10501],
  ])("are refused as %j with %i", async (body, code) => {
    expect((await api.call("POST", "/instances", body)).body.errors?.[0]?.code).toBe(code);
  });

  it("serve only the legs that they have", async () => {
    await api.call("POST", "/instances", {
      id: "words",
      index_method: { vector: false, keyword: true },
    });
    await api.upload("a.md", "bread", { instance: "words" });
    const ask = (retrieval_type?: string): Promise<Called> =>
      api.call("POST", "/instances/words/search", {
        query: "bread",
        ai_search_options: { retrieval: retrieval_type === undefined ? {} : { retrieval_type } },
      });
    expect((await ask()).body.result.chunks).toHaveLength(1);
    for (const type of ["vector", "hybrid"])
      expect((await ask(type)).body.errors[0]!.code).toBe(7070);
  });

  it("rebuild their keyword and metadata indexes when these settings change", async () => {
    await api.call("POST", "/instances", { id: "shape" });
    await api.upload("a.md", "breadbasket", { instance: "shape", metadata: { team: "x" } });
    const find = async (
      retrieval: Record<string, unknown>,
      query: string = "breadbask",
    ): Promise<number> =>
      (
        await api.call("POST", "/instances/shape/search", {
          query,
          ai_search_options: { retrieval: { retrieval_type: "keyword", ...retrieval } },
        })
      ).body.result.chunks.length;
    expect(await find({}, "adbask")).toBe(0);
    await api.call("PUT", "/instances/shape", {
      indexing_options: { keyword_tokenizer: "trigram" },
      custom_metadata: [{ field_name: "team", data_type: "text" }],
    });
    expect(await find({}, "adbask")).toBe(1);
    expect(await find({ filters: { team: "x" } })).toBe(1);
    expect(await find({ filters: { team: "y" } })).toBe(0);
  });

  it("keep accounts and namespaces apart", async () => {
    await api.call("POST", "/namespaces", { name: "team-a", description: "A" });
    await api.call("POST", "/namespaces/team-a/instances", { id: "main" });
    const found = await api.call("POST", "/namespaces/team-a/instances/main/search", {
      query: "bread",
    });
    expect(found.body.result.chunks).toEqual([]);
    const other = await api.app.fetch(
      new Request("http://test/accounts/other/ai-search/instances/main"),
    );
    expect(other.status).toBe(404);
  });
});

describe("namespaces", () => {
  it("have a default and are created, changed, listed and deleted", async () => {
    expect((await api.call("GET", "/namespaces/default")).body.result.name).toBe("default");
    expect((await api.call("POST", "/namespaces", { name: "team-b" })).body.result).toMatchObject({
      name: "team-b",
      description: null,
    });
    expect((await api.call("POST", "/namespaces", { name: "team-b" })).body.errors?.[0]?.code).toBe(
      7064,
    );
    expect(
      (await api.call("PUT", "/namespaces/team-b", { description: "B" })).body.result.description,
    ).toBe("B");
    const names = (await api.call("GET", "/namespaces")).body.result.map((one) => one.name);
    expect(names).toEqual(expect.arrayContaining(["default", "team-b"]));
    await api.call("POST", "/namespaces/team-b/instances", { id: "i" });
    expect((await api.call("DELETE", "/namespaces/team-b")).status).toBe(409);
    await api.call("DELETE", "/namespaces/team-b/instances/i");
    expect((await api.call("DELETE", "/namespaces/team-b")).status).toBe(200);
    expect((await api.call("GET", "/namespaces/team-b")).body.errors?.[0]?.code).toBe(7063);
    expect(
      (await api.call("POST", "/namespaces/none/instances", { id: "i" })).body.errors?.[0]?.code,
    ).toBe(7063);
    expect((await api.call("DELETE", "/namespaces/default")).status).toBe(409);
  });

  it("search several instances at once and report those that fail", async () => {
    await api.call("POST", "/instances", { id: "second" });
    await api.upload("second.md", "bread again", { instance: "second" });
    const ask = (instance_ids: unknown, retrieval: unknown = {}): Promise<Called> =>
      api.call("POST", "/namespaces/default/search", {
        query: "bread",
        ai_search_options: { instance_ids, retrieval },
      });
    const { body } = await ask(["main", "second", "none"]);
    expect(new Set(body.result.chunks.map((chunk) => chunk.instance_id))).toEqual(
      new Set(["main", "second"]),
    );
    expect(body.result.chunks).toHaveLength(10);
    expect(body.result.errors).toMatchObject([{ instance_id: "none" }]);
    expect((await ask(["main", "none"], { return_on_failure: false })).body.errors[0]!.code).toBe(
      7049,
    );
    const none = await ask(["none", "neither"]);
    expect(none.body.errors[0]).toMatchObject({
      code: 7049,
      message: expect.stringMatching(/none: .*; neither: /u),
    });
    expect((await ask(Array.from({ length: 11 }, (_, n) => `i${n}`))).body.errors[0]!.code).toBe(
      7074,
    );
    expect((await ask(undefined)).status).toBe(400);
    const chat = await api.call("POST", "/namespaces/default/chat/completions", {
      messages: [{ role: "user", content: "bread again" }],
      ai_search_options: { instance_ids: ["second", "none"] },
    });
    expect(chat.body).toMatchObject({
      object: "chat.completion",
      errors: [{ instance_id: "none" }],
    });
    expect(chat.body.chunks[0]?.instance_id).toBe("second");
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
