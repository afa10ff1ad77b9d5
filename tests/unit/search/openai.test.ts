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
