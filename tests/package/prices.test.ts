import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { priceBook } from "../../core/gateway/prices/price-book.ts";
import { priceLists } from "../../core/gateway/prices/prices.ts";
import { root } from "../config/shared.ts";

const read = (name: string): string =>
  readFileSync(`${root}core/gateway/prices/${name}.json`, "utf8");
const text = read("prices");
const ajv = new Ajv2020({ allErrors: true });
// `as`: JSON Schema is an object.
const isValid = ajv.compile(JSON.parse(read("prices.schema")) as object);

test("the file of prices is as its schema says", () => {
  isValid(JSON.parse(text));
  expect(isValid.errors ?? []).toEqual([]);
});

test.each([
  ["a price below 0", '"input": 10,', '"input": -1,'],
  ["a price as text", '"input": 10,', '"input": "10",'],
  ["an unknown member of a price", '"input": 10,', '"input": 10, "inputs": 10,'],
  ["a price without output", '"output": 50,', ""],
  ["an unknown member of long requests", '"tokens": 272000,', '"tokens": 272000, "output_": 1,'],
  ["a day that is none", '"checked": "2026-11-21",', '"checked": "2026-21-11",'],
  ["a list without a source", /"source": "[^"]*",/u, ""],
  ["a model in upper case", '"gpt-6-astra"', '"GPT-6-Astra"'],
])("the schema refuses %s", (_, from, to) => {
  const changed = text.replace(from, to);
  expect(changed).not.toBe(text);
  expect(isValid(JSON.parse(changed))).toBe(false);
});

test("a list of one date names a model once", () => {
  const named = priceLists.flatMap(({ family, from = "", models }) =>
    models.map(({ model }) => `${family} ${model} ${from}`),
  );
  expect(named).toHaveLength(new Set(named).size);
});

test("every price is found by the name of its model", () => {
  const book = priceBook();
  for (const entry of book.entries()) {
    const { model, provider, from } = entry;
    const found = book.find(model, provider, from ?? 0);
    expect(found, `${model} at ${provider}`).toEqual(entry);
  }
});
