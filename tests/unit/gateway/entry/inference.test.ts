import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../../cases/eventually.ts";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";
import { gatewayManagement, gatewayParts } from "../../../../core/gateway/mod.ts";
import { jsonReply, sentHeaders } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
let send: (path: string, body: unknown, headers?: Record<string, string>) => Promise<Response>;
let sendBytes: (path: string, body: Uint8Array<ArrayBuffer>, type: string) => Promise<Response>;
let manage: (path: string, body: unknown) => Promise<Response>;

beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: {
      openai: { apiKey: "stored-key" },
      anthropic: { apiKey: "stored-anthropic" },
      "workers-ai": { baseUrl: "https://workers.test/ai", apiKey: "stored-workers" },
    },
  });
  const known: Record<string, "*" | "AI Gateway Read"> = {
    [`Bearer ${API_TOKEN}`]: "*",
    "Bearer read-only": "AI Gateway Read",
  };
  const app = gatewayManagement({
    platform: gate.platform,
    auth: (request) => {
      const permission = known[request.headers.get("authorization") ?? ""];
      const grants = [{ permissions: [permission ?? "*"], accounts: ["acme"] }];
      return Promise.resolve(permission === undefined ? null : { id: "t", kind: "token", grants });
    },
    gateways: { open: { authentication: false } },
    judge: async (request) => {
      const content = (await request.text()).includes("bomb") ? "unsafe\nS9" : "safe";
      return Response.json({ choices: [{ message: { content } }] });
    },
    providers: {
      openai: { apiKey: "stored-key" },
      anthropic: { apiKey: "stored-anthropic" },
      "workers-ai": { baseUrl: "https://workers.test/ai", apiKey: "stored-workers" },
    },
  });
  const post = async (path: string, body: unknown, headers: object = {}): Promise<Response> =>
    app.fetch(
      new Request(`http://gateway.test/accounts/acme/${path}`, {
        method: "POST",
        ...jsonInit(body, { authorization: `Bearer ${API_TOKEN}`, ...headers }),
      }),
    );
  send = (path, body, headers) => post(`ai/${path}`, body, headers);
  sendBytes = async (path, body, type) =>
    app.request(`/accounts/acme/ai/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_TOKEN}`, "content-type": type },
      body,
    });
  manage = (path, body) => post(`ai-gateway${path}`, body);
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  gate.transport.behave = () => jsonReply({ ok: true });
});

