import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Chat } from "../../../../core/gateway/chat/chat-format.ts";
import { fitChat, fitChatBody } from "../../../../core/gateway/models/fit-chat.ts";
import { modelRules } from "../../../../core/gateway/models/model-rules.ts";
import { providerOfFamily } from "../../../../core/gateway/prices/model-spellings.ts";
import { priceLists } from "../../../../core/gateway/prices/prices.ts";
import { translationRoute } from "../../../../core/gateway/providers/families.ts";
import { type GatewayUnderTest, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

const messages: Chat["messages"] = [{ role: "user", content: "Hi" }];
const tools: Chat["tools"] = [
  { type: "function", function: { name: "f", parameters: { type: "object" } } },
];

/** One parameter each. */
const parameters: readonly Partial<Chat>[] = [
  { temperature: 0.5 },
  { temperature: 0.5, top_p: 0.9 },
  { top_k: 5 },
  { presence_penalty: 1 },
  { frequency_penalty: 1 },
  { stop: ["END"] },
  { stop: [" ", "END"] },
  { tools },
  { tools, tool_choice: "required" },
  { tools, tool_choice: { type: "function", function: { name: "f" } } },
  ...["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) => ({
    reasoning_effort: effort,
  })),
  { reasoning_effort: "high", temperature: 0.5, top_p: 0.9, top_k: 5 },
  { reasoning_effort: "high", tools, tool_choice: "required" },
  { thinking_budget: 1 },
  { thinking_budget: 100_000 },
  { max_tokens: 1_000_000 },
  { max_completion_tokens: 1_000_000 },
  { messages: [...messages, { role: "assistant", content: "{" }] },
];

interface Wire extends Record<string, unknown> {
  readonly generationConfig?: Record<string, unknown>;
}

/** The body that the provider of a model gets. */
function wire(slug: string, model: string, more: Partial<Chat>): Wire {
  const rules = modelRules(slug, model);
  const chat: Chat = { model, messages, ...more };
  const step = {
    slug,
    rest: "chat/completions",
    query: "",
    method: "POST",
    headers: [],
    body: null,
  };
  const translator = translationRoute(step)?.translator;
  const body =
    translator === undefined
      ? fitChatBody({ ...chat }, rules).chat
      : translator.request(fitChat(chat, rules).chat).body;
  return JSON.parse(JSON.stringify(body)) as Wire;
}

const names: Readonly<Record<string, readonly string[]>> = {
  temperature: ["temperature"],
  top_p: ["top_p", "topP"],
  top_k: ["top_k", "topK"],
  presence_penalty: ["presence_penalty", "presencePenalty"],
  frequency_penalty: ["frequency_penalty", "frequencyPenalty"],
  stop: ["stop", "stop_sequences", "stopSequences"],
};

/** Whether a body has a thing that a model refuses, under the name that its provider has for it. */
function has(body: Wire, parameter: string): boolean {
  const all = { ...body, ...body.generationConfig };
  if (parameter === "tool_choice")
    return /required|any|"tool"|"function"/iu.test(
      JSON.stringify(body["tool_choice"] ?? body["toolConfig"] ?? null),
    );
  if (parameter === "blank_stop") return JSON.stringify(body["stop_sequences"] ?? []).includes(" ");
  if (parameter === "max_tokens") return body["max_tokens"] !== undefined;
  if (parameter === "prefill") {
    const turns = (body["messages"] ?? body["contents"]) as { role: string }[];
    return ["assistant", "model"].includes(turns.at(-1)?.role ?? "");
  }
  return (names[parameter] ?? []).some((name) => name in all);
}

interface Thinking {
  readonly type?: string;
  readonly budget_tokens?: number;
  readonly thinkingBudget?: number;
  readonly thinkingLevel?: string;
}

/** The effort, the budget and the word for no thinking in a body. */
function thinkingIn(body: Wire) {
  const thinking = (body["thinking"] ?? body.generationConfig?.["thinkingConfig"]) as
    | Thinking
    | undefined;
  const config = body["output_config"] as { effort?: string } | undefined;
  return {
    effort: (body["reasoning_effort"] ?? config?.effort ?? thinking?.thinkingLevel) as
      | string
      | undefined,
    budget: thinking?.budget_tokens ?? thinking?.thinkingBudget,
    off: ["disabled", "between_tools"].find((type) => type === thinking?.type),
  };
}

/** Models whose output costs nothing make vectors, and take no chats. */
const models = priceLists.flatMap(({ family, models: listed }) =>
  listed
    .filter(({ output }) => output > 0)
    .map(({ model }) => [providerOfFamily(family), model] as const),
);

