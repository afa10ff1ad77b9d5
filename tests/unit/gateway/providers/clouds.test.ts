import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseConfig } from "../../../../core/config/parse-config.ts";
import type { InboundResponse, OutboundRequest } from "../../../../core/ports.ts";
import { bodyBudget } from "../../../../core/work/body-budget.ts";
import {
  awsFrame,
  expectedSignature,
  modelFrame,
  testAccount,
  type TestAccount,
} from "../../../fakes/clouds.ts";
import {
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  openToAll,
} from "../../../fakes/gateway-app.ts";
import { ask, eventsOf, native, parameters } from "../../../fakes/gateway-native-answers.ts";
import { jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";
import { virtualKeys } from "../../../fakes/virtual-keys.ts";

const AWS = { id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const entra = { tenantId: "tenant-1", clientId: "app-1", clientSecret: "entra-secret-0123456789" };
const CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const tools = [{ type: "function", function: { name: "weather", parameters } }];

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
      strangers: { authentication: false },
      older: {
        ...openToAll,
        providers: { "azure-openai": { resource: "old-res", apiVersion: "2024-10-21", ...entra } },
      },
      global: {
        ...openToAll,
        providers: {
          "google-vertex-ai": { project: "other", apiKey: "ya29.own" },
          "aws-bedrock": { region: "us-east-1", apiKey: "bedrock-api-key-0123456789" },
          "azure-openai": { baseUrl: "https://foundry.example/openai/v1", apiKey: "k" },
        },
      },
      bare: {
        ...openToAll,
        providers: { "azure-openai": {}, "google-vertex-ai": {}, "aws-bedrock": {} },
      },
    },
  });
  serve(() => jsonReply(native.anthropic.reply));
});
afterEach(() => gate.close());

let tokens = 0;
/** Answers as a cloud, whose tokens are those of Google or Entra. */
function serve(answer: (request: OutboundRequest) => InboundResponse): void {
  tokens = 0;
  gate.transport.behave = (request) => {
    const { host } = new URL(request.url);
    if (host !== "oauth2.googleapis.com" && host !== "login.microsoftonline.com")
      return answer(request);
    tokens++;
    return jsonReply({ access_token: `token-${tokens}`, expires_in: 3600, token_type: "Bearer" });
  };
}
/** The requests for models, and their bodies. */
const asked = (): { request: OutboundRequest; url: string; body: Record<string, unknown> }[] =>
  gate.transport.requests.flatMap((request, at) =>
    /googleapis\.com\/token|microsoftonline/.test(request.url)
      ? []
      : [
          {
            request,
            url: request.url,
            body: JSON.parse(gate.transport.bodies[at] ?? "{}") as Record<string, unknown>,
          },
        ],
  );
const chat = (model: string, more: object = {}, path = "open/compat/chat/completions") =>
  gate.send(path, jsonInit({ model, ...ask, ...more }));
const failing = async (answer: Response): Promise<string> => JSON.stringify(await answer.json());
const EVENTS = native.anthropic.events;
const frames = (events: readonly object[]): InboundResponse =>
  streamReply(events.map(modelFrame), { type: "application/vnd.amazon.eventstream" });
const sse = (events: readonly object[]): InboundResponse =>
  streamReply(events.map((event) => `data: ${JSON.stringify(event)}\n\n`));

