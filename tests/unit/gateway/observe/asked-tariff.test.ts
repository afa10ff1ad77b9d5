import { describe, expect, it, vi } from "vitest";
import { answerPrice, requestPrice } from "../../../../core/gateway/metering/cost/dearest-price.ts";
import { boundedJson } from "../../../../core/http/json.ts";
import { chat, gatewayUnderTest, jsonInit } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import { cost } from "../../../../core/gateway/metering/cost/cost.ts";
import { noUsage } from "../../../../core/gateway/chat/usage.ts";
import { askedTariff, paidTariffs } from "../../../../core/gateway/prices/asked-tariff.ts";
import type { HeaderPair } from "../../../../core/ports.ts";
import { priceBook } from "../../../../core/gateway/prices/price-book.ts";

const usage = { ...noUsage, tokensIn: 1000, tokensOut: 100, cachedIn: 400 };
const now = Date.UTC(2026, 10, 27);

/** What a request with this body costs in all, and the tariff of which no price is known. */
function priced(
  slug: string,
  body: object,
  tokensIn = usage.tokensIn,
  headers: readonly HeaderPair[] = [],
): unknown {
  const json = JSON.stringify(body);
  const { model } = body as { model: string };
  const value = (): unknown => boundedJson(json);
  const tariff = askedTariff({ headers, json, value });
  const used = { ...usage, tokensIn };
  const tariffs = paidTariffs(tariff, [], []);
  const answer = { slug, rest: "v1/x", model, further: [], usage: used, at: now, tariffs };
  const asked = { slug, rest: "v1/x", model, json, value, headers };
  const { unpricedTariff } = requestPrice(asked, priceBook(), now);
  return [cost(used, answerPrice(answer, priceBook())), unpricedTariff];
}

describe("a tariff that a request asks for", () => {
  it("is priced where it is listed", () => {
    const gpt = { model: "gpt-5.5" };
    // 600 at 5, 400 cached at 0.5, 100 out at 30 USD per million; then at 12.5, 1.25 and 75.
    expect(priced("openai", gpt)).toEqual([0.0062, null]);
    expect(priced("openai", { ...gpt, service_tier: "priority" })).toEqual([0.0155, null]);
    expect(priced("openai", { ...gpt, service_tier: "default" })).toEqual([0.0062, null]);
    const claude = { model: "claude-opus-4-6" };
    // 600 at 5, 400 cached at 0.5, 100 out at 25; then 1.1 times as much.
    expect(priced("anthropic", claude)).toEqual([0.0057, null]);
    expect(priced("anthropic", { ...claude, inference_geo: "us" })).toEqual([0.00627, null]);
    expect(priced("anthropic", { ...claude, inference_geo: "global" })).toEqual([0.0057, null]);
  });

  it("is at least what Gemini's tier costs, in each spelling of it", () => {
    const gemini = { model: "gemini-2.5-pro" };
    const [list] = priced("google-ai-studio", gemini) as [number];
    for (const tier of [
      { service_tier: "priority" },
      { serviceTier: "PRIORITY" },
      { service_tier: "SERVICE_TIER_PRIORITY" },
    ])
      expect(priced("google-ai-studio", { ...gemini, ...tier })).toEqual([2 * list, null]);
    for (const tier of ["flex", "SERVICE_TIER_STANDARD", "SERVICE_TIER_UNSPECIFIED"])
      expect(priced("google-ai-studio", { ...gemini, service_tier: tier })).toEqual([list, null]);
  });

  it("can be asked for by a header, or by an object", () => {
    const vertex = { model: "gemini-2.5-pro" };
    const asking = [["x-vertex-ai-llm-shared-request-type", "priority"]] as const;
    const [, tier] = priced("google-vertex-ai", vertex, 1000, asking) as [number, string];
    expect(tier).toBe("service_tier");
    const amazon = { model: "anthropic.claude-opus-4-6-v1", serviceTier: { type: "priority" } };
    expect((priced("aws-bedrock", amazon) as unknown[])[1]).toBe("service_tier");
    const cheap = { ...amazon, serviceTier: { type: "flex" } };
    expect((priced("aws-bedrock", cheap) as unknown[])[1]).toBe(null);
    const invoked = [["x-amzn-bedrock-service-tier", "priority"]] as const;
    const { model } = amazon;
    expect((priced("aws-bedrock", { model }, 1000, invoked) as unknown[])[1]).toBe("service_tier");
  });

  it("is read in the value of the body that its other readers share", async () => {
    const spend = { enabled: true, rules: [{ limit: 9, limitType: "cost", window: 3600 }] };
    const gate = await gatewayUnderTest();
    await gate.create("paid", { spend_limits: spend });
    const answered = { usage: { prompt_tokens: 10, completion_tokens: 10 } };
    gate.transport.behave = () => jsonReply(answered);
    const body = JSON.stringify({ ...chat, service_tier: "priority", model: "gpt-5.5", n: 1 });
    const parsed = vi.spyOn(JSON, "parse");
    const answer = await gate.send("paid/openai/chat/completions", { ...jsonInit({}), body });
    expect([answer.status, await answer.json()]).toEqual([200, answered]);
    await gate.logs("paid", 1);
    const readings = parsed.mock.calls.filter(([text]) => text === body);
    parsed.mockRestore();
    expect(readings).toHaveLength(1);
    await gate.close();
  });

  it("is the list price for long requests, which the tier leaves out", () => {
    const body = { model: "gpt-5.5", service_tier: "priority" };
    const [long] = priced("openai", body, 300_000) as [number];
    const [plain] = priced("openai", { model: "gpt-5.5" }, 300_000) as [number];
    expect(long).toBe(plain);
  });

  it("is not known where a body has too many members to be read", () => {
    const metadata = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`m${at}`, 1]));
    const [, unpriced] = priced("openai", {
      model: "gpt-5.5",
      service_tier: "priority",
      metadata,
    }) as [number, string | null];
    expect(unpriced).toBe("service_tier");
  });

  it.each([
    ["openai", { model: "gpt-4-turbo", service_tier: "priority" }, "service_tier"],
    ["azure-openai", { model: "gpt-5.5", service_tier: "priority" }, "service_tier"],
    ["openai", { model: "gpt-5.5", service_tier: "ultrafast" }, "service_tier"],
    ["anthropic", { model: "claude-opus-4-6", inference_geo: "mars" }, "inference_geo"],
    ["anthropic", { model: "claude-opus-4-1", inference_geo: "us" }, "inference_geo"],
    ["openrouter", { model: "anthropic/claude-opus-4.6", inference_geo: "us" }, "inference_geo"],
  ])("is not known at %s with %j", (slug, body, tariff) => {
    const [, unpriced] = priced(slug, body) as [number, string | null];
    expect(unpriced).toBe(tariff);
  });
});
