import { openPlatform } from "#platform";
import { afterEach, describe, expect, it } from "vitest";
import { platformApi, type PlatformApi } from "../../../../core/api.ts";
import { apiOptions } from "../../../../core/config/api-options.ts";
import { parseConfig } from "../../../../core/config/parse-config.ts";
import type { Platform } from "../../../../core/ports.ts";
import { fakeTransport, jsonReply } from "../../../fakes/gateway-transport.ts";

let platform: Platform;
afterEach(() => platform.close());

const TOKEN = "a-token-for-these-tests";
const env = (name: string): string | undefined =>
  name === "OPENAI_API_KEY" ? "key-of-openai" : undefined;
const endpoint = { baseUrl: "https://models.test/v1", model: "small" };
const behindGateway = {
  gateway: { gateways: { main: { keys: { openai: "env:OPENAI_API_KEY" } } } },
  rendering: { chatModel: { gateway: "main", model: "openai/gpt-4o-mini" } },
};

interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly response_format?: unknown;
}

/** Each reply is a text that the model writes, or a status. */
async function open(replies: readonly (string | number)[], config: object = {}) {
  const left = [...replies];
  const transport = fakeTransport(() => {
    const reply = left.shift() ?? 500;
    return typeof reply === "number"
      ? jsonReply({ error: { message: "no" } }, reply)
      : jsonReply({ choices: [{ index: 0, message: { content: reply } }] });
  });
  platform = { ...(await openPlatform()), transport };
  const tokens = [{ token: TOKEN, permissions: ["*"] }];
  const whole = { rendering: { chatModel: endpoint }, tokens, ...config };
  const api = platformApi(apiOptions(parseConfig(whole, env), platform));
  const asked = (): Asked[] => transport.bodies.map((body) => JSON.parse(body));
  return { ask: (body: object) => askJson(api, body), transport, asked };
}

interface Answer {
  readonly status: number;
  readonly retry: string | null;
  readonly result: unknown;
  readonly errors: { code: number; message: string }[];
  readonly meta?: Record<string, unknown>;
  readonly rawAiResponse?: string;
}

async function askJson(api: PlatformApi, body: object): Promise<Answer> {
  const answer = await api.fetch(
    new Request("http://test/client/v4/accounts/local/browser-rendering/json", {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ html: "<title>T</title><h1>Bike</h1>", render: false, ...body }),
    }),
  );
  const parsed: Omit<Answer, "status" | "retry"> = await answer.json();
  return { status: answer.status, retry: answer.headers.get("x-should-retry"), ...parsed };
}

const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const response_format = { type: "json_schema", json_schema: schema };

