import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

const OWN = { authorization: "Bearer sk-of-the-caller" };
let gate: GatewayUnderTest;

beforeEach(async () => {
  gate = await gatewayUnderTest({
    providers: {
      "custom-acme": { baseUrl: "https://llm.acme.test", apiKey: "sk-acme" },
      "workers-ai": { baseUrl: "https://api.cloudflare.test/ai", apiKey: "sk-cf" },
      "aws-bedrock": { apiKey: "sk-aws" },
      openrouter: { apiKey: "sk-or" },
      "google-vertex-ai": { apiKey: "ya29-vertex" },
    },
  });
  for (const slug of ["openai", "anthropic", "google-ai-studio", "mistral", "fal", "replicate"]) {
    const key = { alias: "default", default_config: true, provider_slug: slug };
    const body = { ...key, secret: `sk-stored-${slug}` };
    await gate.manage("/gateways/closed/provider_configs", { method: "POST", ...jsonInit(body) });
  }
  gate.transport.behave = () => jsonReply({ id: "x" });
});
afterEach(() => gate.close());

async function made(settings: object = {}): Promise<{ id: string; key: string }> {
  const init = { method: "POST", ...jsonInit({ name: "team", ...settings }) };
  const { status, body } = await gate.manage("/virtual-keys", init);
  if (status !== 200) throw new Error(JSON.stringify(body.errors));
  return body.result;
}
const ask = (token: string, path: string, init: RequestInit = {}): Promise<Response> =>
  gate.send(`closed/${path}`, { token, ...init });
/** The status, and whether a provider was asked. */
async function outcome(answer: Promise<Response>): Promise<string> {
  const before = gate.transport.requests.length;
  const response = await answer;
  const text = await response.text();
  if (response.status === 403 && text !== "") expect(text).toContain("virtual key");
  return `${response.status} ${gate.transport.requests.length > before ? "sent" : "held"}`;
}
const post = (token: string, path: string, body: object, headers = {}): Promise<string> =>
  outcome(ask(token, path, jsonInit(body, headers)));