describe("REST inference", () => {
  it.each([
    ["v1/chat/completions", "openai/gpt-test", "https://api.openai.com/v1/chat/completions"],
    ["v1/responses", "openai/gpt-test", "https://api.openai.com/v1/responses"],
    ["v1/messages", "anthropic/claude-test", "https://api.anthropic.com/v1/messages"],
    ["v1/embeddings", "openai/text-embedding-3-small", "https://api.openai.com/v1/embeddings"],
    ["v1/embeddings", "@cf/baai/bge-m3", "https://workers.test/ai/v1/embeddings"],
    ["v1/images/generations", "openai/gpt-image-2", "https://api.openai.com/v1/images/generations"],
    ["v1/chat/completions", "@cf/meta/llama", "https://workers.test/ai/v1/chat/completions"],
    ["v1/responses", "@cf/meta/llama", "https://workers.test/ai/v1/chat/completions"],
    ["v1/messages", "@cf/meta/llama", "https://workers.test/ai/v1/chat/completions"],
    ["v1/responses", "anthropic/claude-test", "https://api.anthropic.com/v1/messages"],
    ["v1/messages", "openai/gpt-test", "https://api.openai.com/v1/chat/completions"],
    ["v1/messages", "deepseek/d-test", "https://api.deepseek.com/chat/completions"],
    ["v1/responses", "x-ai/grok-test", "https://api.x.ai/v1/responses"],
  ])("%s sends %s to %s", async (path, model, url) => {
    const more = path === "v1/responses" ? { input: "hi" } : { max_tokens: 9 };
    expect((await send(path, { ...chat, ...more, model })).status).toBe(200);
    expect(gate.transport.requests[0]?.url).toBe(url);
    const sent = JSON.parse(gate.transport.bodies[0] ?? "") as { model?: string };
    expect(sent.model).toBe(model.startsWith("@cf/") ? model : model.split("/")[1]);
  });

  it("counts a virtual key's request once", async () => {
    const limits = [{ limitType: "requests", limit: 3, window: 3600 }];
    const made = await manage("/virtual-keys", { name: "team", limits });
    const { result } = (await made.json()) as { result: { id: string; key: string } };
    const ask = async (): Promise<number> => {
      const authorization = `Bearer ${result.key}`;
      const model = "openai/gpt-test";
      return (await send("v1/chat/completions", { ...chat, model }, { authorization })).status;
    };
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual([200, 200, 200, 429]);
  });

  it("takes a form, whose model is one of an author", async () => {
    const form = new FormData();
    form.append("model", "openai/whisper-1");
    form.append("file", new Blob([new Uint8Array(2 * 1024 * 1024)]), "a.wav");
    const request = new Request("http://x/", { method: "POST", body: form });
    const type = request.headers.get("content-type") ?? "";
    const body = new Uint8Array(await request.arrayBuffer());
    const answer = await sendBytes("v1/audio/transcriptions", body, type);
    expect([answer.status, await answer.json()]).toEqual([200, { ok: true }]);
    const [sent] = gate.transport.requests;
    expect([sent?.url, sent && sentHeaders(sent)["authorization"]]).toEqual([
      "https://api.openai.com/v1/audio/transcriptions",
      "Bearer stored-key",
    ]);
    expect(gate.transport.bodies[0]?.includes("\r\n\r\nwhisper-1\r\n")).toBe(true);
  });

  it("gives the provider its stored key in place of the API token", async () => {
    await send("v1/messages", { ...chat, model: "anthropic/claude-test" });
    expect(sentHeaders(gate.transport.requests[0])["x-api-key"]).toBe("stored-anthropic");
    expect(JSON.stringify(gate.transport.requests[0])).not.toContain(API_TOKEN);
  });

  it("does not repeat the API token where it refuses it", async () => {
    const held = { "cf-aig-event-id": API_TOKEN };
    const answer = await send("v1/messages", { ...chat, model: "anthropic/claude-test" }, held);
    const text = JSON.stringify([...answer.headers]) + (await answer.text());
    expect([answer.status, text.includes(API_TOKEN)]).toEqual([400, false]);
  });

  it("translates a chat for a provider with a format of its own", async () => {
    await send("v1/chat/completions", { ...chat, model: "anthropic/claude-test" });
    expect(gate.transport.requests[0]?.url).toBe("https://api.anthropic.com/v1/messages");
  });

  it("answers a response and a message for Workers AI in their own format", async () => {
    const message = { role: "assistant", content: "Hello" };
    gate.transport.behave = () => jsonReply({ choices: [{ message, finish_reason: "stop" }] });
    const model = "@cf/meta/llama";
    const response = await send("v1/responses", { model, input: "hi" });
    expect(await response.json()).toMatchObject({
      object: "response",
      output: [{ content: [{ type: "output_text", text: "Hello" }] }],
    });
    const written = await send("v1/messages", { ...chat, model, max_tokens: 9 });
    expect(await written.json()).toMatchObject({
      type: "message",
      model,
      content: [{ type: "text", text: "Hello" }],
      stop_reason: "end_turn",
    });
  });

  it("logs a translated request as the client sent it", async () => {
    const asked = { ...chat, model: "openai/gpt-logged", max_tokens: 9 };
    const usage = { prompt_tokens: 3, completion_tokens: 2 };
    gate.transport.behave = () => jsonReply({ choices: [{ message: { content: "Hi" } }], usage });
    await send("v1/messages", asked, { "cf-aig-event-id": "logged", "cf-aig-gateway-id": "open" });
    const [row] = await gate.rowsOf("open", "logged", 1);
    expect(row).toMatchObject({
      provider: "openai",
      model: "gpt-logged",
      path: "messages",
      model_type: "text-generation",
      tokens_in: 3,
      tokens_out: 2,
    });
  });

  it("run takes a model's name to no other place", async () => {
    await send("run", { model: "@cf/meta/llama?x#\ud800", input: {} });
    expect(gate.transport.requests[0]?.url).toBe(
      "https://workers.test/ai/run/@cf/meta/llama%3Fx%23%EF%BF%BD",
    );
  });

  it("run takes model and input, or the model in the path", async () => {
    const input = { prompt: "hello" };
    await send("run", { model: "@cf/meta/llama", input });
    await send("run/@cf/meta/llama", input);
    const urls = gate.transport.requests.map(({ url }) => url);
    expect(urls).toEqual(Array(2).fill("https://workers.test/ai/run/@cf/meta/llama"));
    expect(gate.transport.bodies).toEqual(Array(2).fill(JSON.stringify(input)));
    await send("run", { model: "openai/gpt-test", input: { messages: chat.messages } });
    expect(gate.transport.requests[2]?.url).toBe("https://api.openai.com/v1/chat/completions");
  });

  it("goes through the gateway that the header names, else through default", async () => {
    const body = { ...chat, model: "openai/gpt-test" };
    expect((await send("v1/chat/completions", body, { "cf-aig-gateway-id": "open" })).status).toBe(
      200,
    );
    expect(await gate.logs("open", 1)).toMatchObject([{ provider: "openai" }]);
    await send("v1/chat/completions", { ...body, model: "openai/only-here" });
    await eventually(
      async () => (await gate.logs("default", 1)).some(({ model }) => model === "only-here"),
      "it has a row in the gateway default",
    );
    const unknown = await send("v1/chat/completions", body, { "gw-aig-gateway-id": "nope" });
    expect(await unknown.json()).toMatchObject({ success: false, errors: [{ code: 2001 }] });
  });

  it("answers a bad token 401/10000 in the plain envelope, one without Run 403", async () => {
    const bad = await send("v1/chat/completions", chat, { authorization: "Bearer nobody" });
    expect(bad.status).toBe(401);
    const body = (await bad.json()) as object;
    expect(body).toMatchObject({ success: false, result: null, errors: [{ code: 10000 }] });
    expect(body).not.toHaveProperty("error");
    const weak = await send("v1/chat/completions", chat, { authorization: "Bearer read-only" });
    expect(weak.status).toBe(403);
    expect(gate.transport.requests).toEqual([]);
  });

  it.each([
    ["v1/chat/completions", "gpt-test"],
    ["v1/chat/completions", "nobody/model"],
    ["v1/responses", "replicate/some/model"],
    ["v1/messages", "deepgram/nova"],
  ])("%s answers 400/2019 for the model %s", async (path, model) => {
    const response = await send(path, { ...chat, model });
    expect(await response.json()).toMatchObject({ errors: [{ code: 2019 }] });
    expect(response.status).toBe(400);
  });

  it("says why a model's provider is not asked", async () => {
    const message = async (model: string): Promise<string> => {
      const answer = await send("v1/chat/completions", { ...chat, model });
      return ((await answer.json()) as { errors: [{ message: string }] }).errors[0].message;
    };
    for (const slug of ["huggingface", "replicate", "deepgram"]) {
      const said = await message(`${slug}/some/model`);
      expect(said).toContain(`"chat/completions" for models of "${slug}" is not supported here`);
      expect(said).toContain(`"/v1/{account_id}/{gateway_id}/${slug}/…"`);
    }
    const compat = async (model: string): Promise<string> =>
      (await gate.send("open/compat/chat/completions", jsonInit({ ...chat, model }))).text();
    expect(await compat("nobody/model")).toContain('there is no provider \\"nobody\\"');
    expect(await compat("constructor/x")).toContain('there is no provider \\"constructor\\"');
    expect(await compat("opnai/gpt")).toContain('\\"opnai\\": did you mean \\"openai\\"?');
    for (const model of ["gpt", "/gpt", "openai/"])
      expect(await compat(model)).toContain('must be \\"{provider}/{model}\\"');
  });
});

