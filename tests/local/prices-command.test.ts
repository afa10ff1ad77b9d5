import { describe, expect, it } from "vitest";
import {
  checkedPrices,
  localPrices,
  parsePrices,
  priceTable,
} from "../../adapters/cli/api/prices.ts";

const file = JSON.stringify({
  gateway: {
    prices: [{ provider: "openai", model: "gpt-4o", input: 1, output: 2, source: "deal" }],
  },
});
const prices = (...args: string[]) =>
  localPrices(
    parsePrices(args),
    () => undefined,
    () => file,
  );

describe("causey prices", () => {
  it("prints every price with its source, those of the configuration first", () => {
    const lines = priceTable(prices("--config", "c.json", "--provider", "openai")).split("\n");
    expect(lines[0]).toMatch(/^PROVIDER +MODEL +INPUT +CACHED +OUTPUT +FROM +ORIGIN +SOURCE$/);
    expect(lines[1]).toMatch(/^openai +gpt-4o +1 +- +2 +- +file +deal$/);
    expect(lines.slice(2, -1).every((line) => /built-in +https:\/\/\S+ \(2026-/.test(line))).toBe(
      true,
    );
  });

  it("finds the price of a model in any spelling", () => {
    const found = prices("--config", "c", "--provider", "openai", "--model", "GPT-4o-2024-08-06");
    expect(found).toMatchObject([{ origin: "file", input: 1, source: "deal" }]);
    expect(prices("--config", "c", "--provider", "openai", "--model", "no-such")).toEqual([]);
  });

  it("refuses a model without a provider, and what is no address", () => {
    expect(() => parsePrices(["--model", "gpt-4o"])).toThrow("--model needs --provider");
    expect(() => parsePrices(["--url", "here"])).toThrow("--url must be");
    const misspelt = 'Unknown option "--modle": did you mean "model"?';
    expect(() => parsePrices(["--modle", "x"])).toThrow(misspelt);
    expect(() => parsePrices(["gpt-4o"])).toThrow(
      'Unknown command "prices gpt-4o": use one of check',
    );
    expect(() => parsePrices(["check"])).toThrow("prices check takes one file");
    expect(() => parsePrices(["check", "a", "b"])).toThrow("prices check takes one file");
    expect(() => parsePrices(["check", "a", "--url", "http://127.0.0.1:1"])).toThrow("no --url");
    const account = ["--account", "a", "--url", "http://127.0.0.1:1"];
    expect(() => parsePrices(account)).toThrow('"--account": did you mean "account-id"?');
    expect(() => parsePrices(["--account-id", "a"])).toThrow("--account-id needs --url");
  });
});

describe("causey prices check", () => {
  const compared = (list: unknown, ...more: string[]) =>
    checkedPrices(
      parsePrices(["check", "list.json", ...more]),
      () => undefined,
      (path) => (path === "c.json" ? file : JSON.stringify(list)),
    );
  const gpt = { provider: "openai", model: "gpt-4o-2024-08-06", input: 2.5, output: 10 };

  it("finds each figure that differs, those of the configuration included", () => {
    expect(compared([{ ...gpt, cached: 1.25, cacheWrite: 2.5, reasoning: 10 }])).toEqual([]);
    const about = { provider: "openai", model: "gpt-4o-2024-08-06", from: null };
    expect(compared([{ ...gpt, cached: 1 }])).toEqual([
      { ...about, figure: "cached", here: 1.25, there: 1 },
    ]);
    expect(compared([gpt], "--config", "c.json")).toEqual([
      { ...about, figure: "input", here: 1, there: 2.5 },
      { ...about, figure: "output", here: 2, there: 10 },
    ]);
    expect(compared([{ ...gpt, model: "gpt-99" }])).toMatchObject([
      { figure: "input", here: null, there: 2.5 },
      { figure: "output", here: null, there: 10 },
    ]);
  });

  it("compares a price to come with the one of its day", () => {
    const flash = { provider: "google-ai-studio", model: "gemini-3.8-flash" };
    expect(compared([{ ...flash, from: "2027-01-01", input: 1.5, output: 7.5 }])).toEqual([]);
  });

  it("refuses a file that is not such a list", () => {
    expect(() => compared({})).toThrow('"list.json": expected a list, got an object');
    expect(() => compared([{ ...gpt, input: -1 }])).toThrow('"list.json": 0.input: expected');
  });
});
