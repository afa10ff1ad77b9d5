import { describe, expect, it } from "vitest";
import type { InboundResponse, OutboundRequest, Transport } from "../../../core/ports.ts";
import { openAiChatModel, openAiEmbedder } from "../../../core/search/mod.ts";

const encode = (value: unknown): Uint8Array =>
  new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

/** A transport that answers every request alike and remembers it. */
function fake(answer: InboundResponse): Transport & { readonly sent: OutboundRequest[] } {
  const sent: OutboundRequest[] = [];
  return {
    sent,
    send: (request) => {
      sent.push(request);
      return Promise.resolve(answer);
    },
  };
}

const json: InboundResponse["headers"] = [["content-type", "application/json"]];
const endpoint = { baseUrl: "http://127.0.0.1:1/v1/", model: "m", apiKey: "secret" };

describe("openAiEmbedder()", () => {
  it("asks for all texts at once and puts the answers in their order", async () => {
    const data = [
      { index: 1, embedding: [0, 1] },
      { index: 0, embedding: [1, 0] },
    ];
    const transport = fake({ status: 200, headers: json, body: encode({ data }) });
    const vectors = await openAiEmbedder({ ...endpoint, dimensions: 2 }, transport).embed(
      ["a", "b"],
      "document",
    );
    expect(vectors.map((vector) => [...vector])).toEqual([
      [1, 0],
      [0, 1],
    ]);
    const [request] = transport.sent;
    expect(request?.url).toBe("http://127.0.0.1:1/v1/embeddings");
    expect(request?.headers).toContainEqual(["authorization", "Bearer secret"]);
    expect(JSON.parse(new TextDecoder().decode(request?.body as Uint8Array))).toEqual({
      model: "m",
      input: ["a", "b"],
      encoding_format: "float",
    });
  });

  it.each([
    [500, "{}"],
    [200, "not json"],
    [200, '{"data":[{"embedding":["x"]}]}'],
  ])("fails on status %i with %s, without the key in the message", async (status, body) => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encode(body));
        controller.close();
      },
    });
    const work = openAiEmbedder(
      { ...endpoint, dimensions: 2 },
      fake({ status, headers: json, body: stream }),
    ).embed(["a"], "query");
    await expect(work).rejects.toThrow(/^The embedder "m" answered/);
    await work.catch((error: unknown) => {
      expect(String(error)).not.toContain("secret");
    });
  });
});

/** A server of embeddings that takes so many texts at once; it counts them. */
function server(most: number, status: number, refusal: string) {
  const inputs: string[][] = [];
  const transport: Transport = {
    send: ({ body }) => {
      const { input } = JSON.parse(new TextDecoder().decode(body as Uint8Array)) as {
        input: string[];
      };
      inputs.push(input);
      const data = input.map((text) => ({ embedding: [text.length, 0] }));
      return Promise.resolve(
        input.length > most
          ? { status, headers: json, body: encode({ error: refusal }) }
          : { status: 200, headers: json, body: encode({ data }) },
      );
    },
  };
  return { inputs, transport };
}

const texts = Array.from({ length: 20 }, (_, n) => "x".repeat(n + 1));
const lengths = texts.map((text) => text.length);

