import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { InboundResponse, OutboundRequest } from "../../../../core/ports.ts";
import { expectedSignature, testAccount, type TestAccount } from "../../../fakes/clouds.ts";
import {
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  openToAll,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";
import { virtualKeys } from "../../../fakes/virtual-keys.ts";

const AWS = { id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const TITAN = "aws-bedrock/amazon.titan-embed-text-v2:0";

let account: TestAccount;
beforeAll(async () => {
  account = await testAccount();
});
let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({
    providers: {
      "azure-openai": { resource: "my-res", apiKey: "azure-key-0123456789" },
      "google-vertex-ai": { region: "europe-west1", serviceAccount: account.json },
      "aws-bedrock": { region: "eu-central-1", accessKeyId: AWS.id, secretAccessKey: AWS.secret },
    },
    gateways: {
      open: openToAll,
      closed: { tokens: [GATEWAY_TOKEN] },
      older: {
        ...openToAll,
        providers: { "azure-openai": { resource: "old", apiVersion: "2024-10-21", apiKey: "k" } },
      },
    },
  });
});
afterEach(() => gate.close());

type Body = Record<string, unknown>;
/** Answers as a cloud does; tokens are those of Google. */
function serve(answer: (body: Body, request: OutboundRequest) => unknown): void {
  gate.transport.behave = async (request, index) => {
    if (request.url.startsWith("https://oauth2.googleapis.com/"))
      return jsonReply({ access_token: "token-1", expires_in: 3600, token_type: "Bearer" });
    const made = await answer(JSON.parse(gate.transport.bodies[index] ?? "{}") as Body, request);
    return isAnswer(made) ? made : jsonReply(made);
  };
}
const isAnswer = (made: unknown): made is InboundResponse =>
  typeof made === "object" && made !== null && "status" in made;
const asked = (): { request: OutboundRequest; url: string; body: Body }[] =>
  gate.transport.requests.flatMap((request, at) =>
    request.url.startsWith("https://oauth2.googleapis.com/")
      ? []
      : [
          {
            request,
            url: request.url,
            body: JSON.parse(gate.transport.bodies[at] ?? "{}") as Body,
          },
        ],
  );
const embed = (model: string, more: object = {}, path = "open/compat/embeddings", token?: string) =>
  gate.send(path, {
    ...jsonInit({ model, input: "Hello", ...more }),
    ...(token === undefined ? {} : { token }),
  });
const titanReply = ({ inputText }: Body) => ({
  embedding: [String(inputText).length, 0.5],
  inputTextTokenCount: 3,
});
const told = (tokens: number, value: unknown): InboundResponse => {
  const { status, headers, body } = jsonReply(value);
  return {
    status,
    body,
    headers: [...headers, ["x-amzn-bedrock-input-token-count", String(tokens)]],
  };
};