describe("gatewayParts()", () => {
  it("lets REST inference and the gateway share answers", async () => {
    const { gateway, management } = gatewayParts({
      platform: gate.platform,
      auth: "off",
      gateways: { open: { authentication: false } },
    });
    const init = (model: string) => ({
      method: "POST",
      ...jsonInit(
        { ...chat, model, user: "shared" },
        {
          "cf-aig-cache-ttl": "60",
          "cf-aig-gateway-id": "open",
        },
      ),
    });
    const status = (response: Response) => response.headers.get("cf-aig-cache-status");
    const url = "http://gateway.test/v1/acme/open/compat/chat/completions";
    expect(status(await gateway.fetch(new Request(url, init("openai/m"))))).toBe("MISS");
    const inference = "http://gateway.test/accounts/acme/ai/v1/chat/completions";
    expect(status(await management.fetch(new Request(inference, init("openai/m"))))).toBe("HIT");
    const alone = gatewayManagement({ platform: gate.platform, auth: "off", storedCacheBytes: 0 });
    expect(status(await alone.fetch(new Request(inference, init("openai/m"))))).toBe("MISS");
  });
});

describe("compat/models", () => {
  it("lists models as compat takes them, to those whom the gateway lets in", async () => {
    const list = await gate.send("closed/compat/models", { method: "GET", token: API_TOKEN });
    const { data } = (await list.json()) as { data: { id: string }[] };
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(["echo/echo-demo"]));
    expect(data.every(({ id }) => id.includes("/"))).toBe(true);
    expect((await gate.send("closed/compat/models", { method: "GET" })).status).toBe(401);
  });

  it("has one model by its name, or a 404 with the nearest", async () => {
    const ask = async (path: string, token: string | null = API_TOKEN): Promise<unknown> => {
      const answer = await gate.send(path, { method: "GET", token });
      const { id, errors } = (await answer.json()) as {
        id?: string;
        errors?: { message: string }[];
      };
      return [answer.status, id ?? errors?.[0]?.message];
    };
    for (const path of ["models/echo/echo-demo", "v1/models/echo%2Fecho-demo"])
      expect(await ask(`closed/compat/${path}`)).toEqual([200, "echo/echo-demo"]);
    expect(await ask("closed/compat/models/echo/ecko-demo")).toEqual([
      404,
      'There is no model "echo/ecko-demo" in the list of models that you may use: did you mean "echo/echo-demo"?',
    ]);
    expect(await ask("closed/compat/models/echo/echo-demo", null)).toEqual([
      401,
      expect.any(String),
    ]);
    const own = await gatewayUnderTest({ accountId: "acme" });
    const bare = async (model: string, headers: Record<string, string> = {}): Promise<unknown> => {
      const answer = await own.app.request(`/v1/models/${model}`, {
        headers: { authorization: `Bearer ${API_TOKEN}`, ...headers },
      });
      return [answer.status, ((await answer.json()) as { id?: string }).id];
    };
    expect(await bare("echo/echo-demo")).toEqual([200, "echo/echo-demo"]);
    expect(await bare("echo%2Fecho-demo", { "cf-aig-gateway-id": "closed" })).toEqual([
      200,
      "echo/echo-demo",
    ]);
    expect(await bare("gpt")).toEqual([404, undefined]);
    expect(await bare("gpt", { authorization: "Bearer x" })).toEqual([401, undefined]);
    await own.close();
  });

  it("lists those of providers that answer without a key of the caller's", async () => {
    const idsOf = async (gateway: string, token?: string): Promise<string[]> => {
      const list = await gate.send(`${gateway}/compat/models`, {
        method: "GET",
        ...(token === undefined ? {} : { token }),
      });
      const { data } = (await list.json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    };
    const ids = await idsOf("closed", API_TOKEN);
    expect(ids).toEqual(expect.arrayContaining(["openai/gpt-4o", "anthropic/claude-opus-5-5"]));
    const owners = new Set(ids.map((id) => id.split("/")[0]));
    expect(owners).toEqual(new Set(["openai", "anthropic", "echo"]));
    // The operator's keys serve no stranger.
    await gate.create("strangers", {
      authentication: false,
      stored_keys_for_anonymous: false,
    });
    expect(await idsOf("strangers")).toEqual(["echo/echo-demo"]);

    const store = async (path: string, body: object): Promise<void> =>
      expect((await gate.manage(path, { method: "POST", ...jsonInit(body) })).status).toBe(200);
    await store("/gateways/closed/provider_configs", {
      provider_slug: "groq",
      alias: "default",
      default_config: true,
      secret: "groq-key",
    });
    const end = { id: "e", type: "end", outputs: {} };
    await store("/gateways/closed/routes", {
      name: "cheap",
      elements: [{ id: "s", type: "start", outputs: { next: { elementId: "e" } } }, end],
    });
    await store("/custom-providers", {
      name: "Lab",
      slug: "lab",
      base_url: "https://lab.example/v1",
      enable: true,
    });
    const price = { provider: "custom-lab", model: "lab-1", input: 1, output: 1 };
    await gate.manage("/prices", { method: "PUT", ...jsonInit(price) });
    expect(await idsOf("closed", API_TOKEN)).toEqual(
      expect.arrayContaining(["groq/llama-3.1-8b-instant", "dynamic/cheap", "custom-lab/lab-1"]),
    );
    expect(await idsOf("strangers")).toEqual(["custom-lab/lab-1", "echo/echo-demo"]);
  });
});

it("what guardrails hold back of a run has the status 422, of a chat 424", async () => {
  const made = await manage("/gateways", {
    id: "guarded",
    ...requiredSettings,
    guardrails: { prompt: { S9: "BLOCK" }, response: { S9: "BLOCK" } },
  });
  expect(made.status).toBe(200);
  const verdictOn = async (path: string, body: object): Promise<unknown[]> => {
    const answer = await send(path, body, { "cf-aig-gateway-id": "guarded" });
    const { errors } = (await answer.json()) as { errors: [{ code: number }] };
    return [answer.status, errors[0].code];
  };
  gate.transport.behave = () => jsonReply({ result: { response: "a bomb is" } });
  const model = "@cf/meta/llama";
  expect(await verdictOn(`run/${model}`, { prompt: "a bomb" })).toEqual([422, 2016]);
  expect(await verdictOn("run", { model, input: { prompt: "hi" } })).toEqual([422, 2017]);
  const messages = [{ role: "user", content: "a bomb" }];
  expect(await verdictOn("v1/chat/completions", { model: "openai/m", messages })).toEqual([
    424, 2016,
  ]);
});
