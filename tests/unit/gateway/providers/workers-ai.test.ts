import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import {
  type Behaviour,
  bytes,
  type FakeTransport,
  fakeTransport,
  jsonReply,
  streamReply,
} from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
let serial = 0;
beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { "workers-ai": { baseUrl: "https://workers.test/ai", apiKey: "k" } },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.bodies.length = 0;
  serial++;
});

interface Call {
  readonly id: string;
  readonly function: { readonly arguments: string };
}

const model = "@cf/meta/llama-test";
const messages = [{ role: "user", content: "hi" }];
const weather = {
  type: "function",
  function: { name: "weather", parameters: { type: "object" } },
} as const;
const clock = { type: "function", function: { name: "clock" } } as const;
const saying = (part: object) => [{ role: "user", content: [part] }];
const send = (body: object, path = "workers-ai/chat/completions"): Promise<Response> =>
  gate.send(
    `open/${path}`,
    jsonInit({ model, messages, ...body }, { "cf-aig-event-id": `event-${serial}` }),
  );
const rows = () => gate.rowsOf("open", `event-${serial}`, 1);
const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as unknown;
const answered = async (native: unknown) => {
  gate.transport.behave = () => jsonReply(native);
  return (await (await send({})).json()) as { choices: { message: { tool_calls: Call[] } }[] };
};

/** The chunks of an OpenAI stream without what all of them have, and whether it ended properly. */
async function streamed(events: readonly unknown[], body: object = {}) {
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  gate.transport.behave = () => streamReply([...lines, "data: [DONE]\n\n"]);
  const text = await (await send({ stream: true, ...body })).text();
  const data = text.split("\n\n").flatMap((event) => (event === "" ? [] : [event.slice(6)]));
  expect(data.at(-1)).toBe("[DONE]");
  return data.slice(0, -1).map((one) => {
    const { choices, usage } = JSON.parse(one) as { choices: object[]; usage?: object };
    return usage === undefined ? choices[0] : { usage };
  });
}

describe("an OpenAI chat for Workers AI", () => {
  it.each(["workers-ai/chat/completions", "compat/chat/completions"])(
    "goes from %s to the model's run path",
    async (path) => {
      gate.transport.behave = () => jsonReply({ response: "Hello" });
      const named = path.startsWith("compat") ? `workers-ai/${model}` : model;
      const same = { temperature: 0.5, seed: 1, presence_penalty: 0.1, reasoning_effort: "low" };
      const settings = { ...same, max_completion_tokens: 9, model: named };
      expect((await send(settings, path)).status).toBe(200);
      expect(gate.transport.requests[0]?.url).toBe(`https://workers.test/ai/run/${model}`);
      expect(sentBody()).toEqual({ messages, max_tokens: 9, ...same });
    },
  );

  it("brings tools, their results, images and a schema", async () => {
    gate.transport.behave = () => jsonReply({ response: "" });
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,QUJD" } };
    const call = {
      id: "c1",
      type: "function",
      function: { name: "weather", arguments: '{"city":"Bern"}' },
    };
    const conversation = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Look" }, image] },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c1", content: "sunny" },
    ];
    const schema = { type: "object" };
    await send({
      messages: conversation,
      tools: [weather, clock],
      tool_choice: { type: "function", function: { name: "clock" } },
      response_format: { type: "json_schema", json_schema: { name: "n", schema } },
    });
    expect(sentBody()).toEqual({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "text", text: "Look" }, image] },
        { role: "assistant", content: "", tool_calls: [call] },
        { role: "tool", name: "weather", tool_call_id: "c1", content: "sunny" },
      ],
      tools: [clock],
      tool_choice: "any",
      response_format: { type: "json_schema", json_schema: schema },
    });
    await send({ tools: [weather], tool_choice: "none" });
    expect(sentBody()).toEqual({ messages });
  });

  it.each([
    ["n above 1", { n: 2 }],
    ["modalities audio", { modalities: ["text", "audio"] }],
    [
      "input_audio",
      { messages: saying({ type: "input_audio", input_audio: { data: "QQ==", format: "wav" } }) },
    ],
    [
      "file",
      {
        messages: saying({ type: "file", file: { file_data: "data:application/pdf;base64,QQ==" } }),
      },
    ],
  ])("is a 400 that names %s", async (what, body) => {
    const response = await send(body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`\\"${what}\\" cannot be translated`);
    expect(gate.transport.requests).toEqual([]);
  });

  it("stays as it is on v1 paths, and when the base URL ends in v1", async () => {
    gate.transport.behave = () => jsonReply({ choices: [] });
    await send({}, "workers-ai/v1/chat/completions");
    expect(gate.transport.requests[0]?.url).toBe("https://workers.test/ai/v1/chat/completions");
    const other = await gatewayUnderTest({
      providers: { "workers-ai": { baseUrl: "https://workers.test/ai/v1" } },
    });
    await other.send("open/workers-ai/chat/completions", jsonInit({ model, messages, stop: "x" }));
    expect(other.transport.requests[0]?.url).toBe("https://workers.test/ai/v1/chat/completions");
    expect(other.transport.bodies[0]).toContain('"stop":"x"');
    await other.close();
  });
});