describe("texts to embed for Bedrock", () => {
  it("go to Titan one by one, signed, and come back in their order", async () => {
    serve(titanReply);
    const input = Array.from({ length: 20 }, (_, at) => "x".repeat(at + 1));
    const answer = await embed(TITAN, { input, dimensions: 256 }, "open/compat/v1/embeddings");
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({
      object: "list",
      data: input.map((text, index) => ({
        object: "embedding",
        index,
        embedding: [text.length, 0.5],
      })),
      model: "amazon.titan-embed-text-v2:0",
      usage: { prompt_tokens: 60, total_tokens: 60 },
    });
    expect(asked()).toHaveLength(20);
    for (const { request, url, body } of asked()) {
      expect(url).toBe(
        "https://bedrock-runtime.eu-central-1.amazonaws.com/model/amazon.titan-embed-text-v2%3A0/invoke",
      );
      expect(sentHeaders(request)["authorization"]).toBe(
        await expectedSignature(request, { ...AWS, region: "eu-central-1" }),
      );
      expect(body).toEqual({ inputText: body["inputText"], dimensions: 256 });
    }
    const [row] = await gate.logs("open", 1);
    expect(row).toMatchObject({
      provider: "aws-bedrock",
      model_type: "embeddings",
      tokens_in: 60,
      cost: 0.000_001_2,
    });
  });

  it("go to Cohere many at once, and its header tells the tokens", async () => {
    serve(({ texts }) =>
      told(7, { embeddings: { float: (texts as string[]).map((one) => [one.length]) } }),
    );
    const input = Array.from({ length: 100 }, (_, at) => `text ${at}`);
    const more = { input, dimensions: 512, input_type: "search_query" };
    const answer = (await (await embed("aws-bedrock/cohere.embed-v4:0", more)).json()) as {
      data: { embedding: number[] }[];
      usage: Body;
    };
    expect(answer.data.map(({ embedding }) => embedding[0])).toEqual(
      input.map((one) => one.length),
    );
    expect(answer.usage).toEqual({ prompt_tokens: 14, total_tokens: 14 });
    // Both are signed at the same time: either may leave first.
    const sent = asked().map(({ body }) => body);
    const bySize = Map.groupBy(sent, ({ texts }) => (texts as string[]).length);
    expect([...bySize.keys()].toSorted((one, other) => one - other)).toEqual([4, 96]);
    expect(bySize.get(96)?.[0]).toEqual({
      texts: input.slice(0, 96),
      input_type: "search_query",
      embedding_types: ["float"],
      output_dimension: 512,
    });
    expect((await gate.logs("open", 1))[0]).toMatchObject({ tokens_in: 14, cost: 0.000_001_68 });
  });

  it("go to Cohere's third version, whose vectors have no type, and to Nova", async () => {
    serve(({ texts }) =>
      texts === undefined
        ? told(2, { embeddings: [{ embeddingType: "TEXT", embedding: [3, 4] }] })
        : told(5, { embeddings: [[1, 2]] }),
    );
    const first = await embed("aws-bedrock/cohere.embed-english-v3");
    expect(await first.json()).toMatchObject({ data: [{ embedding: [1, 2] }] });
    expect(asked()[0]?.body).toMatchObject({ texts: ["Hello"], input_type: "search_document" });
    expect((await gate.logs("open", 1))[0]).toMatchObject({ tokens_in: 5, cost: 0.000_000_5 });
    const nova = "aws-bedrock/amazon.nova-2-multimodal-embeddings-v1:0";
    const second = await embed(nova, { dimensions: 384 });
    expect(await second.json()).toMatchObject({ data: [{ embedding: [3, 4] }] });
    expect(asked()[1]?.body).toEqual({
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        embeddingPurpose: "GENERIC_INDEX",
        embeddingDimension: 384,
        text: { truncationMode: "NONE", value: "Hello" },
      },
    });
  });

  it("come back as the base64 of floats, as OpenAI's own client asks", async () => {
    serve(() => ({ embedding: [1, -0.5], inputTextTokenCount: 1 }));
    const answer = await embed(TITAN, { encoding_format: "base64" });
    const { data } = (await answer.json()) as { data: { embedding: string }[] };
    const bytes = Uint8Array.from(atob(data[0]?.embedding ?? ""), (one) => one.codePointAt(0) ?? 0);
    expect([...new Float32Array(bytes.buffer)]).toEqual([1, -0.5]);
  });

  it("that fail keep the failure's kind, and what the others used is counted", async () => {
    serve((body) =>
      body["inputText"] === "bad"
        ? jsonReply({ message: "Too many tokens, please wait before trying again." }, 429, [
            ["retry-after", "7"],
          ])
        : titanReply(body),
    );
    const gone = await embed(TITAN, { input: ["a", "b", "bad"] });
    expect([gone.status, gone.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await gone.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    expect((await gate.logs("open", 1))[0]).toMatchObject({ tokens_in: 6 });
  });

  it("end where their vectors become too long together, also at another attempt", async () => {
    const vector = `[${"0,".repeat(2 * 1024 * 1024)}0]`;
    serve(() => ({ ...jsonReply({}), body: new TextEncoder().encode(`{"embedding":${vector}}`) }));
    const input = Array.from({ length: 40 }, () => "x");
    const answer = await gate.send("open/compat/embeddings", {
      ...jsonInit(
        { model: TITAN, input },
        { "cf-aig-max-attempts": "2", "cf-aig-retry-delay": "0" },
      ),
    });
    expect(answer.status).toBe(502);
    expect(asked().length).toBeLessThan(20);
  });

  it("are asked for once more alone where they had no answer", async () => {
    let failures = 0;
    serve((body) =>
      body["inputText"] === "b" && ++failures === 1
        ? jsonReply({ message: "Service unavailable" }, 503)
        : titanReply(body),
    );
    const answer = await gate.send(
      "open/compat/embeddings",
      jsonInit(
        { model: TITAN, input: ["a", "b", "c"] },
        { "cf-aig-max-attempts": "2", "cf-aig-retry-delay": "1" },
      ),
    );
    expect(await answer.json()).toMatchObject({ usage: { prompt_tokens: 9 } });
    expect(asked().filter(({ body }) => body["inputText"] === "b")).toHaveLength(2);
    expect(asked().filter(({ body }) => body["inputText"] === "a")).toHaveLength(1);
  });

  it.each([
    [{ embedding: ["x"] }, "a vector without numbers"],
    [{}, "a vector without numbers"],
    [{ embedding: [] }, "a vector without numbers"],
  ])("whose answer is %j are a failure", async (reply, words) => {
    serve(() => reply);
    const answer = await embed(TITAN);
    expect(answer.status).toBe(502);
    expect(await answer.text()).toContain(words);
  });

  it.each([
    [{ input: [1, 2, 3] }, "Numbers of tokens"],
    [{ input: [] }, "a list of 1 to 2048 texts"],
    [{ input: ["a", ""] }, "none of them empty"],
    [{ input: Array.from({ length: 2049 }, () => "a") }, "a list of 1 to 2048 texts"],
    [{ dimensions: 1.5 }, "dimensions: expected"],
    [{ encoding_format: "int8" }, "encoding_format: expected"],
    [{ input_type: "search_query" }, 'does not take \\"input_type\\"'],
    [{ truncate: "END" }, 'does not take \\"truncate\\"'],
    [
      { model: "aws-bedrock/amazon.titan-embed-text-v1", dimensions: 8 },
      'does not take \\"dimensions\\"',
    ],
    [{ model: "aws-bedrock/amazon.nova-lite-v1:0" }, "makes no embeddings"],
    [{ model: "google-vertex-ai/gemini-2.5-pro" }, "makes no embeddings"],
  ])("are refused by name with %j", async (more, words) => {
    const answer = await embed(TITAN, more);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(words)]);
    expect(asked()).toEqual([]);
  });
});

