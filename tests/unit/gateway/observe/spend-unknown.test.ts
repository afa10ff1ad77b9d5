import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

const usage = { prompt_tokens: 1_000_000, completion_tokens: 0 };
const all = { id: "all", limit: 0.0001, limitType: "cost", window: 86_400 };
const gpt4o = { ...all, id: "gpt-4o", model: { mode: "filter", values: ["gpt-4o"] } };
const lab = { "custom-lab": { baseUrl: "https://lab.example/v1" } };
const prices = [{ provider: "custom-lab", model: "*", input: 1, output: 1 }];

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({ providers: lab, prices });
  gate.transport.behave = () => jsonReply({ choices: [], usage });
});
afterEach(() => gate.close());

const limited = (rules: object[], more: object = {}): Promise<void> =>
  gate.create("own", { spend_limits: { rules, ...more } });

const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  gate.send(`own/${path}`, jsonInit(body, headers));

async function gzipped(
  text: string,
  format: CompressionFormat = "gzip",
): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Response(text).body?.pipeThrough(new CompressionStream(format));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

const raw = (body: BodyInit, headers: Record<string, string>, path = "openai/chat/completions") =>
  gate.send(`own/${path}`, { method: "POST", body, headers });

const errorOf = async (answer: Response): Promise<{ code: number; message: string }> =>
  ((await answer.json()) as { error: [{ code: number; message: string }] }).error[0];

/** The statuses of 12 requests one after the other; what the first has cost is entered before the second. */
async function twelve(ask: () => Promise<Response>): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < 12; i++) {
    const answer = await ask();
    await answer.text();
    statuses.push(answer.status);
    // A cost is entered before its row is stored.
    if (i === 0) await gate.logs("own", 1);
  }
  return statuses;
}