describe("an answer of Workers AI", () => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };

  it.each([
    ["bare", { response: "Hello", usage }],
    [
      "in the API's envelope",
      { result: { response: "Hello", usage }, success: true, errors: [], messages: [] },
    ],
    [
      "in OpenAI's shape",
      { result: { choices: [{ message: { content: "Hello" }, finish_reason: "stop" }], usage } },
    ],
  ])("%s becomes a completion, and its row has the usage", async (_, native) => {
    expect(await answered(native)).toMatchObject({
      object: "chat.completion",
      model,
      choices: [{ message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
      usage,
    });
    const [row] = await rows();
    expect(row).toMatchObject({ provider: "workers-ai", tokens_in: 7, tokens_out: 3 });
  });

  it("with tool calls has ids that tell them apart", async () => {
    const native = {
      response: null,
      tool_calls: [
        { name: "weather", arguments: { city: "Bern" } },
        { name: "weather", arguments: { city: "Rome" } },
        { id: "own", type: "function", function: { name: "clock", arguments: "{}" } },
      ],
    };
    const { choices } = await answered(native);
    expect(choices).toMatchObject([{ message: { content: null }, finish_reason: "tool_calls" }]);
    const calls = choices[0]?.message.tool_calls ?? [];
    expect(calls.map(({ function: { arguments: text } }) => text)).toEqual([
      '{"city":"Bern"}',
      '{"city":"Rome"}',
      "{}",
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
    expect(calls[2]?.id).toBe("own");
  });

  it("with thoughts keeps them apart from the text", async () => {
    const message = { content: "Yes", reasoning_content: "Hm" };
    expect(await answered({ result: { choices: [{ message }] } })).toMatchObject({
      choices: [{ message: { content: "Yes", reasoning_content: "Hm" } }],
    });
    const delta = (one: object) => ({ choices: [{ index: 0, delta: one }] });
    expect(await streamed([delta({ reasoning: "Hm" }), delta({ content: "Yes" })])).toMatchObject([
      { delta: { reasoning_content: "Hm" } },
      { delta: { content: "Yes" } },
      { finish_reason: "stop" },
    ]);
  });

  it("in JSON mode becomes text", async () => {
    const reply = await answered({ result: { response: { usage: { prompt_tokens: 99 } } } });
    expect(reply).toMatchObject({
      choices: [{ message: { content: '{"usage":{"prompt_tokens":99}}' } }],
    });
  });

  it("that is an error has OpenAI's form and the provider's status", async () => {
    gate.transport.behave = () =>
      jsonReply(
        { result: null, success: false, errors: [{ code: 5007, message: "No such model" }] },
        404,
      );
    const response = await send({});
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { message: "No such model" } });
  });
});