describe("a model of Azure", () => {
  beforeEach(() => serve(() => jsonReply(native.openai.reply)));

  it.each([
    ["open", "chat/completions", "https://my-res.openai.azure.com/openai/v1/chat/completions"],
    ["open", "responses", "https://my-res.openai.azure.com/openai/v1/responses"],
    ["open", "messages", "https://my-res.openai.azure.com/openai/v1/chat/completions"],
    ["global", "chat/completions", "https://foundry.example/openai/v1/chat/completions"],
    [
      "older",
      "chat/completions",
      "https://old-res.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
    ],
    [
      "older",
      "responses",
      "https://old-res.openai.azure.com/openai/responses?api-version=2024-10-21",
    ],
    [
      "older",
      "messages",
      "https://old-res.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
    ],
  ])("of the gateway %s takes %s at %s", async (gateway, format, url) => {
    const answer = await gate.send(
      `${gateway}/compat/${format}`,
      jsonInit({ model: "azure-openai/gpt-4o", input: "Hi", ...ask, user: "u-1" }),
    );
    expect(answer.status).toBe(200);
    expect(JSON.stringify(await answer.json())).toContain("Hello");
    expect(asked().map((one) => one.url)).toEqual([url]);
    expect(asked()[0]?.body["model"]).toBe("gpt-4o");
    // What no translation knows passes.
    if (format === "chat/completions") expect(asked()[0]?.body["user"]).toBe("u-1");
    const row = (await gate.logs(gateway, 1))[0];
    expect(row).toMatchObject({ provider: "azure-openai", model: "gpt-4o", tokens_in: 10 });
  });

  it("is asked with the key in its own header, or a token of Entra", async () => {
    await chat("azure-openai/gpt-4o");
    expect(sentHeaders(asked()[0]?.request)["api-key"]).toBe("azure-key-0123456789");
    await chat("azure-openai/gpt-4o", {}, "older/compat/chat/completions");
    await chat("azure-openai/gpt-4o", {}, "older/compat/chat/completions");
    expect(asked().map(({ request }) => sentHeaders(request)["authorization"])).toEqual([
      undefined,
      "Bearer token-1",
      "Bearer token-1",
    ]);
    expect(tokens).toBe(1);
    const at = gate.transport.requests.findIndex(({ url }) => url.includes("microsoftonline"));
    expect(gate.transport.requests[at]?.url).toBe(
      "https://login.microsoftonline.com/tenant-1/oauth2/v2.0/token",
    );
    expect(Object.fromEntries(new URLSearchParams(gate.transport.bodies[at]))).toEqual({
      grant_type: "client_credentials",
      client_id: "app-1",
      client_secret: entra.clientSecret,
      scope: "https://cognitiveservices.azure.com/.default",
    });
  });

  it("takes a caller's own key, and a caller's own token", async () => {
    const send = (key: string) =>
      gate.send(
        "open/compat/chat/completions",
        jsonInit({ model: "azure-openai/gpt-4o", ...ask }, { authorization: `Bearer ${key}` }),
      );
    await send("own-key");
    await send("eyJ0.eyJ1.c2ln");
    const [first, second] = asked().map(({ request }) => sentHeaders(request));
    expect([first?.["api-key"], first?.["authorization"]]).toEqual(["own-key", undefined]);
    expect([second?.["api-key"], second?.["authorization"]]).toEqual([
      undefined,
      "Bearer eyJ0.eyJ1.c2ln",
    ]);
  });

  it("has no parameter that its model refuses", async () => {
    const answer = await chat("azure-openai/o3", { temperature: 0.5 });
    expect(asked()[0]?.body["temperature"]).toBeUndefined();
    expect(answer.headers.get("cf-aig-dropped")).toContain("temperature");
  });
});

