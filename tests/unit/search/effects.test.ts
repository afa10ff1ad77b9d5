import { afterEach, describe, expect, it } from "vitest";
import type { Reranker } from "../../../core/search/mod.ts";
import { fakeChatModel } from "../../fakes/search-models.ts";
import { answerOf, searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

// Every setting and option has an effect, or is refused with the reason.

let api: SearchUnderTest;
afterEach(() => api.close());

const change = async (settings: object): Promise<unknown[]> => {
  const { status, body } = await api.call("PUT", "/instances/main", settings);
  return [status, body.errors[0]?.message];
};
const post = (path: string, body: unknown): Promise<Response> =>
  api.raw("POST", `/instances/main${path}`, {
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const chat = (content: string, more: object = {}): Promise<Response> =>
  post("/chat/completions", { messages: [{ role: "user", content }], ...more });
const refusal = async (response: Response): Promise<unknown[]> => [
  response.status,
  (await answerOf(response)).errors[0]?.message,
];

describe("a setting of an instance", () => {
  it("enable: false switches searches and chats off, and nothing else", async () => {
    api = await searchUnderTest();
    await change({ enable: false });
    for (const path of ["/search", "/chat/completions"]) {
      const body = { messages: [{ role: "user", content: "zebra" }] };
      expect((await refusal(await post(path, body)))[0]).toBe(403);
    }
    expect((await api.upload("a.md", "zebra")).body.result.status).toBe("completed");
    await change({ enable: true });
    expect(await api.search("zebra")).toHaveLength(1);
  });

  it("paused takes uploads in and indexes them when it is over", async () => {
    api = await searchUnderTest({}, { paused: true });
    const { body } = await api.upload("a.md", "zebra");
    expect(body.result).toMatchObject({ status: "queued", next_action: "INDEX" });
    expect(await api.search("zebra")).toEqual([]);
    await change({ paused: false });
    while ((await api.search("zebra")).length === 0) await api.platform.system.sleep(5);
  });

  it("chunk: false makes one chunk of a file", async () => {
    api = await searchUnderTest({}, { chunk: false });
    const { body } = await api.upload(
      "a.md",
      `# One\n\n${"alpha beta. ".repeat(500)}\n\n# Two\n\nx`,
    );
    expect(body.result.chunks_count).toBe(1);
  });

  it.each([
    [{ sync_interval: 3600 }, "sync_interval would have no effect"],
    [
      { public_endpoint_params: { mcp: { disabled: false } } },
      "public_endpoint_params.mcp would have no effect",
    ],
    [
      { public_endpoint_params: { custom_domains: ["search.example.com"] } },
      "public_endpoint_params.custom_domains would have no effect",
    ],
    [{ public_endpoint_params: { enabled: true } }, "nobody could ask without them"],
    [{ indexing_options: { use_ocr: true } }, "indexing_options.use_ocr would have no effect"],
    [{ rewrite_query: true }, "rewrite_query: no chat model is configured"],
    [{ reranking_model: "other" }, 'reranking model "other" is not configured'],
    [{ ai_search_model: "other" }, 'no chat model is configured, so "other" cannot answer'],
  ])("%j is refused with the reason", async (settings, reason) => {
    api = await searchUnderTest();
    expect(await change(settings)).toEqual([
      expect.toSatisfy((status: number) => status === 400 || status === 501),
      expect.stringContaining(reason),
    ]);
    // What a client has read it may send back.
    const { body } = await api.call("GET", "/instances/main");
    expect((await change(body.result))[0]).toBe(200);
  });

  it("rewrite_query and rewrite_model rewrite follow-up questions", async () => {
    const chatModel = fakeChatModel(["zebra stripes"]);
    const settings = { rewrite_query: true, rewrite_model: "small" };
    api = await searchUnderTest({ chatModel }, settings);
    const messages = ["What is a zebra?", "And its stripes?"].map((content) => ({
      role: "user",
      content,
    }));
    const { body } = await api.call("POST", "/instances/main/search", { messages });
    expect(body.result.search_query).toBe("zebra stripes");
    expect(chatModel.calls[0]!.body.model).toBe("small");
  });
});

describe("an option of a request", () => {
  it("that nobody knows is refused by its name", async () => {
    api = await searchUnderTest();
    const options = { ai_search_options: { retrieval: { surprise: 1 } } };
    for (const response of [
      await post("/search", { query: "x", ...options }),
      await chat("x", options),
    ]) {
      expect(await refusal(response)).toEqual([400, expect.stringContaining("surprise")]);
    }
    expect(await refusal(await chat("x", { strem: true }))).toEqual([
      400,
      'Unknown field "strem": did you mean "stream"?',
    ]);
    const close = { ai_search_options: { retrieval: { filter: {} } } };
    expect(await refusal(await post("/search", { query: "x", ...close }))).toEqual([
      400,
      expect.stringContaining('did you mean "ai_search_options.retrieval.filters"?'),
    ]);
  });

  it("beside ai_search_options that is newer than causey passes, and is told", async () => {
    api = await searchUnderTest();
    await api.upload("a.md", "zebra");
    const response = await post("/search", { query: "zebra", novelty: 1 });
    expect(response.status).toBe(200);
    const { result, messages } = await answerOf(response);
    expect(result.chunks).toHaveLength(1);
    expect(messages).toContainEqual({
      code: 10415,
      message: 'Unknown field "novelty" (ignored)',
    });
  });

  it("query_rewrite without a chat model is refused", async () => {
    api = await searchUnderTest();
    const ai_search_options = { query_rewrite: { enabled: true } };
    expect(await refusal(await post("/search", { query: "x", ai_search_options }))).toEqual([
      400,
      expect.stringContaining("no chat model is configured"),
    ]);
  });

  it("temperature, max_tokens and tools reach the chat model", async () => {
    const chatModel = fakeChatModel(["yes"]);
    api = await searchUnderTest({ chatModel });
    await api.upload("a.md", "zebra");
    const parameters = { temperature: 0.1, max_tokens: 7, tools: [{ type: "function" }] };
    await chat("zebra", parameters);
    expect(chatModel.calls[0]!.body).toMatchObject({ ...parameters, stream: false });
  });

  it("calls of tools come back, whole and in a stream", async () => {
    const call = { id: "1", type: "function", function: { name: "f", arguments: "{}" } };
    const chatModel = async (request: Request): Promise<Response> => {
      const { stream } = (await request.json()) as { stream: boolean };
      if (!stream) {
        const message = { content: null, tool_calls: [call] };
        return Response.json({ choices: [{ message, finish_reason: "tool_calls" }] });
      }
      const chunk = { choices: [{ delta: { tool_calls: [{ index: 0, ...call }] } }] };
      return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
    };
    api = await searchUnderTest({ chatModel });
    await api.upload("a.md", "zebra");
    const tools = [{ type: "function" }];
    expect((await answerOf(await chat("zebra", { tools }))).choices[0]).toMatchObject({
      message: { content: "", tool_calls: [call] },
      finish_reason: "tool_calls",
    });
    expect(await (await chat("zebra", { tools, stream: true })).text()).toContain('"name":"f"');
  });

  it("max_tokens cuts what the builtin model quotes; tools it refuses", async () => {
    api = await searchUnderTest();
    await api.upload("a.md", "The zebra has stripes all over its body and lives in the savanna.");
    const { choices } = await answerOf(await chat("zebra", { max_tokens: 4 }));
    expect(choices[0]).toMatchObject({ finish_reason: "length" });
    expect(choices[0]!.message.content.length).toBeLessThan(40);
    expect(await refusal(await chat("zebra", { tools: [] }))).toEqual([
      400,
      expect.stringContaining('tools: has no effect on "builtin/extractive"'),
    ]);
  });

  it("include_usage ends a stream with the count of tokens", async () => {
    api = await searchUnderTest();
    await api.upload("a.md", "The zebra has stripes.");
    const text = await (
      await chat("zebra", { stream: true, stream_options: { include_usage: true } })
    ).text();
    expect(text).toMatch(/"choices":\[\],"usage":\{"prompt_tokens":\d+/u);
  });
});

describe("reranking", () => {
  const reranker = (rerank: Reranker["rerank"]): Reranker => ({ model: "judge", rerank });
  const bySize = reranker((_query, texts) => Promise.resolve(texts.map((one) => one.length / 100)));
  const ask = async (reranking: object, retrieval: object = {}): Promise<Response> =>
    post("/search", { query: "zebra", ai_search_options: { reranking, retrieval } });
  const fill = async (): Promise<void> => {
    await api.upload("short.md", "zebra");
    await api.upload("long.md", `zebra ${"grass and water ".repeat(4)}`);
  };

  it("orders by the configured reranker, says its scores, and drops what is below the threshold", async () => {
    api = await searchUnderTest({ reranker: bySize });
    await fill();
    const { result } = await answerOf(await ask({ enabled: true }));
    expect(result.chunks.map(({ item }) => item.key)).toEqual(["long.md"]);
    expect(result.chunks[0]).toMatchObject({
      score: 0.69,
      scoring_details: { reranking_score: 0.69 },
    });
    const all = await answerOf(
      await ask({ enabled: true, match_threshold: 0 }, { metadata_only: true }),
    );
    expect(all.result.chunks.map(({ item, text }) => [item.key, text])).toEqual([
      ["long.md", ""],
      ["short.md", ""],
    ]);
    const off = await answerOf(await ask({ enabled: false }));
    expect(off.result.chunks[0]!.item.key).toBe("short.md");
  });

  it("is the instance's to switch on, and needs no model", async () => {
    api = await searchUnderTest({}, { reranking: true });
    await fill();
    const { result } = await answerOf(await ask({}));
    expect(result.chunks).toHaveLength(2);
    expect(result.chunks[0]!.scoring_details).toHaveProperty("reranking_score");
  });

  it("that fails leaves the former order, and the answer says so", async () => {
    api = await searchUnderTest({
      reranker: reranker(() => new Promise(() => undefined)),
      rerankerTimeoutMs: 20,
    });
    await fill();
    const body = await answerOf(await ask({ enabled: true }));
    expect(body.result.chunks).toHaveLength(2);
    expect(body).toMatchObject({
      messages: [{ message: 'Not reranked: The reranker "judge" did not answer within 20 ms' }],
    });
  });

  it("takes the name of the hosted model for the configured one, and refuses others", async () => {
    api = await searchUnderTest({ reranker: bySize });
    await fill();
    const hosted = { enabled: true, model: "@cf/baai/bge-reranker-base" };
    expect((await answerOf(await ask(hosted))).result.chunks).toHaveLength(1);
    expect((await ask({ enabled: true, model: "other" })).status).toBe(400);
  });
});

describe("the cache of answers", () => {
  const open = async (settings: object = {}): Promise<ReturnType<typeof fakeChatModel>> => {
    const chatModel = fakeChatModel(["The zebra has stripes."]);
    api = await searchUnderTest({ chatModel }, { cache_threshold: "close_enough", ...settings });
    await api.upload("a.md", "The zebra has 2 colours of stripes. Zebras do not fly.");
    return chatModel;
  };
  const status = async (content: string, more: object = {}): Promise<string | null> => {
    const response = await chat(content, more);
    await response.text();
    return response.headers.get("cf-aig-cache-status");
  };

  it("answers the same question once, also in a stream", async () => {
    const model = await open();
    expect(await status("What does the zebra have?")).toBe("MISS");
    expect(await status("what does the zebra have")).toBe("HIT");
    const stream = await chat("What does the zebra have?", { stream: true });
    expect(stream.headers.get("cf-aig-cache-status")).toBe("HIT");
    expect(await stream.text()).toContain("The zebra has stripes.");
    expect(model.calls).toHaveLength(1);
  });

  it("keeps questions apart that a number, a negation, a model, a filter or a parameter parts", async () => {
    await open({ cache_threshold: "anything_goes" });
    expect(await status("Which zebra has 2 colours of stripes?")).toBe("MISS");
    expect(await status("Which zebra has two 2 colours of the stripes?")).toBe("HIT");
    expect(await status("Which zebra has 3 colours of stripes?")).toBe("MISS");
    expect(await status("Which zebra has not 2 colours of stripes?")).toBe("MISS");
    const question = "Which zebra has 2 colours of stripes?";
    expect(await status(question, { model: "other" })).toBe("MISS");
    expect(await status(question, { temperature: 1 })).toBe("MISS");
    const retrieval = { filters: { filename: "a.md" } };
    expect(await status(question, { ai_search_options: { retrieval } })).toBe("MISS");
    expect(await status(question)).toBe("HIT");
  });

  it("never gives back what was made of text that is gone", async () => {
    await open();
    expect(await status("What does the zebra have?")).toBe("MISS");
    await api.upload("a.md", "The zebra has other stripes.");
    expect(await status("What does the zebra have?")).toBe("MISS");
  });

  it("is asked by none who switch it off, and for no answer that broke off", async () => {
    await open({ cache: false });
    expect(await status("zebra")).toBeNull();
    expect(await status("zebra", { ai_search_options: { cache: { enabled: true } } })).toBe("MISS");
    await api.close();
    const chatModel = fakeChatModel(["The zebra"], { done: false });
    api = await searchUnderTest({ chatModel });
    await api.upload("a.md", "The zebra has stripes.");
    const text = await (await chat("zebra", { stream: true })).text();
    expect(text).toContain('event: error\ndata: {"error":{"message":');
    expect(text).not.toContain("[DONE]");
    expect(await status("zebra")).toBe("MISS");
  });
});