describe("a virtual key with the operator's credential", () => {
  it("makes inferences, and reads, changes or deletes nothing of its account", async () => {
    const { key } = await made();
    expect(await post(key, "openai/v1/chat/completions", chat)).toBe("200 sent");
    expect(await post(key, "openai/responses", { model: "m", input: "hi" })).toBe("200 sent");
    expect(await post(key, "custom-acme/v1/chat/completions", chat)).toBe("200 sent");
    for (const [method, path] of [
      ["GET", "openai/v1/files"],
      ["GET", "openai/v1/files/file-1/content"],
      ["DELETE", "openai/v1/files/file-1"],
      ["GET", "openai/v1/responses/resp_1"],
      ["DELETE", "openai/v1/responses/resp_1"],
      ["GET", "openai/v1/chat/completions"],
      ["GET", "openai/v1/models"],
      ["GET", "openai/v1/organization/usage/completions"],
      ["HEAD", "openai/v1/files"],
      ["OPTIONS", "openai/v1/files"],
      ["PUT", "openai/v1/chat/completions"],
      ["GET", "google-ai-studio/v1beta/files"],
      ["GET", "custom-acme/v1/models"],
      ["GET", "replicate/v1/predictions"],
    ] as const)
      expect([method, path, await outcome(ask(key, path, { method }))]).toEqual([
        method,
        path,
        "403 held",
      ]);
    for (const path of [
      "openai/v1/batches",
      "openai/v1/fine_tuning/jobs",
      "anthropic/v1/messages/batches",
    ])
      expect([path, await post(key, path, { metadata: { model: "gpt-4o" } })]).toEqual([
        path,
        "403 held",
      ]);
    // Nobody else is held to that.
    expect(await outcome(ask(API_TOKEN, "openai/v1/files", { method: "GET" }))).toBe("200 sent");
  });

  it("is held to it however a request is written", async () => {
    const { key } = await made();
    for (const path of [
      "openai/v1//files",
      "openai//v1/chat/completions",
      "openai/v1/chat/completions/",
      "openai/V1/CHAT/completions",
      "openai/v1/chat%2Fcompletions",
      "openai/v1/chat/completions;x=1",
      "openai/v1/chat/completions%3Fx",
      "google-ai-studio/v1beta/models/a%2F..%2F..%2Ffiles%3Fx:generateContent",
      "google-ai-studio/v1beta/models/a%252F..%252Fb:generateContent",
      "google-ai-studio/v1beta/models/%2e%2e:generateContent",
      "google-ai-studio/v1beta/models/g:generateContent?%24httpMethod=GET",
      "google-ai-studio/v1beta/models/g:generateContent?$userProject=other",
      "openai/v1/chat/completions?_method=DELETE",
    ])
      expect([path, await post(key, path, chat)]).toEqual([
        path,
        expect.stringMatching(/^40[03] held$/),
      ]);
    for (const header of [
      "x-http-method-override",
      "X-HTTP-Method",
      "x-method-override",
      "x-original-url",
      "x-rewrite-url",
    ]) {
      const asked = post(key, "openai/v1/chat/completions", chat, { [header]: "DELETE" });
      expect([header, await asked]).toEqual([header, "403 held"]);
    }
    const target = { "x-fal-target-url": "https://queue.fal.run/fal-ai/flux" };
    expect(await post(key, "fal/fal-ai/flux", { prompt: "x" }, target)).toBe("403 held");
    expect(await post(key, "fal/fal-ai/flux", { prompt: "x" })).toBe("200 sent");
  });

  it("is held to it at every endpoint", async () => {
    const { key } = await made();
    const step = (provider: string, endpoint: string, query: object = chat): object => ({
      provider,
      endpoint,
      headers: {},
      query,
    });
    expect(await post(key, "", [step("openai", "chat/completions")])).toBe("200 sent");
    for (const one of [
      step("openai", "v1/files"),
      step("openai", "/v1/batches"),
      step("openai", "v1/responses", { model: "m", input: "x", previous_response_id: "resp_1" }),
      step("openai", "v1/chat/completions#/../files"),
    ])
      expect(await post(key, "", [one])).toMatch(/^40[03] held$/);
    // The next step may go on.
    const response = await ask(
      key,
      "",
      jsonInit([step("openai", "v1/files"), step("openai", "responses")]),
    );
    expect([response.status, response.headers.get("cf-aig-step")]).toEqual([200, "1"]);
    for (const path of ["compat/chat/completions", "compat/responses"])
      expect(await post(key, path, { ...chat, input: "x", model: "openai/gpt-4o" })).toBe(
        "200 sent",
      );
    const stored = { model: "openai/gpt-4o", input: "x", previous_response_id: "resp_1" };
    expect(await post(key, "compat/responses", stored)).toBe("403 held");
  });

  it("gets more by its paths, whose versions do not matter", async () => {
    const paths = [
      "GET openai/v1/files/*",
      "DELETE openai/files/file-own",
      "* mistral/*",
      "GET */models",
    ];
    const { key, id } = await made({ paths });
    expect((await gate.manage(`/virtual-keys/${id}`)).body.result).toMatchObject({ paths });
    for (const [method, path, result] of [
      ["GET", "openai/v1/files/file-1", "200 sent"],
      ["GET", "openai/files/file-1/content", "200 sent"],
      ["DELETE", "openai/v1/files/file-own", "200 sent"],
      ["DELETE", "openai/v1/files/file-other", "403 held"],
      ["GET", "openai/v1/files", "403 held"],
      ["HEAD", "openai/v1/files/file-1", "403 held"],
      ["GET", "openai/v1/files/..%2Fbatches", "403 held"],
      ["GET", "openai/v1/files/%252e%252e/batches", "403 held"],
      ["GET", "openai/v1/models", "200 sent"],
      ["DELETE", "openai/v1/models", "403 held"],
      ["GET", "mistral/v1/files", "200 sent"],
      ["DELETE", "mistral/v1/files/f", "200 sent"],
    ] as const)
      expect([method, path, await outcome(ask(key, path, { method }))]).toEqual([
        method,
        path,
        result,
      ]);
    const change = { method: "PATCH", ...jsonInit({ paths: [] }) };
    await gate.manage(`/virtual-keys/${id}`, change);
    expect(await outcome(ask(key, "openai/v1/models", { method: "GET" }))).toBe("403 held");
  });

  it.each([
    ["openai/v1/models"],
    ["get openai/v1/models"],
    ["GET openai"],
    ["GET /v1/models"],
    ["GET openai/a b"],
    [7],
  ])("is not made with the path %j", async (path) => {
    const init = { method: "POST", ...jsonInit({ name: "bad", paths: [path] }) };
    const { status, body } = await gate.manage("/virtual-keys", init);
    expect([status, body.errors[0]?.message]).toEqual([400, expect.stringContaining("paths")]);
  });

  it("says what to do in a refusal", async () => {
    const { key } = await made();
    const listed = await ask(key, "openai/v1/files", { method: "GET" });
    expect(await listed.text()).toContain(
      'add \\"GET openai/v1/files\\" to the key\'s \\"paths\\"',
    );
    const body = { model: "m", input: "x", previous_response_id: "resp_1" };
    const referred = await ask(key, "openai/v1/responses", jsonInit(body));
    expect(await referred.text()).toContain('\\"GET openai/responses/resp_1\\"');
    const { key: opened } = await made({ paths: ["GET openai/responses/resp_1"] });
    expect(await post(opened, "openai/v1/responses", body)).toBe("200 sent");
    expect(
      await post(opened, "openai/v1/responses", { ...body, previous_response_id: "resp_2" }),
    ).toBe("403 held");
  });

  it("is not limited with a credential of the caller's own", async () => {
    const { key } = await made();
    const headers = { ...OWN, "openai-organization": "org-mine" };
    expect(await outcome(ask(key, "openai/v1/files", { method: "GET", headers }))).toBe("200 sent");
    const sent = sentHeaders(gate.transport.requests.at(-1));
    expect(sent).toMatchObject(headers);
    for (const value of ["", "Bearer", "Bearer ", `Bearer ${key}`]) {
      const blank = { authorization: value };
      expect(await outcome(ask(key, "openai/v1/files", { method: "GET", headers: blank }))).toBe(
        "403 held",
      );
    }
  });

  it("chooses no organisation, project or workspace of the account", async () => {
    const { key } = await made();
    const chosen = {
      "openai-organization": "org-other",
      "openai-project": "proj-other",
      "anthropic-workspace-id": "w",
      "x-goog-user-project": "p",
      "x-hf-bill-to": "o",
      "openai-beta": "kept",
    };
    expect(await post(key, "openai/v1/chat/completions", chat, chosen)).toBe("200 sent");
    const sent = sentHeaders(gate.transport.requests.at(-1));
    expect(Object.keys(chosen).filter((name) => name in sent)).toEqual(["openai-beta"]);
    expect(await post(API_TOKEN, "openai/v1/chat/completions", chat, chosen)).toBe("200 sent");
    expect(sentHeaders(gate.transport.requests.at(-1))).toMatchObject(chosen);
    // Strangers that may use the operator's keys choose as little.
    await gate.send("open/custom-acme/v1/chat/completions", jsonInit(chat, chosen));
    expect(sentHeaders(gate.transport.requests.at(-1))["openai-project"]).toBeUndefined();
  });
});