describe("a model of Vertex AI", () => {
  const place =
    "https://europe-west1-aiplatform.googleapis.com/v1/projects/demo-project/locations/europe-west1";

  it("is asked with a token for which the service account has signed, kept and asked for once", async () => {
    await Promise.all([1, 2, 3].map(() => chat("google-vertex-ai/claude-sonnet-4-5@20250929")));
    expect(tokens).toBe(1);
    for (const { request } of asked())
      expect(sentHeaders(request)["authorization"]).toBe("Bearer token-1");
    const at = gate.transport.requests.findIndex(({ url }) => url.includes("oauth2"));
    // Whatever address the key names.
    expect(gate.transport.requests[at]?.url).toBe("https://oauth2.googleapis.com/token");
    const form = new URLSearchParams(gate.transport.bodies[at]);
    expect(form.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const claims = await account.claimsOf(form.get("assertion") ?? "");
    expect(claims).toMatchObject({
      alg: "RS256",
      kid: "key-1",
      iss: "gateway@demo-project.iam.gserviceaccount.com",
      aud: "https://oauth2.googleapis.com/token",
      scope: "https://www.googleapis.com/auth/cloud-platform",
    });
    expect(Number(claims["exp"]) - Number(claims["iat"])).toBe(3600);
  });

  it.each([
    ["chat/completions", false],
    ["responses", false],
    ["messages", false],
    ["chat/completions", true],
    ["responses", true],
    ["messages", true],
  ])("of Anthropic takes %s (stream: %s)", async (format, stream) => {
    serve(() => (stream ? sse(EVENTS) : jsonReply(native.anthropic.reply)));
    const answer = await gate.send(
      `open/compat/${format}`,
      jsonInit({
        model: "google-vertex-ai/claude-sonnet-4-5@20250929",
        input: "Hi",
        max_output_tokens: 64,
        ...ask,
        stream,
      }),
    );
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("Hello");
    const [{ url, body } = asked()[0]!] = asked();
    const method = stream ? "streamRawPredict" : "rawPredict";
    expect(url).toBe(`${place}/publishers/anthropic/models/claude-sonnet-4-5@20250929:${method}`);
    expect(body).toMatchObject({ anthropic_version: "vertex-2023-10-16", max_tokens: 64 });
    expect(body).not.toHaveProperty("model");
    expect(body["stream"] ?? false).toBe(stream);
    const row = (await gate.logs("open", 1))[0];
    expect(row).toMatchObject({
      model: "claude-sonnet-4-5@20250929",
      tokens_in: 10,
      tokens_out: 6,
    });
    // A tenth more in a region: 6 tokens of 3 USD, 4 cached ones of 0.3, 6 of 15.
    expect(row?.["cost"]).toBeCloseTo(((6 * 3 + 4 * 0.3 + 6 * 15) * 1.1) / 1e6, 12);
  });

  it.each([[false], [true]])("of Google takes chats with tools (stream: %s)", async (stream) => {
    serve(() => (stream ? sse(native.gemini.events) : jsonReply(native.gemini.reply)));
    const answer = await chat(
      "google-vertex-ai/gemini-2.5-pro",
      { tools, stream },
      "global/compat/chat/completions",
    );
    const text = await answer.text();
    expect(text).toContain("Hello");
    expect(text).toContain('"name":"weather"');
    expect(asked()[0]?.url).toBe(
      `https://aiplatform.googleapis.com/v1/projects/other/locations/global/publishers/google/models/gemini-2.5-pro:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    );
    expect(sentHeaders(asked()[0]?.request)["authorization"]).toBe("Bearer ya29.own");
  });

  it("of another author takes chats at the endpoint in OpenAI's format", async () => {
    serve(() => jsonReply(native.openai.reply));
    await chat("google-vertex-ai/meta/llama-4-maverick-17b-128e-instruct-maas", { user: "u" });
    expect(asked()[0]).toMatchObject({
      url: `${place}/endpoints/openapi/chat/completions`,
      body: { model: "meta/llama-4-maverick-17b-128e-instruct-maas", user: "u" },
    });
  });

  it("says in the client's format what Google refuses", async () => {
    const error = { code: 429, message: "Quota exceeded", status: "RESOURCE_EXHAUSTED" };
    serve(() => jsonReply([{ error }], 429));
    const answer = await chat("google-vertex-ai/claude-opus-4-5", {}, "open/compat/messages");
    expect(answer.status).toBe(429);
    expect(await answer.json()).toMatchObject({
      type: "error",
      error: { type: "rate_limit_error", message: "Quota exceeded" },
    });
  });

  it("is not asked where there is no token, which is not kept", async () => {
    gate.transport.behave = () =>
      jsonReply({ error: "invalid_grant", error_description: "Bad key" }, 400);
    for (const _ of [1, 2]) {
      const answer = await chat("google-vertex-ai/claude-opus-4-5");
      expect(answer.status).toBe(502);
      expect(await failing(answer)).toContain(
        "No access token came from oauth2.googleapis.com: Bad key",
      );
    }
    expect(gate.transport.requests).toHaveLength(2);
    serve(() => jsonReply(native.anthropic.reply));
    expect((await chat("google-vertex-ai/claude-opus-4-5")).status).toBe(200);
  });

  it("gets a new token before the old one ends", async () => {
    await chat("google-vertex-ai/claude-opus-4-5");
    let answer = jsonReply({ access_token: "short", expires_in: 200 });
    gate.transport.behave = ({ url }) =>
      url.includes("oauth2") ? answer : jsonReply(native.anthropic.reply);
    const other = { ...JSON.parse(account.json), client_email: "b@demo.iam.gserviceaccount.com" };
    await gate.create("own");
    await gate.manage("/gateways/own/provider_configs", {
      method: "POST",
      ...jsonInit({
        provider_slug: "google-vertex-ai",
        alias: "default",
        default_config: true,
        secret: JSON.stringify(other),
      }),
    });
    await chat("google-vertex-ai/claude-opus-4-5", {}, "own/compat/chat/completions");
    answer = jsonReply({ access_token: "next", expires_in: 3600 });
    await chat("google-vertex-ai/claude-opus-4-5", {}, "own/compat/chat/completions");
    expect(asked().map(({ request }) => sentHeaders(request)["authorization"])).toEqual([
      "Bearer token-1",
      "Bearer short",
      "Bearer next",
    ]);
  });
});

describe("a model of Bedrock", () => {
  it.each([
    ["chat/completions", false],
    ["responses", false],
    ["messages", false],
    ["chat/completions", true],
    ["responses", true],
    ["messages", true],
  ])("takes %s (stream: %s), signed", async (format, stream) => {
    serve(() => (stream ? frames(EVENTS) : jsonReply(native.anthropic.reply)));
    const answer = await gate.send(
      `open/compat/${format}`,
      jsonInit(
        { model: `aws-bedrock/${CLAUDE}`, input: "Hi", max_output_tokens: 64, ...ask, stream },
        { "anthropic-beta": "one-2025-01-01, two-2025-01-01" },
      ),
    );
    expect(answer.status).toBe(200);
    if (stream) expect(answer.headers.get("content-type")).toContain("text/event-stream");
    const text = await answer.text();
    expect(text).toContain("Hello");
    const [{ url, body, request } = asked()[0]!] = asked();
    expect(url).toBe(
      `https://bedrock-runtime.eu-central-1.amazonaws.com/model/${encodeURIComponent(CLAUDE)}/${stream ? "invoke-with-response-stream" : "invoke"}`,
    );
    expect(body).toMatchObject({ anthropic_version: "bedrock-2023-05-31", max_tokens: 64 });
    expect(body).not.toHaveProperty("model");
    expect(body).not.toHaveProperty("stream");
    if (format === "messages")
      expect(body["anthropic_beta"]).toEqual(["one-2025-01-01", "two-2025-01-01"]);
    const signature = await expectedSignature(request, { ...AWS, region: "eu-central-1" });
    expect(sentHeaders(request)["authorization"]).toBe(signature);
    const row = (await gate.logs("open", 1))[0];
    expect(row).toMatchObject({ tokens_in: 10, tokens_out: 6, success: true });
    expect(row?.["cost"]).toBeCloseTo(((6 * 3 + 4 * 0.3 + 6 * 15) * 1.1) / 1e6, 12);
  });

  it("streams messages with the events that Anthropic's own client reads", async () => {
    serve(() => frames(EVENTS));
    const answer = await chat(`aws-bedrock/${CLAUDE}`, { stream: true }, "open/compat/messages");
    expect((await eventsOf(answer)).map(({ type }) => type)).toEqual(
      EVENTS.map(({ type }) => type),
    );
  });

  it("reads frames wherever the network divides them", async () => {
    const all = EVENTS.map(modelFrame).flatMap((one) => [...one]);
    for (const size of [1, 13, 500]) {
      const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
        Uint8Array.from(all.slice(at * size, (at + 1) * size)),
      );
      serve(() => streamReply(pieces, { type: "application/vnd.amazon.eventstream" }));
      const answer = await chat(`aws-bedrock/${CLAUDE}`, { stream: true }, "open/compat/messages");
      expect(await eventsOf(answer)).toHaveLength(EVENTS.length);
    }
  });

  it("ends a stream that Bedrock breaks off with the error", async () => {
    const headers = { ":message-type": "exception", ":exception-type": "throttlingException" };
    serve(() =>
      streamReply([modelFrame(EVENTS[0]), awsFrame(headers, { message: "Too many tokens" })], {
        type: "application/vnd.amazon.eventstream",
      }),
    );
    const answer = await chat(`aws-bedrock/${CLAUDE}`, { stream: true }, "open/compat/messages");
    expect((await eventsOf(answer)).at(-1)).toEqual({
      type: "error",
      error: { type: "rate_limit_error", message: "Too many tokens" },
    });
  });

  it("breaks off a stream that was cut within a frame", async () => {
    const [first, second] = EVENTS.map(modelFrame);
    serve(() =>
      streamReply([first!, second!.subarray(0, 20)], {
        type: "application/vnd.amazon.eventstream",
      }),
    );
    const answer = await chat(`aws-bedrock/${CLAUDE}`, { stream: true }, "open/compat/messages");
    await expect(answer.text()).rejects.toThrow();
  });

  it.each([
    [400, "Input is too long for requested model", "open/compat/messages", "prompt is too long"],
    [
      400,
      "Input is too long for requested model",
      "open/compat/chat/completions",
      "context_length_exceeded",
    ],
    [429, "Too many requests", "open/compat/messages", "rate_limit_error"],
    [403, "The security token is invalid", "open/compat/chat/completions", "security token"],
  ])("answers a %i with the error in the client's format", async (status, message, path, words) => {
    serve(() => jsonReply({ message }, status));
    const answer = await chat(`aws-bedrock/${CLAUDE}`, {}, path);
    expect(answer.status).toBe(status);
    expect(await failing(answer)).toContain(words);
  });

  it("is asked with an API key where there is one, and of OpenAI in OpenAI's format", async () => {
    serve(() => jsonReply(native.openai.reply));
    await chat("aws-bedrock/openai.gpt-oss-120b-1:0", {}, "global/compat/chat/completions");
    expect(asked()[0]).toMatchObject({
      url: "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions",
      body: { model: "openai.gpt-oss-120b-1:0" },
    });
    expect(sentHeaders(asked()[0]?.request)["authorization"]).toBe(
      "Bearer bedrock-api-key-0123456789",
    );
  });

  it("is signed at its own path too, and sent as it came with a signature of the caller's", async () => {
    const path =
      "open/aws-bedrock/bedrock-runtime/us-west-2/model/amazon.nova-lite-v1%3A0/converse";
    serve(() => jsonReply({ output: {} }));
    await gate.send(path, jsonInit({ messages: [] }));
    const [{ request } = asked()[0]!] = asked();
    expect(sentHeaders(request)["authorization"]).toBe(
      await expectedSignature(request, { ...AWS, region: "us-west-2" }),
    );
    await gate.send(path, jsonInit({ messages: [] }, { authorization: "AWS4-HMAC-SHA256 own" }));
    expect(sentHeaders(asked()[1]?.request)["authorization"]).toBe("AWS4-HMAC-SHA256 own");
  });

  it("waits for room for its body, which the signature covers", async () => {
    const key = { region: "us-east-1", accessKeyId: AWS.id, secretAccessKey: AWS.secret };
    const bodies = bodyBudget(64 * 1024);
    const tight = await gatewayUnderTest({ providers: { "aws-bedrock": key } }, { bodies });
    const path =
      "open/aws-bedrock/bedrock-runtime/us-west-2/model/amazon.nova-lite-v1%3A0/converse";
    const answer = await tight.send(path, jsonInit({ text: "x".repeat(200_000) }));
    expect(answer.status).toBe(429);
    expect(tight.transport.requests).toEqual([]);
    await tight.close();
  });

  it("of another author is refused here, and said where it goes", async () => {
    const answer = await chat("aws-bedrock/amazon.nova-lite-v1:0");
    expect(answer.status).toBe(400);
    expect(await failing(answer)).toContain("send Converse to its own path");
    expect(gate.transport.requests).toEqual([]);
  });
});