describe("a spend limit", () => {
  it.each([
    ["openai/chat/completions", "gpt-4o"],
    ["openai/chat/completions", "gpt-4o-2024-08-06"],
    ["openai/chat/completions", "GPT-4o"],
    ["openai/chat/completions", "chatgpt-4o-latest"],
    ["openai/chat/completions", "models/gpt-4o"],
    ["openai/chat/completions", "openai/gpt-4o"],
    ["compat/chat/completions", "openai/GPT-4o-2024-11-20"],
    ["openrouter/v1/chat/completions", "openai/gpt-4o:nitro"],
  ])("of one model holds for %s with %s", async (path, model) => {
    await limited([gpt4o]);
    expect(await twelve(() => send(path, { ...chat, model }))).toEqual([
      200,
      ...Array.from({ length: 11 }, () => 429),
    ]);
  });

  it("of one model does not hold for another that begins the same", async () => {
    await limited([gpt4o]);
    for (const model of ["gpt-4o-mini", "gpt-4", "gpt-4o-audio-preview", "o1"])
      expect(await twelve(() => send("openai/chat/completions", { ...chat, model }))).not.toContain(
        429,
      );
  });

  it("of one model refuses its fine-tunes, whose price is another one, until that is given", async () => {
    await limited([gpt4o]);
    const model = "ft:gpt-4o-2024-08-06:acme::abc";
    const answer = await send("openai/chat/completions", { ...chat, model });
    expect([answer.status, await errorOf(answer)]).toEqual([
      400,
      {
        code: 10521,
        message: expect.stringContaining(`no price is known of the model "${model}" at "openai"`),
      },
    ]);
    expect(gate.transport.requests).toHaveLength(0);
  });

  it.each([
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["deflate", "deflate"],
  ] as const)("reads a body that is packed with %s", async (encoding, format) => {
    await limited([gpt4o]);
    const body = await gzipped(JSON.stringify({ ...chat, model: "gpt-4o" }), format);
    const headers = { "content-type": "application/json", "content-encoding": encoding };
    expect((await twelve(() => raw(body, headers))).slice(0, 3)).toEqual([200, 429, 429]);
    const [row] = await gate.logs("own", 1);
    expect(row).toMatchObject({ model: "gpt-4o", cost: 2.5 });
  });

  it.each(["text/plain", "text/plain;charset=UTF-8", "application/octet-stream", ""])(
    "reads JSON of the type %j",
    async (type) => {
      await limited([gpt4o]);
      const text = JSON.stringify({ ...chat, model: "gpt-4o" });
      const body = new TextEncoder().encode(text);
      const headers: Record<string, string> = type === "" ? {} : { "content-type": type };
      const length = { "content-length": String(body.length) };
      const ask = () => raw(body, { ...headers, ...length });
      expect((await twelve(ask)).slice(0, 3)).toEqual([200, 429, 429]);
    },
  );

  it("refuses what cannot be read, before anything is sent", async () => {
    await limited([gpt4o]);
    const json = { "content-type": "application/json" };
    const bomb = await gzipped(`{"model":"gpt-4o","x":"${" ".repeat(30_000_000)}"}`);
    const form = new TextEncoder().encode("--b\r\n\r\n--b--");
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20));
      },
    });
    for (const ask of [
      () => raw("not JSON", json),
      () => raw("{}", json),
      () =>
        raw(
          JSON.stringify({ x: Array.from({ length: 20_001 }, () => ({ a: 0 })), model: "gpt-4o" }),
          json,
        ),
      () => raw(bomb, { ...json, "content-encoding": "gzip" }),
      () => raw("{", { ...json, "content-encoding": "compress" }),
      () => raw(form, { "content-type": "multipart/form-data; boundary=b" }, "openai/audio/x"),
      () =>
        gate.send("own/openai/v1/images/edits", {
          method: "POST",
          body: stream,
          duplex: "half",
          headers: { "content-type": "multipart/form-data; boundary=b" },
        } as RequestInit),
      () => raw(JSON.stringify({ input_file_id: "f" }), json, "openai/v1/batches"),
    ]) {
      const answer = await ask();
      const { code, message } = await errorOf(answer);
      expect([answer.status, code]).toEqual([400, 10521]);
      expect(message).toMatch(/cannot be read.*"on_unknown": "allow"/);
      expect(answer.headers.get("x-should-retry")).toBe("false");
    }
    expect(gate.transport.requests).toHaveLength(0);
  });

  it("refuses work that goes on behind its answer, and what no token count prices", async () => {
    await limited([all]);
    for (const [path, more] of [
      ["openai/v1/responses", { background: true }],
      ["openai/v1/fine_tuning/jobs", {}],
      ["grok/chat/completions", { model: "grok-4", deferred: true }],
      ["openai/v1/responses", { tools: Array.from({ length: 20_001 }, () => ({ background: 0 })) }],
      ["google-ai-studio/v1beta/models/gemini-2.5-flash:batchGenerateContent", {}],
    ] as const) {
      const answer = await send(path, { ...chat, model: "gpt-4o", ...more });
      expect([path, answer.status, (await errorOf(answer)).message]).toEqual([
        path,
        400,
        expect.stringContaining("tells what this request uses"),
      ]);
    }
    expect(gate.transport.requests).toHaveLength(0);
  });

  it.each([
    "huggingface/files/model",
    "huggingface/owner/files",
    "replicate/v1/models/owner/files/predictions",
    "fal/owner/uploads",
    "fal/files/app",
    "openai/v1/chat/completions/files",
    "aws-bedrock/bedrock-runtime/us-east-1/model/files/invoke",
    "aws-bedrock/bedrock-runtime/us-east-1/model/x:countTokens",
  ])("does not take %s for free work because of its name", async (path) => {
    await limited([all]);
    const answer = await send(path, { input: "x" });
    expect([answer.status, (await errorOf(answer)).code]).toEqual([400, 10521]);
    expect(gate.transport.requests).toHaveLength(0);
  });

  it.each(["chat/completions#/files", "chat/completions\t/files", "v1/.\t./files", "v1/.. "])(
    "does not take the endpoint %j for another than the provider is asked",
    async (endpoint) => {
      await limited([all]);
      const steps = [{ provider: "openai", endpoint, query: { ...chat, model: "new" } }];
      const answer = await gate.send("own", jsonInit(steps));
      expect(answer.status).toBe(400);
      expect(gate.transport.requests).toHaveLength(0);
    },
  );

  it.each(["chat/completions/", "Chat/Completions", "v1//chat//completions//"])(
    "refuses a stream by the path %s whose usage nobody will tell",
    async (path) => {
      await gate.create("quiet", { spend_limits: { rules: [all] }, stream_usage: false });
      const body = { ...chat, model: "gpt-4o", stream: true };
      const answer = await gate.send(`quiet/openai/${path}`, jsonInit(body));
      expect([answer.status, (await errorOf(answer)).message]).toEqual([
        400,
        expect.stringContaining("does not tell its usage"),
      ]);
    },
  );

  it("goes by the path where the provider does, whatever the body names", async () => {
    await limited([gpt4o]);
    const body = { ...chat, model: "gpt-4o-mini" };
    const path = "azure-openai/resource/gpt-4o/chat/completions?api-version=2024-10-21";
    expect((await twelve(() => send(path, body))).slice(0, 2)).toEqual([200, 429]);
  });

  it("lets pass what is free, and what no rule is about", async () => {
    await limited([{ ...all, provider: { mode: "filter", values: ["OpenAI"] } }]);
    expect((await gate.send("own/openai/v1/models", { method: "GET" })).status).toBe(200);
    for (const path of [
      "openai/v1/files",
      "openai/uploads/u/parts",
      "openai/moderations",
      "openai/v1/responses/r/cancel",
      "openai/v1/responses/input_tokens",
    ])
      expect([path, (await send(path, {})).status]).toEqual([path, 200]);
    expect((await send("groq/chat/completions", { ...chat, model: "no-such" })).status).toBe(200);
    const unknown = await send("openai/chat/completions", { ...chat, model: "no-such" });
    expect(unknown.status).toBe(400);
  });

  it.each([
    "anthropic/v1/messages/count_tokens",
    "anthropic/v1/messages/batches/b/cancel",
    "anthropic/v1/files",
    "google-ai-studio/v1beta/models/gemini-2.5-flash:countTokens",
    "google-ai-studio/upload/v1beta/files",
    "google-vertex-ai/v1/projects/p/locations/global/publishers/google/models/m:countTokens",
    "azure-openai/resource/openai/files",
    "azure-openai/resource/openai/fine_tuning/jobs/j/cancel",
    "replicate/predictions/p/cancel",
    "mistral/v1/fine_tuning/jobs/j/cancel",
    "mistral/v1/chat/moderations",
  ])("lets the free request %s pass", async (path) => {
    await limited([all]);
    expect((await send(path, {})).status).toBe(200);
  });

  it("allows what it cannot count where the gateway says so", async () => {
    await limited([all], { on_unknown: "allow" });
    const answers = await twelve(() => send("openai/chat/completions", { ...chat, model: "new" }));
    expect(answers).toEqual(Array.from({ length: 12 }, () => 200));
    const bad = await gate.manage("/gateways", {
      method: "POST",
      ...jsonInit({
        id: "bad",
        cache_invalidate_on_update: false,
        cache_ttl: 0,
        collect_logs: true,
        rate_limiting_interval: null,
        rate_limiting_limit: null,
        spend_limits: { rules: [all], on_unknown: "maybe" },
      }),
    });
    expect([bad.status, bad.body.errors[0]?.message]).toEqual([
      400,
      expect.stringContaining("on_unknown"),
    ]);
  });

  it.each(['{"total_cost":0}', '{"per_token_in":0,"per_token_out":0}'])(
    "is not led around by a caller who names the lower price %s",
    async (price) => {
      await limited([all]);
      const cheap = { "cf-aig-custom-cost": price };
      const known = () => send("openai/chat/completions", { ...chat, model: "gpt-4o" }, cheap);
      expect((await twelve(known)).slice(0, 2)).toEqual([200, 429]);
      const unknown = await send("openai/chat/completions", { ...chat, model: "new" }, cheap);
      expect([unknown.status, (await errorOf(unknown)).code]).toEqual([400, 10521]);
    },
  );

  it.each([
    '{"model":"gpt-4o","messages":[],"model":"gpt-4o-mini"}',
    '{"model":"gpt-4o","messages":[],"mod\\u0065l":"gpt-4o-mini"}',
    '{"stream":false,"model":"gpt-4o-mini","model":"gpt-4o"}',
  ])("refuses a body that names its model twice: %s", async (body) => {
    await limited([all]);
    const init = { ...jsonInit({}), body };
    const answer = await gate.send("own/openai/chat/completions", init);
    expect([answer.status, await errorOf(answer)]).toEqual([
      400,
      { code: 10521, message: expect.stringContaining("twice") },
    ]);
    expect(gate.transport.requests).toHaveLength(0);
    // Within a message it is the caller's own.
    const own = {
      model: "gpt-4o",
      messages: [{ role: "user", content: { model: "a" } }],
      x: { model: 1 },
    };
    expect((await send("openai/chat/completions", own)).status).toBe(200);
  });

  it("refuses a query and a form that name two models", async () => {
    await limited([all]);
    const field = (model: string): string =>
      `--b\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n`;
    const two = new TextEncoder().encode(`${field("gpt-4o-mini")}${field("gpt-4o")}--b--\r\n`);
    const form = {
      "content-type": "multipart/form-data; boundary=b",
      "content-length": String(two.length),
    };
    for (const ask of [
      () => raw(two, form, "openai/v1/audio/transcriptions"),
      () => send("openai/chat/completions?model=gpt-4o-mini&model=gpt-4o", {}),
      () => send("openai/chat/completions?mod%65l=gpt-4o&model=gpt-4o-mini", {}),
    ]) {
      const answer = await ask();
      expect([answer.status, await errorOf(answer)]).toEqual([
        400,
        { code: 10521, message: expect.stringContaining("twice") },
      ]);
    }
    expect(gate.transport.requests).toHaveLength(0);
  });

  it("counts a higher price that a caller names", async () => {
    await limited([{ ...all, limit: 0.2 }]);
    const dear = { "cf-aig-custom-cost": '{"total_cost":0.2}' };
    const ask = () => send("openai/chat/completions", { ...chat, model: "gpt-4o" }, dear);
    expect((await twelve(ask)).slice(0, 2)).toEqual([200, 429]);
  });

  it("counts by configured prices, of one's own provider too", async () => {
    await limited([{ ...all, limit: 1 }]);
    const ask = () => send("custom-lab/chat/completions", { ...chat, model: "tiny" });
    expect((await twelve(ask)).slice(0, 2)).toEqual([200, 429]);
  });

  it("moves a universal request on, and names the model of the last step", async () => {
    await limited([all]);
    const steps = ["no-such", "gpt-4o"].map((model) => ({
      provider: "openai",
      endpoint: "chat/completions",
      query: { ...chat, model },
    }));
    const answer = await gate.send("own", jsonInit(steps));
    expect([answer.status, answer.headers.get("cf-aig-step")]).toEqual([200, "1"]);
    const none = await gate.send("own", jsonInit(steps.slice(0, 1)));
    expect([none.status, (await errorOf(none)).message]).toEqual([
      400,
      expect.stringContaining('"no-such"'),
    ]);
  });
});