async function packedBytes(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Response(text).body?.pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed ?? null).arrayBuffer());
}
const part = (content: object): object => ({ messages: [{ role: "user", content: [content] }] });
const item = (content: object): object => ({ input: [{ role: "user", content: [content] }] });

describe("what is kept at a provider", () => {
  const responses = "openai/v1/responses";
  const completions = "openai/v1/chat/completions";
  const messages = "anthropic/v1/messages";
  const gemini = "google-ai-studio/v1beta/models/g:generateContent";
  const bedrock = "aws-bedrock/bedrock-runtime/us-east-1/model";
  const stored = { s3Location: { uri: "s3://b/a" } };
  const picture = { type: "image", source: { type: "file", file_id: "file_1" } };
  const pictures = { type: "document", source: { type: "content", content: [picture] } };
  it.each<[string, object]>([
    [responses, { previous_response_id: "resp_1" }],
    [responses, { PREVIOUS_RESPONSE_ID: "resp_1" }],
    [responses, { conversation: "conv_1" }],
    [responses, { conversation: { id: "conv_1" } }],
    [responses, { prompt: { id: "pmpt_1", variables: {} } }],
    [responses, { input: [{ type: "item_reference", id: "msg_1" }] }],
    [responses, { input: [{ id: "msg_1" }] }],
    [responses, { input: [{ type: "reasoning", id: "rs_1", summary: [] }] }],
    [responses, { input: [{ type: "image_generation_call", id: "ig_1", content: "x" }] }],
    [responses, { input: [{ type: "something_new", id: "x_1", content: "x" }] }],
    [responses, { input: [{ type: ["message"], id: "msg_1", content: "x" }] }],
    [responses, item({ type: "input_file", file_id: "file-1" })],
    [responses, item({ type: "input_image", file_id: "file-1" })],
    [responses, { tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] }],
    [responses, { tools: [{ type: "code_interpreter", container: "cntr_1" }] }],
    [
      responses,
      { tools: [{ type: "code_interpreter", container: { type: "auto", file_ids: ["file-1"] } }] },
    ],
    [responses, { tools: [{ type: "image_generation", input_image_mask: { file_id: "file-1" } }] }],
    [responses, { tools: [{ type: "mcp", tunnel_id: "t" }] }],
    [completions, part({ type: "file", file: { file_id: "file-1" } })],
    [completions, { messages: [{ role: "assistant", audio: { id: "audio_1" } }] }],
    ["openai/v1/images/edits", { images: [{ file_id: "file-1" }], prompt: "x" }],
    [messages, part({ type: "document", source: { type: "file", file_id: "file_1" } })],
    [messages, part({ type: "container_upload", file_id: "file_1" })],
    [
      messages,
      part({ type: "tool_result", content: [{ type: "image", source: { file_id: "f" } }] }),
    ],
    [messages, part(pictures)],
    [messages, part({ type: "tool_result", content: [pictures] })],
    [messages, { container: "container_1" }],
    [messages, { container: { id: "container_1" } }],
    [messages, { container: { skills: [{ type: "custom", skill_id: "skill_1" }] } }],
    [gemini, { cachedContent: "cachedContents/a" }],
    [gemini, { cached_content: "cachedContents/a" }],
    [
      gemini,
      {
        contents: [
          {
            parts: [
              { fileData: { fileUri: "https://generativelanguage.googleapis.com/v1beta/files/a" } },
            ],
          },
        ],
      },
    ],
    [
      gemini,
      {
        contents: [
          { parts: [{ fileData: { fileUri: "https://storage.googleapis.com./bucket/a" } }] },
        ],
      },
    ],
    [gemini, { contents: { parts: { file_data: { file_uri: "files/a" } } } }],
    [gemini, { contents: [{ parts: [{ fileData: { fileUri: "gs://bucket/a" } }] }] }],
    [gemini, { tools: [{ fileSearch: { fileSearchStoreNames: ["fileSearchStores/a"] } }] }],
    [gemini, { tools: [{ retrieval: { externalApi: { endpoint: "https://caller.test" } } }] }],
    [gemini, { tools: [{ googleMaps: { authConfig: { apiKeyConfig: { apiKeySecret: "s" } } } }] }],
    ["openai/v1/audio/speech", { input: "x", voice: { id: "voice_1" } }],
    ["openrouter/v1/chat/completions", { ...chat, model: "openai/gpt-4o@preset/other" }],
    ["openrouter/v1/chat/completions", { ...chat, preset: "other" }],
    ["workers-ai/run/@cf/meta/llama", { request_id: "r" }],
    [
      "aws-bedrock/bedrock-runtime/us-east-1/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aprompt%2FP/converse",
      {},
    ],
    [
      "aws-bedrock/bedrock-runtime/us-east-1/model/nova/converse",
      part({ video: { source: { s3Location: { uri: "s3://b/a" } } } }),
    ],
    [
      "aws-bedrock/bedrock-runtime/us-east-1/model/pegasus/invoke",
      { mediaSource: { s3Location: { uri: "s3://b/a" } } },
    ],
    [`${bedrock}/nova-embeddings/invoke`, { singleEmbeddingParams: { image: { source: stored } } }],
    [`${bedrock}/marengo/invoke`, { inputType: "image", image: { mediaSource: stored } }],
    [`${bedrock}/other/invoke`, { input: stored }],
    [
      "google-vertex-ai/v1/projects/p/locations/l/publishers/google/models/imagen:predict",
      { instances: [{ referenceImages: [{ referenceImage: { gcsUri: "gs://b/a" } }] }] },
    ],
    ["mistral/v1/ocr", { document: { type: "file", file_id: "f" } }],
    [
      "replicate/v1/predictions",
      { version: "v", input: { image: "https://api.replicate.com/v1/files/a" } },
    ],
  ])("is closed to a virtual key at %s: %j", async (path, body) => {
    const { key } = await made();
    const collection = path.startsWith("openai") ? "openai" : path.slice(0, path.indexOf("/"));
    expect(await post(key, path, { model: "m", ...body })).toBe("403 held");
    const { key: opened } = await made({ paths: [`GET ${collection}/*`] });
    expect(await post(opened, path, { model: "m", ...body })).toBe("200 sent");
  });

  it.each<[string, object]>([
    [responses, { previous_response_id: null, store: true, input: [] }],
    [
      responses,
      { input: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "x" }] },
    ],
    [responses, { input: [{ type: "message", role: "assistant", id: "msg_1", content: [] }] }],
    [
      responses,
      {
        input: [
          {
            type: "function_call",
            id: "fc_1",
            call_id: "c",
            name: "f",
            arguments: '{"file_id":"x"}',
          },
          { type: "function_call_output", call_id: "c", output: "previous_response_id" },
        ],
      },
    ],
    [responses, { tools: [{ type: "code_interpreter", container: { type: "auto" } }] }],
    [responses, { input: [{ type: "image_generation_call", id: "ig_1", result: "aGk=" }] }],
    [responses, { input: [{ id: "msg_1", role: "user", content: "hi" }] }],
    [completions, { ...chat, metadata: { file_id: "mine", previous_response_id: "x" } }],
    [
      completions,
      {
        ...chat,
        tools: [
          {
            type: "function",
            function: { name: "f", parameters: { properties: { file_id: { type: "string" } } } },
          },
        ],
      },
    ],
    [completions, { messages: [{ role: "user", content: 'Say "file_id": "x"' }] }],
    [
      messages,
      part({ type: "tool_use", id: "t", name: "f", input: { file_id: "mine", container: "x" } }),
    ],
    [messages, { container: { skills: [{ type: "anthropic", skill_id: "pptx" }] } }],
    [
      gemini,
      { contents: [{ parts: [{ fileData: { fileUri: "https://www.youtube.com/watch?v=a" } }] }] },
    ],
    [
      gemini,
      { contents: [{ parts: [{ functionCall: { name: "f", args: { fileUri: "files/a" } } }] }] },
    ],
    [
      "replicate/v1/predictions",
      { version: "v", input: { id: "mine", image: "https://replicate.delivery/a.png" } },
    ],
    ["openai/v1/completions", { prompt: "x" }],
  ])("is not what %s names by the same words: %j", async (path, body) => {
    const { key } = await made();
    expect(await post(key, path, { model: "m", ...body })).toBe("200 sent");
  });

  it("cannot be hidden in JSON, in forms or in queries", async () => {
    const { key } = await made();
    const raw = (
      body: string | Uint8Array<ArrayBuffer>,
      type = "application/json",
      more = {},
    ): RequestInit => ({
      body,
      headers: { "content-type": type, "content-length": String(body.length), ...more },
    });
    const wide = new Uint8Array([0, 123, 0, 34, 0, 125]);
    for (const init of [
      raw('{"model":"m","previous_response_id":"resp_1","previous_response_id":null}'),
      raw('{"model":"m","previous_response_id":null,"previous\\u005fresponse_id":"resp_1"}'),
      raw('{"model":"m","\\u0070revious_response_id":"resp_1"}'),
      raw('{"model":"m","previou\u017f_response_id":"resp_1"}'),
      raw('{"model":"m","previou\\u017f_response_id":"resp_1"}'),
      raw(' \n\ufeff{"model":"m","previous_response_id":"resp_1"}', "text/plain"),
      raw('{"model":"m","previous_response_id":"resp_1"}', "application/x-www-form-urlencoded"),
      raw('{"model":"m","previous_response_id":"resp_1"}', "audio/wav"),
      raw("model=m&previous_response_id=resp_1", "application/x-www-form-urlencoded"),
      raw("{'previous_response_id':'x'}, \"file_id\":"),
      raw('{"model":"m"}', "application/json; charset=utf-7"),
      raw(wide),
      raw(wide, "text/plain"),
      raw("x", "application/json", { "content-encoding": "gzip" }),
    ])
      expect([init.body, await outcome(ask(key, responses, init))]).toEqual([
        init.body,
        expect.stringMatching(/^40[03] held$/),
      ]);
    const packed = await packedBytes('{"model":"m","previous_response_id":"resp_1"}');
    const gzip = raw(packed, "application/json", { "content-encoding": "gzip" });
    expect(await outcome(ask(key, responses, gzip))).toBe("403 held");
    const harmless = raw(await packedBytes('{"model":"m"}'), "application/json", {
      "content-encoding": "gzip",
    });
    expect(await outcome(ask(key, responses, harmless))).toBe("200 sent");
    const field = (name: string): string =>
      `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nfile-1\r\n--b--\r\n`;
    const form = "multipart/form-data; boundary=b";
    const sound = "mistral/v1/audio/transcriptions";
    expect(await outcome(ask(key, sound, raw(field("language"), form)))).toBe("200 sent");
    expect(await outcome(ask(key, sound, raw(field("file_id"), form)))).toBe("403 held");
    expect(await outcome(ask(key, sound, raw(field("file_id"), `${form}; boundary=c`)))).toBe(
      "403 held",
    );
    expect(await post(key, "openai/v1/chat/completions?call_id=rtc_1", chat)).toBe("403 held");
  });
});
