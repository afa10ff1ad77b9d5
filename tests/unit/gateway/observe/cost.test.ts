import { describe, expect, it } from "vitest";
import { cost as costAt, type CustomCost } from "../../../../core/gateway/metering/cost/cost.ts";
import { priceLists } from "../../../../core/gateway/prices/prices.ts";
import { addUsage, usageOf } from "../../../../core/gateway/providers/usage.ts";
import { noUsage, type TokenUsage } from "../../../../core/gateway/chat/usage.ts";
import { priceOf } from "../../../fakes/gateway-prices.ts";

const cost = (
  used: TokenUsage,
  model: string,
  provider: string,
  custom?: CustomCost,
): number | null => costAt(used, priceOf(model, provider), custom);

const usage = (tokensIn: number, tokensOut: number, more: object = {}) => ({
  tokensIn,
  tokensOut,
  cachedIn: 0,
  cacheWriteIn: 0,
  ...more,
});

describe("cost()", () => {
  it("multiplies tokens by the price per million", () => {
    expect(cost(usage(1_000_000, 1_000_000), "gpt-4o-mini", "openai")).toBe(0.75);
    expect(cost(usage(1000, 500), "claude-sonnet-4-5-20250929", "anthropic")).toBe(0.0105);
  });

  it("charges cached tokens less, and never more than uncached ones", () => {
    expect(cost(usage(1_000_000, 0, { cachedIn: 400_000 }), "gpt-4o", "openai")).toBe(2);
    for (const { family, models } of priceLists) {
      for (const { model, kinds = {}, ...text } of models) {
        for (const { input = 0, cached = input } of [text, ...Object.values(kinds)])
          expect([family, model, cached <= input]).toEqual([family, model, true]);
      }
    }
  });

  it("charges cache writes and reasoning at their own prices", () => {
    const written = usage(1_000_000, 0, { cacheWriteIn: 1_000_000 });
    expect(cost(written, "claude-haiku-4-5", "anthropic")).toBe(1.25);
    const hour = usage(1_000_000, 0, { cacheWriteIn: 600_000, cacheWriteHourIn: 400_000 });
    expect(cost(hour, "claude-haiku-4-5", "anthropic")).toBe(1.45);
    expect(cost(written, "gpt-6-sol", "openai")).toBe(5);
    const thought = usage(0, 1_000_000, { reasoningOut: 500_000 });
    expect(cost(thought, "sonar-deep-research", "perplexity-ai")).toBe(5.5);
    expect(cost(thought, "gpt-5", "openai")).toBe(10);
  });

  it("takes the cost that a provider tells over the list price", () => {
    const told = (slug: string, report: object, known: TokenUsage = noUsage) =>
      cost(
        usageOf(slug)(known, { usage: { prompt_tokens: 10, completion_tokens: 5, ...report } }),
        "no-such-model",
        slug,
      );
    expect(told("openrouter", { cost: 0.95 })).toBe(0.95);
    const ownKey = { cost: 0.05, is_byok: true, cost_details: { upstream_inference_cost: 1 } };
    expect(told("openrouter", ownKey)).toBe(1.05);
    expect(told("openrouter", { cost: 0.05, is_byok: true })).toBeNull();
    const searched = { cost: { input_tokens_cost: 0.001, request_cost: 0.005, total_cost: 0.006 } };
    expect(told("perplexity-ai", searched)).toBe(0.006);
    expect(told("perplexity-ai", { cost: { currency: "EUR", total_cost: 1 } })).toBeNull();
    expect(told("grok", { cost_in_usd_ticks: 37_756_000 })).toBe(0.0037756);
    // A later report of a stream without it.
    const before = usageOf("grok")(noUsage, { usage: { cost_in_usd_ticks: 10_000_000_000 } });
    expect(told("grok", {}, before)).toBe(1);
    const response = { type: "response.completed", response: { usage: { cost: 0.5 } } };
    expect(cost(usageOf("openrouter")(noUsage, response), "no-such-model", "openrouter")).toBe(0.5);
    for (const odd of [-1, "1", null, Number.NaN, 1e9])
      expect(told("openrouter", { cost: odd })).toBeNull();
    // Others could mean anything by it.
    for (const slug of ["custom-lab", "openai", "groq"]) expect(told(slug, { cost: 1 })).toBeNull();
    const free = { ...usage(1000, 0), toldCost: 0 };
    expect(cost(free, "gpt-4o", "openai")).toBe(0);
    expect(cost(free, "gpt-4o", "openai", { perTokenIn: 0.001, perTokenOut: 0 })).toBe(1);
  });

  it("learns of cache writes, those for an hour among them, and of thoughts from the provider", () => {
    const claude = {
      usage: {
        input_tokens: 400_000,
        output_tokens: 0,
        cache_creation_input_tokens: 600_000,
        cache_creation: { ephemeral_5m_input_tokens: 200_000, ephemeral_1h_input_tokens: 400_000 },
        output_tokens_details: { thinking_tokens: 7 },
      },
    };
    const seen = addUsage(noUsage, claude);
    expect(cost(seen, "claude-haiku-4-5", "anthropic")).toBe(1.45);
    expect(seen.reasoningOut).toBe(7);
    const prompt_tokens_details = { cached_tokens: 0, cache_write_tokens: 1_000_000 };
    const gpt = {
      usage: { prompt_tokens: 1_000_000, completion_tokens: 0, prompt_tokens_details },
    };
    expect(cost(addUsage(noUsage, gpt), "gpt-6-luna", "openai")).toBe(0.25);
  });

  it("counts thoughts that a provider has beside its output, and none twice", () => {
    const of = (told: object) => addUsage(noUsage, { usage: told });
    const completion_tokens_details = { reasoning_tokens: 94 };
    const [prompt_tokens, completion_tokens] = [32, 9];
    const xai = { prompt_tokens, completion_tokens, completion_tokens_details };
    expect(of({ ...xai, total_tokens: 135 })).toMatchObject({ tokensOut: 103, reasoningOut: 94 });
    expect(of({ ...xai, completion_tokens: 103, total_tokens: 135 }).tokensOut).toBe(103);
    const responses = { input_tokens: 32, output_tokens: 103, total_tokens: 135 };
    expect(of({ ...responses, output_tokens_details: completion_tokens_details }).tokensOut).toBe(
      103,
    );
    const research = {
      prompt_tokens: 33,
      completion_tokens: 7163,
      total_tokens: 7196,
      citation_tokens: 20_016,
      reasoning_tokens: 193_789,
    };
    expect(cost(of(research), "sonar-deep-research", "perplexity-ai")).toBeCloseTo(
      (33 * 2 + 7163 * 8 + 193_789 * 3) / 1e6,
      12,
    );
    const usageMetadata = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 5,
      candidatesTokenCount: 1,
    };
    expect(addUsage(noUsage, { usageMetadata }).tokensIn).toBe(15);
  });

  it("does not count tokens twice when a provider's figures contradict each other", () => {
    const odd = usage(100, 10, { cachedIn: 500, cacheWriteIn: 500, reasoningOut: 50 });
    expect(cost(odd, "gpt-4o", "openai")).toBeCloseTo((100 * 1.25 + 10 * 10) / 1e6, 12);
  });

  it("charges long requests at the long tariff", () => {
    expect(cost(usage(200_000, 0), "gemini-2.5-pro", "google-ai-studio")).toBe(0.25);
    expect(cost(usage(400_000, 0), "gemini-2.5-pro", "google-ai-studio")).toBe(1);
    expect(cost(usage(100_000, 0), "claude-haiku-5-5", "anthropic")).toBe(0.01);
    expect(cost(usage(200_000, 0), "claude-haiku-5-5", "anthropic")).toBe(0.1);
    const hour = usage(400_000, 0, { cacheWriteIn: 400_000, cacheWriteHourIn: 400_000 });
    expect(cost(hour, "claude-sonnet-4-5", "anthropic")).toBe(4.8);
  });

  it("is null for unknown tokens and unknown models", () => {
    const nothing = { tokensIn: null, tokensOut: null, cachedIn: 0, cacheWriteIn: 0 };
    expect(cost(nothing, "gpt-4o", "openai")).toBeNull();
    expect(cost(usage(1, 1), "some-new-model", "openai")).toBeNull();
    expect(cost(usage(1, 1), "gpt-4o", "custom-acme")).toBeNull();
    expect(cost(usage(1, 1), "constructor", "openai")).toBeNull();
    expect(cost(usage(1, 1), "gpt-4o", "__proto__")).toBeNull();
  });

  it("takes the caller's own prices over the table", () => {
    expect(cost(usage(10, 10), "gpt-4o", "openai", { total: 0.5 })).toBe(0.5);
    const own = { perTokenIn: 0.001, perTokenOut: 0.002 };
    expect(cost(usage(10, 10), "no-such-model", "openai", own)).toBe(0.03);
  });
});

