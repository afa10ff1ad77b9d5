import { describe, expect, it } from "vitest";
import { cost as costAt, type CustomCost } from "../../../../core/gateway/metering/cost/cost.ts";
import { jsonUsage } from "../../../../core/gateway/metering/usage/json-usage.ts";
import { tally } from "../../../../core/gateway/realtime/tally.ts";
import { usageScanner } from "../../../../core/gateway/metering/usage/sse-usage.ts";
import { addUsage } from "../../../../core/gateway/providers/usage.ts";
import { sumOfUsage, noUsage, type TokenUsage } from "../../../../core/gateway/chat/usage.ts";
import { priceOf } from "../../../fakes/gateway-prices.ts";

const cost = (
  used: TokenUsage,
  model: string,
  provider: string,
  custom?: CustomCost,
): number | null => costAt(used, priceOf(model, provider), custom);

const openai = (usage: object): TokenUsage => addUsage(noUsage, { usage });
const gemini = (usageMetadata: object): TokenUsage => addUsage(noUsage, { usageMetadata });

/** An answer of OpenAI's chats with sound in and out. */
const spoken = {
  prompt_tokens: 1_000_000,
  completion_tokens: 300_000,
  prompt_tokens_details: { cached_tokens: 0, text_tokens: 600_000, audio_tokens: 400_000 },
  completion_tokens_details: { reasoning_tokens: 0, text_tokens: 100_000, audio_tokens: 200_000 },
};
/** A report of a realtime session, cached sound, text and images included. */
const realtime = {
  input_tokens: 1_000_000,
  output_tokens: 100_000,
  input_token_details: {
    cached_tokens: 300_000,
    text_tokens: 500_000,
    audio_tokens: 400_000,
    image_tokens: 100_000,
    cached_tokens_details: { text_tokens: 100_000, audio_tokens: 150_000, image_tokens: 50_000 },
  },
  output_token_details: { text_tokens: 20_000, audio_tokens: 80_000 },
};
const realtimeCost =
  0.4 * 4 + 0.1 * 0.4 + 0.25 * 32 + 0.15 * 0.4 + 0.05 * 5 + 0.05 * 0.5 + 0.02 * 24 + 0.08 * 64;

