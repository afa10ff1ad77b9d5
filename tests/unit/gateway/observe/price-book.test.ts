import { describe, expect, it } from "vitest";
import * as v from "valibot";
import { modelSpellings } from "../../../../core/gateway/prices/model-spellings.ts";
import { priceBook } from "../../../../core/gateway/prices/price-book.ts";
import { type PriceRowSetting, priceRows } from "../../../../core/gateway/prices/price-rows.ts";
import { PRICED_AT } from "../../../fakes/gateway-prices.ts";

const row = (model: string, input: number, more: object = {}): PriceRowSetting => ({
  provider: "openai",
  model,
  input,
  output: input,
  ...more,
});

describe("a price book", () => {
  it("takes the API over the file over what is built in", () => {
    const file = [row("gpt-4o", 2), row("gpt-4.1", 7)];
    const book = priceBook({ api: [row("GPT-4o", 1, { source: "contract" })], file });
    const found = (model: string) => book.find(model, "openai", PRICED_AT);
    expect(found("gpt-4o-2024-08-06")).toMatchObject({ origin: "api", source: "contract" });
    expect(found("gpt-4.1")).toMatchObject({ origin: "file", price: { input: 7 } });
    expect(found("gpt-4o-mini")).toMatchObject({
      origin: "built-in",
      source: "https://platform.openai.com/docs/pricing",
      checked: expect.stringMatching(/^2026-/),
    });
  });

  it("takes the more specific name first, and `*` last", () => {
    const api = [row("*", 9), row("gpt-4o", 1), row("ft:gpt-4o", 3)];
    const input = (model: string): number | undefined =>
      priceBook({ api }).find(model, "openai", PRICED_AT)?.price.input;
    expect(input("gpt-4o-2024-08-06")).toBe(1);
    // A snapshot of another price.
    expect(input("gpt-4o-2024-05-13")).toBe(5);
    expect(input("ft:gpt-4o-2024-08-06:acme::id")).toBe(3);
    expect(input("gpt-99")).toBe(9);
    expect(input("")).toBeUndefined();
    expect(priceBook({ api }).find("gpt-99", "groq", PRICED_AT)).toBeNull();
  });

  it("takes the latest date that has come", () => {
    const api = [
      row("gpt-4o", 3, { from: "2027-01-01" }),
      row("gpt-4o", 1),
      row("gpt-4o", 2, { from: "2026-12-01T12:00:00+02:00" }),
    ];
    const book = priceBook({ api });
    const at = (instant: string): number | undefined =>
      book.find("gpt-4o", "openai", Date.parse(instant))?.price.input;
    expect(at("2026-12-01T09:59:59Z")).toBe(1);
    expect(at("2026-12-01T10:00:00Z")).toBe(2);
    expect(at("2027-01-01T00:00:00Z")).toBe(3);
    const flash = (instant: string): number | undefined =>
      book.find("gemini-3.8-flash", "google-ai-studio", Date.parse(instant))?.price.input;
    expect([flash("2026-12-31T23:59:59Z"), flash("2027-01-01T00:00:00Z")]).toEqual([0.75, 1.5]);
  });

  it("knows the prices of this autumn's models", () => {
    const at = (model: string, provider: string, day = "2026-11-27") =>
      priceBook().find(model, provider, Date.parse(day))?.price;
    expect(at("claude-sonnet-5-5", "anthropic", "2026-10-06")).toMatchObject({ cached: 0.2 });
    expect(at("claude-sonnet-5-5", "anthropic", "2026-10-07")).toMatchObject({ cached: 0.1 });
    expect(at("gpt-5.6-terra", "openai")).toMatchObject({
      cacheWrite: 2.5,
      long: { cacheWrite: 5 },
    });
    expect(at("gpt-5.6-luna", "openai")).toMatchObject({
      cacheWrite: 0.25,
      long: { cacheWrite: 0.5 },
    });
    const sol = { input: 2, output: 10, cached: 0.1, cacheWrite: 2.5 };
    expect(at("gpt-6.1-sol-2026-09-29", "openai")).toMatchObject(sol);
    expect(at("gpt-6.1-terra", "openrouter")).toBeUndefined();
    expect(at("openai/gpt-6.1-terra", "openrouter")).toMatchObject({ input: 1, cached: 0.05 });
  });

  it("charges more for Claude 4.5 and later in a region of Amazon or Google", () => {
    const inputOf = (model: string, provider: string, rest = "", book = priceBook()) =>
      book.find(model, provider, PRICED_AT, rest)?.price.input;
    const bedrock = (model: string) => inputOf(model, "aws-bedrock");
    expect(bedrock("global.anthropic.claude-sonnet-4-5-20250929-v1:0")).toBe(3);
    expect(bedrock("us.anthropic.claude-sonnet-4-5-20250929-v1:0")).toBe(3.3);
    expect(bedrock("anthropic.claude-haiku-4-5-20251001-v1:0")).toBe(1.1);
    expect(bedrock("us.anthropic.claude-opus-4-1-20250805-v1:0")).toBe(15);
    const profile = "arn:aws:bedrock:us-east-1:1:inference-profile/";
    expect(bedrock(`${profile}global.anthropic.claude-opus-4-8-v1`)).toBe(5);
    expect(bedrock(`${profile}eu.anthropic.claude-opus-4-8-v1`)).toBe(5.5);
    const vertex = (place: string) =>
      inputOf(
        "claude-opus-5-5",
        "google-vertex-ai",
        `v1/projects/p/locations/${place}/publishers/anthropic/models/claude-opus-5-5:rawPredict`,
      );
    expect(["global", "us-east5", "eu"].map(vertex)).toEqual([4, 4.4, 4.4]);
    expect(inputOf("claude-opus-5-5", "anthropic")).toBe(4);
    const long = priceBook().find("eu.anthropic.claude-haiku-5-5", "aws-bedrock", PRICED_AT);
    expect(long?.price).toMatchObject({ output: 0.55, long: { tokens: 100_000, output: 2.75 } });
    // A price of the operator's own is what it says.
    const file = [row("eu.anthropic.claude-opus-5-5", 7, { provider: "aws-bedrock" })];
    expect(inputOf(file[0]?.model ?? "", "aws-bedrock", "", priceBook({ file }))).toBe(7);
  });

  it("has a public source and a day for every built-in price", () => {
    const entries = priceBook().entries();
    expect(entries.length).toBeGreaterThan(150);
    for (const { origin, source, checked } of entries) {
      expect(origin).toBe("built-in");
      expect(source).toMatch(/^https:\/\//);
      expect(checked).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
  });

  it("prices models of one's own provider by their exact name only", () => {
    const api = [{ provider: "custom-lab", model: "llama", input: 1, output: 1 }];
    const book = priceBook({ api });
    expect(book.find("LLAMA", "custom-lab", PRICED_AT)?.price.input).toBe(1);
    expect(book.find("llama-2024-01-01", "custom-lab", PRICED_AT)).toBeNull();
  });
});

describe("the setting gateway.prices", () => {
  it("refuses what is no price, and two of one date", () => {
    const valid = (rows: unknown): boolean => v.safeParse(priceRows, rows).success;
    expect(
      valid([row("m", 1, { cached: 0.1, cacheWrite: 2, reasoning: 3, from: "2026-01-01" })]),
    ).toBe(true);
    for (const bad of [
      [row("m", -1)],
      [row("m", Number.POSITIVE_INFINITY)],
      [row("m", 1e9)],
      [row("", 1)],
      [row("m", 1, { from: "2026-02-31" })],
      [row("m", 1, { from: "soon" })],
      [row("m", 1, { provider: "a/b" })],
      [row("m", 1, { outputs: 1 })],
      [row("m", 1), row("M", 2)],
      Array.from({ length: 5001 }, (_, n) => row(`m${n}`, 1)),
    ])
      expect(valid(bad)).toBe(false);
  });
});

describe("modelNames()", () => {
  it("has for rules, not for prices, what a model is a version of", () => {
    expect(modelSpellings("ft:gpt-4o-mini-2024-07-18:acme::x", "openai")).toMatchObject({
      priced: ["ft:gpt-4o-mini-2024-07-18:acme::x", "ft:gpt-4o-mini-2024-07-18", "ft:gpt-4o-mini"],
      covered: expect.arrayContaining(["gpt-4o-mini"]),
    });
    const chat = modelSpellings("chatgpt-4o-latest", "openai");
    expect([chat.priced.includes("gpt-4o"), chat.covered.includes("gpt-4o")]).toEqual([
      false,
      true,
    ]);
    const free = modelSpellings("google/gemini-2.5-flash:free", "openrouter");
    expect([free.priced, free.covered].map((names) => names.includes("gemini-2.5-flash"))).toEqual([
      false,
      true,
    ]);
  });

  it("takes time in proportion to the name, and no name that is too long", () => {
    const long = `gpt-4o${"-2024-08-06".repeat(20)}`;
    expect(modelSpellings(long, "openai").priced.length).toBeLessThan(8);
    expect(modelSpellings("x".repeat(10_000), "openai").priced).toEqual([]);
  });
});