describe("a server that takes few texts at once", () => {
  it.each([
    // Text Embeddings Inference.
    [422, "batch size 16 > maximum allowed batch size 4"],
    [413, "Payload Too Large"],
    [400, "input batch size 16 > maximum allowed batch size 4"],
  ])("is asked for less after status %i, and for no more from then on", async (status, refusal) => {
    const { inputs, transport } = server(4, status, refusal);
    const embedder = openAiEmbedder({ ...endpoint, dimensions: 2, batchSize: 16 }, transport);
    expect(embedder.batchSize).toBe(16);
    const vectors = await embedder.embed(texts, "document");
    expect(vectors.map(([length]) => length)).toEqual(lengths);
    expect(inputs.map(({ length }) => length)).toEqual([16, 8, 4, 4, 4, 4, 4]);
    inputs.length = 0;
    await embedder.embed(texts.slice(0, 6), "document");
    expect(inputs.map(({ length }) => length)).toEqual([4, 2]);
  });

  it("fails for another 400, and for a single text that is too long", async () => {
    const wrong = server(0, 400, "no such model");
    await expect(
      openAiEmbedder({ ...endpoint, dimensions: 2 }, wrong.transport).embed(texts, "document"),
    ).rejects.toThrow('The embedder "m" answered status 400');
    expect(wrong.inputs).toHaveLength(1);
    const long = server(0, 413, "too large");
    await expect(
      openAiEmbedder({ ...endpoint, dimensions: 2 }, long.transport).embed(["a", "b"], "document"),
    ).rejects.toThrow("that a single text is too long");
  });

  it("fails where vectors are missing", async () => {
    const data = [{ embedding: [1, 0] }];
    const transport = fake({ status: 200, headers: json, body: encode({ data }) });
    await expect(
      openAiEmbedder({ ...endpoint, dimensions: 2 }, transport).embed(["a", "b"], "document"),
    ).rejects.toThrow("1 vectors for 2 texts");
  });

  it("has a sensible number of texts", () => {
    const { transport } = server(1, 413, "");
    expect(() => openAiEmbedder({ ...endpoint, dimensions: 2, batchSize: 0 }, transport)).toThrow(
      "batchSize: expected an integer from 1 to 2048, got 0",
    );
  });
});

describe("prefixes of queries and documents", () => {
  const task = "Given a web search query, retrieve relevant passages that answer the query";
  const passages = "Represent this sentence for searching relevant passages: ";

  it.each([
    ["intfloat/e5-base-v2", "query: q", "passage: d"],
    ["multilingual-e5-small", "query: q", "passage: d"],
    ["intfloat/multilingual-e5-large-instruct", `Instruct: ${task}\nQuery: q`, "d"],
    ["nomic-embed-text:v1.5", "search_query: q", "search_document: d"],
    ["@cf/qwen/qwen3-embedding-0.6b", `Instruct: ${task}\nQuery:q`, "d"],
    ["BAAI/bge-small-en-v1.5", `${passages}q`, "d"],
    ["bge-large-zh-v1.5", "为这个句子生成表示以用于检索相关文章：q", "d"],
    ["bge-m3", "q", "d"],
    ["text-embedding-3-small", "q", "d"],
  ])("are those that %s expects", async (model, query, document) => {
    const { inputs, transport } = server(9, 413, "");
    const embedder = openAiEmbedder({ ...endpoint, model, dimensions: 2 }, transport);
    await embedder.embed(["q"], "query");
    await embedder.embed(["d"], "document");
    expect(inputs).toEqual([[query], [document]]);
  });

  it("are those of the options first", async () => {
    const { inputs, transport } = server(9, 413, "");
    const own = { model: "e5-base", dimensions: 2, queryPrefix: "Q ", documentPrefix: "" };
    const embedder = openAiEmbedder({ ...endpoint, ...own }, transport);
    await embedder.embed(["q"], "query");
    await embedder.embed(["d"], "document");
    expect(inputs).toEqual([["Q q"], ["d"]]);
  });
});

describe("an embedder that breaks off", () => {
  it("is reported as the embedder's failure, not as the caller's", async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error("reset"));
      },
    });
    const work = openAiEmbedder(
      { ...endpoint, dimensions: 2 },
      fake({ status: 200, headers: json, body: stream }),
    ).embed(["a"], "query");
    await expect(work).rejects.toMatchObject({
      status: 503,
      message: 'The embedder "m" answered a body that broke off',
    });
  });
});

describe("openAiChatModel()", () => {
  it("passes request, signal and answer through", async () => {
    const transport = fake({ status: 429, headers: json, body: encode('{"error":{}}') });
    const model = openAiChatModel(
      { baseUrl: "https://models.example/v1", model: "gpt" },
      transport,
    );
    expect(model.model).toBe("gpt");
    const abort = new AbortController();
    const response = await model(
      new Request("http://x.invalid/", {
        method: "POST",
        body: '{"model":"gpt"}',
        signal: abort.signal,
      }),
    );
    expect([response.status, await response.text()]).toEqual([429, '{"error":{}}']);
    const [request] = transport.sent;
    expect(request).toMatchObject({
      method: "POST",
      url: "https://models.example/v1/chat/completions",
    });
    expect(request?.headers).toEqual([["content-type", "application/json"]]);
    abort.abort();
    expect(request?.signal?.aborted).toBe(true);
  });
});
