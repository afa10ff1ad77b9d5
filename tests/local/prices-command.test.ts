import { describe, expect, it } from "vitest";
import { localPrices, parsePrices, priceTable } from "../../adapters/cli/api/prices.ts";

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
    expect(() => parsePrices(["gpt-4o"])).toThrow('takes options only, got "gpt-4o"');
    const account = ["--account", "a", "--url", "http://127.0.0.1:1"];
    expect(() => parsePrices(account)).toThrow('"--account": did you mean "account-id"?');
    expect(() => parsePrices(["--account-id", "a"])).toThrow("--account-id needs --url");
  });
});