describe("tokens of sound", () => {
  it("are priced apart from text in OpenAI's chats", () => {
    expect(openai(spoken).kinds).toEqual({ audio: { in: 400_000, cachedIn: null, out: 200_000 } });
    expect(cost(openai(spoken), "gpt-4o-audio-preview", "openai")).toBe(
      0.6 * 2.5 + 0.4 * 40 + 0.1 * 10 + 0.2 * 80,
    );
    expect(cost(openai(spoken), "gpt-4o-mini-audio-preview-2024-12-17", "openai")).toBeCloseTo(
      0.6 * 0.15 + 0.4 * 10 + 0.1 * 0.6 + 0.2 * 20,
      12,
    );
  });

  it("are priced apart in realtime sessions, cached ones and images too", () => {
    expect(openai(realtime)).toMatchObject({ tokensIn: 1_000_000, cachedIn: 300_000 });
    expect(cost(openai(realtime), "gpt-realtime-2.1", "openai")).toBeCloseTo(realtimeCost, 12);
    expect(cost(openai(realtime), "gpt-realtime-2", "azure-openai")).toBeCloseTo(realtimeCost, 12);
  });

  it("are priced apart in Gemini's answers, and alike where Google does so", () => {
    const heard = gemini({
      promptTokenCount: 1_000_000,
      candidatesTokenCount: 0,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 300_000 },
        { modality: "AUDIO", tokenCount: 400_000 },
        { modality: "AUDIO", tokenCount: 100_000 },
        { modality: "VIDEO", tokenCount: 200_000 },
      ],
      cachedContentTokenCount: 200_000,
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 200_000 }],
    });
    expect(heard.kinds?.audio).toEqual({ in: 500_000, cachedIn: 200_000, out: 0 });
    const flash = 0.3 * 0.3 + 0.3 * 1 + 0.2 * 0.1 + 0.2 * 0.3;
    expect(cost(heard, "gemini-2.5-flash", "google-ai-studio")).toBeCloseTo(flash, 12);
    const pro = 0.8 * 2.5 + 0.2 * 0.25;
    expect(cost(heard, "gemini-2.5-pro", "google-ai-studio")).toBeCloseTo(pro, 12);
  });

  it("cost nobody knows what where a model's row does not say", () => {
    const heard = openai({
      prompt_tokens: 10,
      completion_tokens: 1,
      prompt_tokens_details: { audio_tokens: 4 },
    });
    const said = openai({
      prompt_tokens: 10,
      completion_tokens: 5,
      completion_tokens_details: { audio_tokens: 4 },
    });
    for (const used of [heard, said]) {
      expect(cost(used, "gpt-4o", "openai")).toBeNull();
      expect(cost(used, "gpt-4o-audio-preview-2024-10-01", "openai")).toBeNull();
      expect(cost(used, "gpt-4o", "openai", { total: 0.5 })).toBe(0.5);
      expect(cost(used, "gpt-4o", "openai", { perTokenIn: 1, perTokenOut: 0 })).toBe(10);
    }
    // It hears at a known price, but what it would say has none.
    expect(cost(heard, "gemini-2.5-flash", "google-ai-studio")).not.toBeNull();
    expect(cost(said, "gemini-2.5-flash", "google-ai-studio")).toBeNull();
  });

  it("that nobody said to be cached or not have no cost where it matters", () => {
    const mixed = { ...spoken.prompt_tokens_details, cached_tokens: 100_000 };
    const used = openai({ ...spoken, prompt_tokens_details: mixed });
    expect(cost(used, "gpt-realtime", "openai")).toBeNull();
    // Nothing is cheaper for being cached here.
    expect(cost(used, "gpt-4o-audio-preview", "openai")).toBe(
      cost(openai(spoken), "gpt-4o-audio-preview", "openai"),
    );
  });

  it("change nothing where there are none", () => {
    const details = { cached_tokens: 4, audio_tokens: 0, image_tokens: 0 };
    const used = openai({
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: details,
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    });
    expect(used).toEqual({ tokensIn: 10, tokensOut: 5, cachedIn: 4, cacheWriteIn: 0 });
    expect(cost(used, "gpt-4o", "openai")).toBeCloseTo((6 * 2.5 + 4 * 1.25 + 5 * 10) / 1e6, 12);
  });

  it("are never charged twice, nor below nothing, when figures contradict each other", () => {
    const odd: TokenUsage = {
      tokensIn: 100,
      tokensOut: 10,
      cachedIn: 500,
      cacheWriteIn: 0,
      reasoningOut: 50,
      kinds: {
        audio: { in: 900, cachedIn: 900, out: 900 },
        image: { in: 900, cachedIn: 0, out: 0 },
      },
    };
    expect(cost(odd, "gpt-realtime", "openai")).toBeCloseTo((100 * 0.4 + 10 * 64) / 1e6, 12);
    for (const audio_tokens of [-1, 1.5, "7", null, Number.MAX_VALUE, {}])
      expect(openai({ prompt_tokens: 9, prompt_tokens_details: { audio_tokens } }).kinds).toBe(
        undefined,
      );
  });
});

describe("images and films", () => {
  const seen = openai({ prompt_tokens: 10, prompt_tokens_details: { image_tokens: 4 } });

  it("that a model looks at cost what text does, unless its row says otherwise", () => {
    expect(cost(seen, "gpt-4o", "openai")).toBeCloseTo((10 * 2.5) / 1e6, 12);
    expect(cost(seen, "gpt-realtime", "openai")).toBeCloseTo((6 * 4 + 4 * 5) / 1e6, 12);
    expect(cost(seen, "gemini-embedding-2", "google-ai-studio")).toBeNull();
  });

  it("that are cached get the price of cached text", () => {
    const used = openai({
      prompt_tokens: 10,
      prompt_tokens_details: { image_tokens: 8, cached_tokens: 5 },
    });
    expect(cost(used, "gpt-4o", "openai")).toBeCloseTo((5 * 2.5 + 5 * 1.25) / 1e6, 12);
  });

  it("that a model makes have no price among texts", () => {
    const made = gemini({
      promptTokenCount: 5,
      candidatesTokenCount: 1300,
      candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1290 }],
    });
    expect(cost(made, "gemini-2.5-flash", "google-ai-studio")).toBeNull();
  });
});