describe("texts to embed for Vertex AI", () => {
  const place =
    "https://europe-west1-aiplatform.googleapis.com/v1/projects/demo-project/locations/europe-west1/publishers/google/models";
  const predictions = ({ instances }: Body) => ({
    predictions: (instances as Body[]).map(({ content }) => ({
      embeddings: { values: [String(content).length], statistics: { token_count: 2 } },
    })),
  });

  it("are few at a time", async () => {
    let running = 0;
    let most = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    serve(async (body) => {
      most = Math.max(most, ++running);
      if (running === 8) resolve();
      await promise;
      running--;
      return predictions(body);
    });
    const input = Array.from({ length: 40 }, (_, at) => `text ${at}`);
    expect((await embed("google-vertex-ai/gemini-embedding-001", { input })).status).toBe(200);
    expect(most).toBe(8);
    expect(asked()).toHaveLength(40);
  });

  it.each([
    ["gemini-embedding-001", 10, 10],
    ["google/text-multilingual-embedding-002", 10, 2],
  ])("go to %s: %i texts in %i requests", async (model, texts, requests) => {
    serve(predictions);
    const input = Array.from({ length: texts }, (_, at) => "y".repeat(at + 1));
    const more = { input, dimensions: 8, input_type: "RETRIEVAL_QUERY" };
    const answer = await embed(`google-vertex-ai/${model}`, more);
    expect(await answer.json()).toMatchObject({
      data: input.map((text, index) => ({ index, embedding: [text.length] })),
      usage: { prompt_tokens: 2 * texts, total_tokens: 2 * texts },
    });
    expect(asked()).toHaveLength(requests);
    const [{ url, body, request } = asked()[0]!] = asked();
    expect(url).toBe(`${place}/${model.replace("google/", "")}:predict`);
    expect(sentHeaders(request)["authorization"]).toBe("Bearer token-1");
    expect(body["parameters"]).toEqual({ autoTruncate: false, outputDimensionality: 8 });
    expect((body["instances"] as unknown[])[0]).toEqual({
      content: "y",
      task_type: "RETRIEVAL_QUERY",
    });
  });

  it("go to newer models of Gemini by their own method", async () => {
    serve(() => ({ embedding: { values: [5] }, usageMetadata: { promptTokenCount: 1000 } }));
    const answer = await embed("google-vertex-ai/gemini-embedding-2");
    expect(await answer.json()).toMatchObject({
      data: [{ embedding: [5] }],
      usage: { prompt_tokens: 1000 },
    });
    expect(asked()).toMatchObject([
      {
        url: `${place}/gemini-embedding-2:embedContent`,
        body: { content: { parts: [{ text: "Hello" }] } },
      },
    ]);
    expect((await gate.logs("open", 1))[0]).toMatchObject({
      model: "gemini-embedding-2",
      cost: 0.0002,
    });
  });

  it("that fail come as an error of OpenAI", async () => {
    serve(() =>
      jsonReply({ error: { code: 403, message: "No access", status: "PERMISSION_DENIED" } }, 403),
    );
    const answer = await embed("google-vertex-ai/gemini-embedding-001");
    expect([answer.status, await answer.json()]).toMatchObject([
      403,
      { error: { message: "No access" } },
    ]);
  });
});