describe("a model of the price lists", () => {
  it.each([...new Set(models.map(([slug]) => slug))])(
    "of %s gets nothing that it refuses",
    (slug) => {
      for (const [, model] of models.filter(([of]) => of === slug)) {
        const rules = modelRules(slug, model);
        expect(rules, model).toBeDefined();
        for (const parameter of parameters) {
          const body = wire(slug, model, parameter);
          const what = `${model} ${JSON.stringify(parameter)} ${JSON.stringify(body)}`;
          const { thinking, refuses = [], output = Number.POSITIVE_INFINITY } = rules ?? {};
          const { effort, budget, off } = thinkingIn(body);
          const isOff = off !== undefined || effort === "none" || budget === 0;
          const thinks =
            effort !== undefined || budget !== undefined || thinking?.byDefault === true;
          const beside = thinks && !isOff ? (thinking?.refuses ?? []) : [];
          expect(
            [...refuses, ...beside].filter((one) => has(body, one)),
            what,
          ).toEqual([]);
          const limit = body["max_tokens"] ?? body["max_completion_tokens"];
          expect(
            Number(limit ?? body.generationConfig?.["maxOutputTokens"] ?? 0),
            what,
          ).toBeLessThanOrEqual(output);
          if (rules?.oneSampler === true)
            expect(has(body, "temperature") && has(body, "top_p"), what).toBe(false);
          if (thinking === undefined) continue;
          if (effort !== undefined) expect(thinking?.efforts, what).toContain(effort);
          if (off !== undefined) expect(thinking?.off, what).toBe(off);
          if (budget === 0) expect(thinking?.off, what).toBe("zero");
          else if (budget !== undefined) {
            expect(budget, what).toBeGreaterThanOrEqual(thinking?.least ?? Infinity);
            expect(budget, what).toBeLessThanOrEqual(thinking?.most ?? Infinity);
          }
        }
      }
    },
  );
});

/** Facts of the providers' guides, without the table. */
describe("a request to", () => {
  const sent = (name: string, more: Partial<Chat>): Wire => {
    const [slug = "", model = ""] = name.split("/");
    return wire(slug, model, more);
  };
  const forced = { tools, tool_choice: "required" } as const;

  it.each([
    "opus-4-7",
    "opus-4-8",
    "opus-5",
    "opus-5-5",
    "sonnet-5",
    "sonnet-5-5",
    "haiku-5-5",
    "fable-5-1",
  ])("Claude %s has no sampling parameters and ends with the user", (name) => {
    const begun: Chat["messages"] = [...messages, { role: "assistant", content: "{" }];
    const body = sent(`anthropic/claude-${name}`, {
      temperature: 0,
      top_p: 1,
      top_k: 1,
      messages: begun,
    });
    expect(body).not.toHaveProperty("temperature");
    expect(body).not.toHaveProperty("top_p");
    expect(body).not.toHaveProperty("top_k");
    expect((body["messages"] as { role: string }[]).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
    ]);
  });

  it.each([
    ["claude-opus-5-5", "auto"],
    ["claude-sonnet-5-5", "auto"],
    ["claude-fable-5-1", "auto"],
    ["claude-opus-5", "any"],
    ["claude-sonnet-4-5", "any"],
  ])("%s with a forced tool asks for %s", (model, type) => {
    expect(sent(`anthropic/${model}`, forced)["tool_choice"]).toEqual({ type });
  });

  it.each([
    ["claude-opus-5", { type: "disabled" }, undefined],
    ["claude-sonnet-5-5", { type: "between_tools" }, undefined],
    ["claude-opus-5-5", { type: "adaptive" }, "low"],
    ["claude-sonnet-4-5", { type: "disabled" }, undefined],
  ])("%s turns thinking off as far as that can be", (model, thinking, effort) => {
    const body = sent(`anthropic/${model}`, { reasoning_effort: "none" });
    expect(body["thinking"]).toEqual(thinking);
    expect(thinkingIn(body).effort).toBe(effort);
  });

  it("a Claude model with one sampler keeps the temperature", () => {
    const both = { temperature: 0.5, top_p: 0.9 };
    const body = sent("anthropic/claude-sonnet-4-5-20250929", both);
    expect([body["temperature"], "top_p" in body]).toEqual([0.5, false]);
    const older = sent("anthropic/claude-sonnet-4-20250514", both);
    expect([older["temperature"], older["top_p"]]).toEqual([0.5, 0.9]);
  });

  it("a Claude model that thinks by a budget does not think where a tool is forced", () => {
    const body = sent("anthropic/claude-sonnet-4-5", { ...forced, reasoning_effort: "high" });
    expect([body["tool_choice"], body["thinking"]]).toEqual([
      { type: "any" },
      { type: "disabled" },
    ]);
  });

  it.each([
    ["gpt-4.1", {}],
    ["gpt-5", { reasoning_effort: "high" }],
    ["gpt-5.1", { reasoning_effort: "high" }],
    ["gpt-5.2", { reasoning_effort: "xhigh" }],
    ["gpt-5.6-luna", { reasoning_effort: "max" }],
    ["gpt-5-pro", { reasoning_effort: "high" }],
  ])("OpenAI's %s has an effort that it has", (model, effort) => {
    const {
      model: _,
      messages: __,
      ...rest
    } = sent(`openai/${model}`, { reasoning_effort: "max" });
    expect(rest).toEqual(effort);
  });

  it("OpenAI samples only where the model does not think", () => {
    const sampled = { temperature: 0.5 };
    expect(has(sent("openai/gpt-5.1", sampled), "temperature")).toBe(true);
    expect(
      has(sent("openai/gpt-5.1", { ...sampled, reasoning_effort: "low" }), "temperature"),
    ).toBe(false);
    expect(has(sent("openai/gpt-5", sampled), "temperature")).toBe(false);
    expect(has(sent("openai/gpt-6-sol", sampled), "temperature")).toBe(false);
    expect(
      has(sent("openai/gpt-6-sol", { ...sampled, reasoning_effort: "none" }), "temperature"),
    ).toBe(true);
  });

  it("OpenAI's newer models take tools in chats without thinking alone", () => {
    expect(sent("openai/gpt-6-sol", { tools })["reasoning_effort"]).toBe("none");
    expect(sent("openai/gpt-5.4", { tools })).not.toHaveProperty("reasoning_effort");
    expect(sent("openai/gpt-5.4", { tools, reasoning_effort: "low" })["reasoning_effort"]).toBe(
      "none",
    );
  });

  it("a model that looks for its limit elsewhere finds it there", () => {
    expect(sent("openai/o3", { max_tokens: 9 })).toMatchObject({ max_completion_tokens: 9 });
    expect(sent("openai/o3", { max_tokens: 9 })).not.toHaveProperty("max_tokens");
    expect(sent("openai/gpt-4o", { max_tokens: 9 })).toMatchObject({ max_tokens: 9 });
  });

  it("Mistral may begin the answer where the client marks it", () => {
    const begun = { role: "assistant", content: "{", prefix: true } as const;
    const body = sent("mistral/mistral-large-2512", { messages: [...messages, begun] });
    expect(body["messages"]).toEqual([...messages, begun]);
  });

  it("a model or a provider that nobody knows has all that the client wrote", () => {
    const all = { temperature: 1, top_p: 1, top_k: 1, stop: "a", reasoning_effort: "high" };
    for (const name of ["openai/x", "workers-ai/gpt-5", "openrouter/claude-opus-5-5"])
      expect(sent(name, all)).toMatchObject(all);
  });
});