describe("the place of a cloud", () => {
  it.each([
    ["azure-openai/gpt-4o", "needs the name of a resource"],
    ["google-vertex-ai/gemini-2.5-pro", "needs a project"],
    [`aws-bedrock/${CLAUDE}`, "needs a region"],
  ])("of %s is asked for where no setting says it", async (model, problem) => {
    const answer = await chat(model, {}, "bare/compat/chat/completions");
    expect(answer.status).toBe(400);
    expect(await failing(answer)).toContain(problem);
  });

  it.each([
    ["google-vertex-ai/../../x", ""],
    ["google-vertex-ai/gemini:predict?x", "is not a model"],
    ["aws-bedrock/anthropic.claude/../../x y", "not"],
    ["azure-openai/../x", ""],
  ])("is not left by the model %s", async (model, words) => {
    for (const gateway of ["open", "older"]) {
      const answer = await chat(model, {}, `${gateway}/compat/chat/completions`);
      const text = await answer.text();
      if (words !== "") expect(text).toContain(words);
    }
    for (const { url } of asked())
      expect(url).toMatch(
        /^https:\/\/(?:europe-west1-aiplatform\.googleapis\.com\/v1\/projects\/demo-project\/locations\/europe-west1\/endpoints\/openapi\/chat\/completions$|my-res\.openai\.azure\.com\/openai\/v1\/|bedrock-runtime\.eu-central-1\.amazonaws\.com\/model\/[^/]+\/invoke$)/,
      );
  });

  it("may stand in a stored key, which is checked when it is stored", async () => {
    await gate.create("own");
    const store = (provider_slug: string, secret: string, alias = "default") =>
      gate.manage("/gateways/own/provider_configs", {
        method: "POST",
        ...jsonInit({ provider_slug, alias, default_config: true, secret }),
      });
    const settings = { region: "ap-south-1", accessKeyId: AWS.id, secretAccessKey: AWS.secret };
    for (const [wrong, words] of [
      [{ regoin: "ap-south-1" }, 'did you mean \\"region\\"'],
      [{ region: "AP SOUTH" }, "region: expected a region"],
      [{ accessKeyId: AWS.id }, "secretAccessKey: needed beside accessKeyId"],
      [{ resource: "r" }, 'unknown member \\"resource\\"'],
    ] as const) {
      const { status, body } = await store("aws-bedrock", JSON.stringify(wrong));
      expect(status).toBe(400);
      expect(JSON.stringify(body.errors)).toContain(words);
      expect(JSON.stringify(body)).not.toContain(AWS.secret);
    }
    const { status, body } = await store("aws-bedrock", JSON.stringify(settings));
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain(AWS.secret);
    await chat(`aws-bedrock/${CLAUDE}`, {}, "own/compat/messages");
    const [{ request } = asked()[0]!] = asked();
    expect(request.url).toContain("https://bedrock-runtime.ap-south-1.amazonaws.com/");
    expect(sentHeaders(request)["authorization"]).toBe(
      await expectedSignature(request, { ...AWS, region: "ap-south-1" }),
    );
    expect(
      (await store("google-vertex-ai", "{}".replace("}", '"type":"service_account"}'))).status,
    ).toBe(400);
  });

  it("is no stranger's, who is not shown a credential", async () => {
    for (const model of [
      "azure-openai/gpt-4o",
      "google-vertex-ai/claude-x",
      `aws-bedrock/${CLAUDE}`,
    ])
      expect((await chat(model, {}, "strangers/compat/chat/completions")).status).toBe(401);
    expect(gate.transport.requests).toEqual([]);
  });

  it("is where a virtual key may use the model that it allows", async () => {
    const models = ["aws-bedrock/us.anthropic.claude-sonnet-4-5*", "google-vertex-ai/claude-*"];
    const { key } = await virtualKeys(gate).make({ models });
    const send = (model: string, format: string) =>
      gate.send(`closed/compat/${format}`, { ...jsonInit({ model, ...ask }), token: key });
    for (const format of ["messages", "chat/completions"]) {
      expect((await send(`aws-bedrock/${CLAUDE}`, format)).status).toBe(200);
      expect((await send("google-vertex-ai/claude-opus-4-5", format)).status).toBe(200);
      expect((await send("google-vertex-ai/gemini-2.5-pro", format)).status).toBe(403);
      expect((await send("azure-openai/gpt-4o", format)).status).toBe(403);
    }
  });

  it.each([
    ["azure-openai", { region: "us-east-1" }, '"region" is not a setting of "azure-openai"'],
    ["azure-openai", { resource: "a.b" }, "resource: expected the name of a resource"],
    ["azure-openai", { apiVersion: "latest&x=1" }, "apiVersion: expected a version"],
    ["azure-openai", { tenantId: "t" }, "clientId: needed beside tenantId"],
    ["google-vertex-ai", { serviceAccount: "{}x" }, "serviceAccount: expected the JSON"],
    ["google-vertex-ai", { serviceAccount: '{"client_email":"a@b.c"}' }, '"private_key"'],
    ["google-vertex-ai", { project: "A/../B" }, "project: expected the id of a project"],
    ["aws-bedrock", { region: "eu/../x" }, "region: expected a region"],
    ["aws-bedrock", { secretAccessKey: "has blank" }, "secretAccessKey: expected printable"],
    ["openai", { region: "us" }, '"region" is not a setting of "openai"'],
    ["aws-bedrock", { regoin: "us-east-1" }, "region"],
  ])("in the file: %s %j is refused", (slug, settings, words) => {
    const parse = () =>
      parseConfig({ gateway: { providers: { [slug]: settings } } }, () => undefined);
    expect(parse).toThrow(words);
  });
});