describe("requests of Azure", () => {
  it.each([
    ["open", "embeddings", "https://my-res.openai.azure.com/openai/v1/embeddings"],
    ["open", "images/generations", "https://my-res.openai.azure.com/openai/v1/images/generations"],
    ["open", "audio/speech", "https://my-res.openai.azure.com/openai/v1/audio/speech"],
    [
      "older",
      "embeddings",
      "https://old.openai.azure.com/openai/deployments/text-embedding-3-small/embeddings?api-version=2024-10-21",
    ],
  ])("of the gateway %s go as they are to %s", async (gateway, task, url) => {
    serve(() => ({ data: [], usage: { prompt_tokens: 1000, total_tokens: 1000 } }));
    const answer = await embed(
      "azure-openai/text-embedding-3-small",
      { dimensions: 8 },
      `${gateway}/compat/${task}`,
    );
    expect(answer.status).toBe(200);
    expect(asked()).toMatchObject([
      { url, body: { model: "text-embedding-3-small", input: "Hello", dimensions: 8 } },
    ]);
    if (task === "embeddings")
      expect((await gate.logs(gateway, 1))[0]).toMatchObject({ tokens_in: 1000, cost: 0.000_02 });
  });
});

describe("ranking by Bedrock", () => {
  it("takes Cohere's format", async () => {
    serve(() => ({ results: [{ index: 1, relevance_score: 0.9 }] }));
    const more = { input: undefined, query: "q", documents: ["a", "b"], top_n: 1 };
    const answer = await embed("aws-bedrock/cohere.rerank-v3-5:0", more, "open/compat/rerank");
    expect(await answer.json()).toEqual({ results: [{ index: 1, relevance_score: 0.9 }] });
    expect(asked()[0]?.url).toContain("/model/cohere.rerank-v3-5%3A0/invoke");
    expect(asked()[0]?.body).toEqual({
      query: "q",
      documents: ["a", "b"],
      top_n: 1,
      api_version: 2,
    });
    const other = await embed("aws-bedrock/amazon.nova-lite-v1:0", more, "open/compat/rerank");
    expect(other.status).toBe(400);
  });
});

describe("a virtual key", () => {
  it("embeds with the models that it allows, and with its limit", async () => {
    serve(titanReply);
    const models = ["aws-bedrock/amazon.titan-embed*"];
    const { key } = await virtualKeys(gate).make({
      models,
      limits: [{ limit: 1, limitType: "cost", window: 3600 }],
    });
    const path = "closed/compat/embeddings";
    expect((await embed(TITAN, {}, path, key)).status).toBe(200);
    expect((await embed("aws-bedrock/cohere.embed-v4:0", {}, path, key)).status).toBe(403);
    expect((await embed("google-vertex-ai/gemini-embedding-001", {}, path, key)).status).toBe(403);
    expect(asked()).toHaveLength(1);
  });
});