describe("the built-in prices", () => {
  it("finds a model behind a date, a revision, an alias or a reseller's spelling", () => {
    const names: [string, string, number][] = [
      ["gpt-4o-2024-08-06", "openai", 2.5],
      ["GPT-4.1", "azure-openai", 2],
      ["gpt-3.5-turbo-0125", "openai", 0.5],
      ["gpt-4-1106-preview", "openai", 10],
      ["gpt-4-0613", "openai", 30],
      ["claude-3-5-sonnet-latest", "anthropic", 3],
      ["claude-opus-4-5@20251101", "google-vertex-ai", 5],
      ["us.anthropic.claude-sonnet-4-20250514-v1:0", "aws-bedrock", 3],
      ["anthropic/claude-sonnet-4.5", "openrouter", 3],
      ["google/gemini-2.5-flash:nitro", "openrouter", 0.3],
      ["models/gemini-2.5-flash-preview-09-2025", "google-ai-studio", 0.3],
      ["gemini-2.0-flash-001", "google-vertex-ai", 0.1],
      ["mistral-small-2506", "mistral", 0.1],
      ["codestral-latest", "mistral", 0.3],
      ["anthropic/claude-opus-5.5", "openrouter", 4],
      ["gemini-embedding-001", "google-ai-studio", 0.15],
      ["grok-4-0709", "grok", 3],
      ["jp.anthropic.claude-haiku-4-5-20251001-v1:0", "aws-bedrock", 1.1],
      [
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Afoundation-model%2Fanthropic.claude-sonnet-4-5-20250929-v1%3A0",
        "aws-bedrock",
        3.3,
      ],
      ["publishers/google/models/gemini-2.5-pro", "google-vertex-ai", 1.25],
      ["openai/gpt-4o", "openai", 2.5],
      ["chatgpt-4o-latest", "openai", 5],
      ["gpt-4o-2024-05-13", "openai", 5],
    ];
    for (const [model, provider, input] of names) {
      expect([model, priceOf(model, provider)?.input]).toEqual([model, input]);
    }
  });

  it("does not take one model for another that begins the same", () => {
    expect(priceOf("gpt-4o-mini", "openai")?.input).toBe(0.15);
    expect(priceOf("gpt-5-mini-something", "openai")).toBeNull();
    expect(priceOf("gpt-4o-audio-something", "openai")).toBeNull();
    expect(priceOf("gpt-realtime-mini", "openai")).toBeNull();
    expect(priceOf("google/gemini-2.5-flash:free", "openrouter")).toBeNull();
    expect(priceOf("", "openai")).toBeNull();
    expect(priceOf("claude-opus-5-9", "anthropic")).toBeNull();
    // Dates that are none, and those of other authors.
    expect(priceOf("gpt-4o-2024-13-06", "openai")).toBeNull();
    expect(priceOf("gpt-4-9999", "openai")).toBeNull();
    expect(priceOf("gpt-4o-20240806", "openai")).toBeNull();
    expect(priceOf("claude-haiku-4-5-0102", "anthropic")).toBeNull();
    expect(priceOf("anthropic/gpt-4o", "openai")).toBeNull();
    expect(priceOf("ft:gpt-4o-2024-08-06:acme::id", "openai")).toBeNull();
    const own = "arn:aws:bedrock:us-east-1:1:application-inference-profile/claude-haiku-4-5";
    expect(priceOf(own, "aws-bedrock")).toBeNull();
    expect(priceOf("gpt-4o", "constructor")).toBeNull();
  });

  it("keeps the date where another date is another price", () => {
    const inputs = ["mistral-large-2411", "mistral-large-2512", "mistral-large-2407"].map(
      (model) => priceOf(model, "mistral")?.input,
    );
    expect(inputs).toEqual([2, 0.5, undefined]);
    expect(priceOf("command-r-plus-04-2024", "cohere")?.input).toBe(3);
    expect(priceOf("command-r-plus", "cohere")).toBeNull();
  });

  it("has prices that make sense: output not below input but for embeddings, long requests dearer", () => {
    for (const { family, models } of priceLists) {
      for (const { model, ...price } of models) {
        const { input, output, cacheWrite = input, cacheWriteHour = cacheWrite, long } = price;
        const sane =
          input > 0 &&
          (output >= input || (output === 0 && /embed/.test(model))) &&
          cacheWrite >= input &&
          cacheWriteHour >= cacheWrite &&
          (long === undefined || (long.input > input && long.output > output));
        expect([family, model, sane]).toEqual([family, model, true]);
      }
    }
  });
});