describe("reports of kinds of tokens", () => {
  it("replace earlier ones, and leave alone what they do not mention", () => {
    const first = openai(spoken);
    expect(addUsage(first, { usage: { completion_tokens: 9 } }).kinds).toEqual(first.kinds);
    const completion_tokens_details = { audio_tokens: 5 };
    expect(addUsage(first, { usage: { completion_tokens_details } }).kinds?.audio).toEqual({
      in: 400_000,
      cachedIn: null,
      out: 5,
    });
    expect(
      addUsage(openai({ prompt_tokens_details: { audio_tokens: 5 } }), {
        usage: { prompt_tokens_details: { audio_tokens: 0 } },
      }).kinds,
    ).toBeUndefined();
  });

  it("are read from whole answers and from streams alike", () => {
    const body = { id: "c", choices: [], usage: spoken };
    expect(jsonUsage(JSON.stringify(body))).toEqual(openai(spoken));
    const scanner = usageScanner();
    scanner.push(`data: ${JSON.stringify(body)}\n\ndata: [DONE]\n\n`);
    expect(scanner.usage()).toEqual(openai(spoken));
  });

  it("name what Gemini's Live API answers", () => {
    const live = gemini({
      promptTokenCount: 522,
      responseTokenCount: 42,
      promptTokensDetails: [{ modality: "AUDIO", tokenCount: 165 }],
      responseTokensDetails: [{ modality: "AUDIO", tokenCount: 42 }],
      thoughtsTokenCount: 136,
    });
    expect(live).toMatchObject({
      tokensIn: 522,
      tokensOut: 178,
      kinds: { audio: { in: 165, out: 42 } },
    });
  });

  it("add up with all else that two requests used", () => {
    const one = { ...openai(realtime), reasoningOut: 3, cacheWriteHourIn: 2 };
    expect(sumOfUsage(one, one)).toEqual({
      tokensIn: 2_000_000,
      tokensOut: 200_000,
      cachedIn: 600_000,
      cacheWriteIn: 0,
      cacheWriteHourIn: 4,
      reasoningOut: 6,
      kinds: {
        audio: { in: 800_000, cachedIn: 300_000, out: 160_000 },
        image: { in: 200_000, cachedIn: 100_000, out: 0 },
      },
    });
    expect(sumOfUsage(openai(spoken), one).kinds?.audio?.cachedIn).toBeNull();
    expect(sumOfUsage(noUsage, noUsage)).toEqual(noUsage);
  });
});

describe("the cost of a realtime session", () => {
  const end = { by: "client", code: 1000, reason: "" } as const;
  const done = JSON.stringify({ type: "response.done", response: { usage: realtime } });
  const usageOf = (...messages: string[]): TokenUsage => {
    const counted = tally({ model: "gpt-realtime-2", summary: false, keep: 0 });
    for (const message of messages) counted.add("provider", message);
    return counted.finish(end).seen.usage;
  };

  it("is that of its responses together", () => {
    expect(cost(usageOf(done, done), "gpt-realtime-2", "openai")).toBeCloseTo(2 * realtimeCost, 12);
  });

  it("is not known when another model wrote down what was said", () => {
    const type = "conversation.item.input_audio_transcription.completed";
    for (const usage of [
      { type: "tokens", input_tokens: 9, input_token_details: { audio_tokens: 9 } },
      { type: "duration", seconds: 3 },
    ]) {
      const used = usageOf(done, JSON.stringify({ type, usage }), done);
      expect(used).toMatchObject({ tokensIn: 2_000_000, tokensOut: 200_000 });
      expect(cost(used, "gpt-realtime-2", "openai")).toBeNull();
    }
  });
});
