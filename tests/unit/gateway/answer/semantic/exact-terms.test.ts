import { expect, it } from "vitest";
import { exactTerms } from "../../../../../core/gateway/semantic-cache/exact-terms.ts";

it.each([
  ["a number", "Is it safe with 5 users?", "Is it safe with 50 users?"],
  ["a date", "What happened on 2026-11-21?", "What happened on 2026-11-22?"],
  ["a version", "How do I upgrade to v2?", "How do I upgrade to v3?"],
  ["a unit that stands at its number", "Is 10mg too much?", "Is 10g too much?"],
  ["the order of numbers", "Convert 5 to base 7", "Convert 7 to base 5"],
  ["not", "Is it safe to eat raw eggs?", "Is it not safe to eat raw eggs?"],
  ["a contraction", "Which flights go today?", "Which flights don’t go today?"],
  ["a contraction without its mark", "Can it rain there?", "Cant it rain there?"],
  ["without", "Can I pay with a card?", "Can I pay without a card?"],
  ["nicht", "Darf ich das öffnen?", "Darf ich das nicht öffnen?"],
  ["pas", "Est-ce que je peux payer ?", "Est-ce que je ne peux pas payer ?"],
  ["sin", "¿Se puede con azúcar?", "¿Se puede sin azúcar?"],
  ["не", "Можно это есть?", "Нельзя не есть?"],
  ["不", "我可以吃鸡蛋吗", "我不可以吃鸡蛋吗"],
  ["ない", "これは食べられる", "これは食べられない"],
  ["full-width digits", "５ users", "６ users"],
])("exactTerms() of two questions differ by %s", (_, a, b) => {
  expect(exactTerms(a)).not.toBe(exactTerms(b));
});

it.each([
  ["How do I reset my password?", "What is the way to reset my password"],
  ["Give me 3 ideas for a present.", "I need 3 present ideas, please!"],
  ["I can't log in", "why cannot I log in"],
  ["５ users", "5 users"],
  ["What costs 3.", "what costs 3"],
])('exactTerms() of "%s" and "%s" agree', (a, b) => {
  expect(exactTerms(a)).toBe(exactTerms(b));
});

it("exactTerms() takes time in proportion to the text", () => {
  for (const text of [
    "5".repeat(100_000),
    "a'".repeat(50_000),
    "-".repeat(100_000),
    "5.".repeat(50_000),
  ])
    expect(exactTerms(text).length).toBeLessThanOrEqual(100_000);
});