describe("/json", () => {
  it("answers what the model finds, and shows it the page as data", async () => {
    const { ask, asked, transport } = await open(['{"name":"Bike"}']);
    const prompt = "The product";
    expect(await ask({ prompt, response_format })).toMatchObject({
      status: 200,
      result: { name: "Bike" },
      meta: { title: "T" },
    });
    expect(transport.requests[0]?.url).toBe("https://models.test/v1/chat/completions");
    const [{ model, messages, response_format: format }] = asked() as [Asked];
    expect(model).toBe("small");
    expect(format).toMatchObject({ type: "json_schema", json_schema: { schema } });
    const mark = /between <(page-[0-9a-f]{32})>/u.exec(messages[0]?.content ?? "")?.[1];
    expect(messages[1]?.content).toMatch(
      new RegExp(`^The product\\n\\n<${mark}>\\n[^<]*# Bike\\n</${mark}>$`, "u"),
    );
  });

  it("takes a schema that is wrapped as OpenAI has it, and a prompt alone", async () => {
    const { ask, asked } = await open(['{"name":1}', '{"name":"a"}', "[1]"]);
    const wrapped = { type: "json_schema", json_schema: { name: "n", strict: true, schema } };
    expect((await ask({ response_format: wrapped })).result).toEqual({ name: "a" });
    expect((await ask({ prompt: "Numbers" })).result).toEqual([1]);
    expect(asked()[2]?.response_format).toEqual({ type: "json_object" });
  });

  it("tells the model once what does not fit", async () => {
    const { ask, asked } = await open(["{}", '{"name":"Bike"}']);
    expect((await ask({ response_format })).result).toEqual({ name: "Bike" });
    const [, second] = asked();
    expect(second?.messages.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
    ]);
    expect(second?.messages[3]?.content).toContain("name");
  });

  it("answers 422 with the model's text when it fits no second time", async () => {
    const { ask, asked } = await open(["no", "still no"]);
    expect(await ask({ response_format })).toMatchObject({
      status: 422,
      errors: [{ code: 10540, message: "The model's answer does not fit: The answer is not JSON" }],
      rawAiResponse: "still no",
    });
    expect(asked()).toHaveLength(2);
  });

  it("asks a model that knows no response_format without it", async () => {
    const { ask, asked } = await open([400, '{"name":"a"}']);
    expect((await ask({ response_format })).result).toEqual({ name: "a" });
    expect(asked()[1]).not.toHaveProperty("response_format");
  });

  it("says that the model failed, and that another try would load the page again", async () => {
    const { ask } = await open([500]);
    expect(await ask({ prompt: "x" })).toMatchObject({
      status: 502,
      retry: "false",
      errors: [{ code: 10541, message: "The model answered status 500" }],
    });
  });

  it.each([
    [{}, "One of prompt and response_format is needed"],
    [{ prompt: "" }, "prompt: expected a value that is not empty"],
    [{ response_format: { type: "json_object" } }, "response_format.type"],
    [
      { response_format: { type: "json_schema", json_schema: { $ref: "#/none" } } },
      "Unresolved $ref",
    ],
    [{ promt: "x" }, 'did you mean "prompt"'],
    [{ prompt: "x", custom_ai: [] }, "custom_ai: expected at least 1 entry, got 0"],
    [{ prompt: "x", custom_ai: [{ model: "gpt" }] }, "custom_ai.0.model: expected {provider}/"],
    [{ prompt: "x", custom_ai: [{ model: "a/b", authorization: "Bearer k" }] }, "own model only"],
  ])("refuses %j before it loads or asks anything", async (body, reason) => {
    const { ask, transport } = await open([]);
    const { status, errors } = await ask(body);
    expect([status, errors[0]?.message]).toEqual([400, expect.stringContaining(reason)]);
    expect(transport.requests).toEqual([]);
  });

  it("says what is missing without a model", async () => {
    const { ask } = await open([], { rendering: {} });
    const { status, errors, retry } = await ask({ prompt: "x" });
    expect([status, retry]).toEqual([503, "false"]);
    expect(errors[0]?.message).toContain("chatModel");
  });
});

describe("/json through a gateway of the same program", () => {
  const own = { model: "openai/gpt-4o-mini" };
  const other = { model: "openai/gpt-4o", authorization: "Bearer key-of-the-caller" };
  const keyOf = (headers: readonly (readonly [string, string])[] | undefined) =>
    headers?.find(([name]) => name === "authorization")?.[1];

  it("uses the gateway's key for the operator's model, the caller's for another", async () => {
    const { ask, transport, asked } = await open([500, '{"a":1}', '{"b":1}'], behindGateway);
    expect((await ask({ prompt: "x", custom_ai: [own, other] })).result).toEqual({ a: 1 });
    expect((await ask({ prompt: "x" })).result).toEqual({ b: 1 });
    expect(asked().map(({ model }) => model)).toEqual(["gpt-4o-mini", "gpt-4o", "gpt-4o-mini"]);
    expect(transport.requests.map(({ headers }) => keyOf(headers))).toEqual([
      "Bearer key-of-openai",
      "Bearer key-of-the-caller",
      "Bearer key-of-openai",
    ]);
  });

  it("lends the gateway's key to no other model", async () => {
    const { ask, transport } = await open([], behindGateway);
    const { status, errors } = await ask({ prompt: "x", custom_ai: [{ model: other.model }] });
    expect([status, errors[0]?.message]).toEqual([
      400,
      'custom_ai: "openai/gpt-4o" needs authorization: the server\'s keys are for its own model',
    ]);
    expect(transport.requests).toEqual([]);
  });
});