describe("an image on the web, which Workers AI does not fetch", () => {
  const png = bytes("PNG!");
  const image = (headers: [string, string][] = [["content-type", "image/png; x=y"]]) => ({
    status: 200,
    headers,
    body: png,
  });
  const asking = (url: string) => ({
    messages: saying({ type: "image_url", image_url: { url } }),
  });
  const withWeb =
    (behave: Behaviour, run: (one: GatewayUnderTest, web: FakeTransport) => Promise<void>) =>
    async (): Promise<void> => {
      const web = fakeTransport(behave);
      const one = await gatewayUnderTest(
        { providers: { "workers-ai": { baseUrl: "https://workers.test/ai" } } },
        { egress: web },
      );
      one.transport.behave = () => jsonReply({ response: "" });
      try {
        await run(one, web);
      } finally {
        await one.close();
      }
    };
  const ask = (one: GatewayUnderTest, url: string) =>
    one.send("open/workers-ai/chat/completions", jsonInit({ model, ...asking(url) }));

  it(
    "is fetched from the outside, without the caller's headers, and goes along inline",
    withWeb(
      ({ url }) =>
        url.endsWith("/old")
          ? { status: 302, headers: [["location", "/new"]], body: null }
          : image(),
      async (one, web) => {
        expect((await ask(one, "https://pictures.test/old")).status).toBe(200);
        expect(web.requests.map(({ url }) => url)).toEqual([
          "https://pictures.test/old",
          "https://pictures.test/new",
        ]);
        expect(JSON.stringify(web.requests)).not.toMatch(/authorization|cf-aig/);
        expect(JSON.parse(one.transport.bodies[0] ?? "")).toEqual(
          asking("data:image/png;base64,UE5HIQ=="),
        );
      },
    ),
  );

  it.each<[string, Behaviour, RegExp]>([
    ["status 404", () => ({ status: 404, headers: [], body: null }), /status 404/],
    ["no image", () => image([["content-type", "text/html"]]), /not an image/],
    ["a loop", () => ({ status: 301, headers: [["location", "/"]], body: null }), /redirects/],
    [
      "another scheme",
      () => ({ status: 301, headers: [["location", "file:///etc/passwd"]], body: null }),
      /other than an http\(s\) address/,
    ],
    [
      "a private address",
      () => Promise.reject(new TransportError("refused", "10.0.0.1 is private")),
      /not at a public address/,
    ],
    [
      "too many bytes",
      () =>
        streamReply(
          Array.from({ length: 21 }, () => new Uint8Array(1024 * 1024)),
          { type: "image/png" },
        ),
      /larger than/,
    ],
  ])("that is not to be had (%s) is a 400 that names it", async (_, behave, why) => {
    await withWeb(behave, async (one) => {
      const response = await ask(one, "https://pictures.test/a.png?signature=secret");
      const text = await response.text();
      expect([response.status, JSON.parse(text)]).toMatchObject([
        400,
        { errors: [{ code: 2019 }] },
      ]);
      expect(text).toMatch(why);
      expect(text).toContain("https://pictures.test/a.png");
      expect(text).not.toMatch(/secret|10\.0\.0\.1/);
      expect(one.transport.requests).toEqual([]);
    })();
  });

  it("is fetched for Gemini too, but not what lies at Google", async () => {
    const web = fakeTransport(() => image());
    const one = await gatewayUnderTest({}, { egress: web });
    const file = "https://generativelanguage.googleapis.com/v1beta/files/1";
    for (const url of ["https://pictures.test/a.png", file]) {
      const body = { model: "gemini-2.5-flash", ...asking(url) };
      await one.send("open/google-ai-studio/chat/completions", jsonInit(body));
    }
    const parts = one.transport.bodies.map(
      (body) => (JSON.parse(body) as { contents: [{ parts: object[] }] }).contents[0].parts,
    );
    expect(parts).toEqual([
      [{ inlineData: { mimeType: "image/png", data: "UE5HIQ==" } }],
      [{ fileData: { fileUri: file } }],
    ]);
    expect(web.requests.length).toBe(1);
    await one.close();
  });
});
