import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { modelRules } from "../../core/gateway/models/model-rules.ts";
import { providers } from "../../core/gateway/providers/known/table.ts";
import { root } from "../config/shared.ts";

const read = (name: string): string =>
  readFileSync(`${root}core/gateway/models/${name}.json`, "utf8");
const text = read("model-rules");
// `as`: JSON Schema is an object.
const isValid = new Ajv2020({ allErrors: true }).compile(
  JSON.parse(read("model-rules.schema")) as object,
);

test("the file of models is as its schema says", () => {
  isValid(JSON.parse(text));
  expect(isValid.errors ?? []).toEqual([]);
});

test.each([
  ["an unknown parameter", '"temperature"', '"temprature"'],
  ["an unknown member of a row", '"output": 4096', '"outputs": 4096'],
  ["a row without a source", /"source": "[^"]*",/u, ""],
  ["an unknown effort", '"xhigh"', '"highest"'],
  ["an unknown way to turn thinking off", '"off": "zero"', '"off": "0"'],
  ["thinking that does not say whether it is the default", /"byDefault": \w+,/u, ""],
  ["a model in upper case", '"gpt-4.1*"', '"GPT-4.1*"'],
])("the schema refuses %s", (_, from, to) => {
  const changed = text.replace(from, to);
  expect(changed).not.toBe(text);
  expect(isValid(JSON.parse(changed))).toBe(false);
});

test("every provider of the file is one that takes chats", () => {
  // `as`: the schema says so.
  const file = JSON.parse(text) as { providers: Record<string, { models: string[] }[]> };
  for (const [slug, rows] of Object.entries(file.providers)) {
    expect(providers[slug]?.openaiChat, slug).toBeDefined();
    // A row that an earlier one hides would never count.
    for (const row of rows)
      for (const model of row.models)
        expect(modelRules(slug, model.replaceAll("*", "9z")), `${slug} ${model}`).toEqual(row);
  }
});