describe("through the gateway", () => {
  let gate: GatewayUnderTest;
  beforeAll(async () => {
    gate = await gatewayUnderTest();
  });
  afterAll(() => gate.close());
  beforeEach(() => {
    gate.transport.bodies.length = 0;
    gate.transport.behave = () => jsonReply({});
  });
  const send = (path: string, body: object): Promise<Response> =>
    gate.send(`open/${path}`, jsonInit(body));
  const sentBody = () => JSON.parse(gate.transport.bodies.at(-1) ?? "null") as Wire;
  const asking: Readonly<Record<string, object>> = {
    "chat/completions": { messages },
    messages: { messages, max_tokens: 64 },
    responses: { input: "Hi" },
  };

  it.each([
    ["chat/completions", "anthropic/claude-opus-5-5"],
    ["responses", "anthropic/claude-opus-5-5"],
    ["messages", "openai/gpt-5"],
    ["chat/completions", "openai/gpt-5"],
    ["messages", "grok/grok-4.5"],
  ])("%s of %s says what had to go, in the answer and in its row", async (format, model) => {
    const sampler = model.startsWith("grok") ? { top_k: 3 } : { temperature: 0.5 };
    const response = await send(`compat/${format}`, { ...asking[format], model, ...sampler });
    const [name = ""] = Object.keys(sampler);
    expect(sentBody()).not.toHaveProperty(name);
    expect(response.headers.get("cf-aig-dropped")).toBe(name);
    expect(response.headers.get("gw-aig-dropped")).toBe(name);
    const event = response.headers.get("cf-aig-event-id") ?? "";
    expect(await gate.rowsOf("open", event, 1)).toMatchObject([{ dropped: name }]);
  });

  it("says nothing where nothing had to go", async () => {
    const response = await send("compat/chat/completions", {
      messages,
      model: "openai/gpt-4.1",
      temperature: 0.5,
    });
    expect(sentBody()).toEqual({ messages, model: "gpt-4.1", temperature: 0.5 });
    expect(response.headers.get("cf-aig-dropped")).toBeNull();
    const event = response.headers.get("cf-aig-event-id") ?? "";
    expect(await gate.rowsOf("open", event, 1)).toMatchObject([{ dropped: null }]);
  });

  it("leaves a request to the provider's own path byte for byte", async () => {
    const body = { messages, model: "gpt-5", temperature: 0.5, top_k: 3 };
    const response = await send("openai/chat/completions", body);
    expect(gate.transport.bodies.at(-1)).toBe(JSON.stringify(body));
    expect(response.headers.get("cf-aig-dropped")).toBeNull();
  });
});
