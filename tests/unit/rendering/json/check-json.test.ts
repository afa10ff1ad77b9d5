import { describe, expect, it } from "vitest";
import { runThrough } from "../../../../core/work/background.ts";
import { type CheckedJson, checkJson } from "../../../../core/rendering/json/check-json.ts";

const stepsOf = await checkJson.load();
const check = (text: string, schema: unknown = null): CheckedJson =>
  runThrough(stepsOf({ text, schema: schema === null ? null : JSON.stringify(schema) }));

const product = {
  type: "object",
  properties: { name: { type: "string" }, price: { type: "number", minimum: 0 } },
  required: ["name", "price"],
  additionalProperties: false,
};

describe("checkJson", () => {
  it.each([
    ['{"name":"a","price":1}'],
    ['```json\n{"name":"a","price":1}\n```'],
    ['Here it is:\n```\n{"name": "a", "price": 1}\n```\nAnything else?'],
    ['Sure! {"name":"a","price":1} as you asked.'],
  ])("finds the JSON in %j", (text) => {
    expect(check(text, product)).toEqual({ json: '{"name":"a","price":1}', problems: [] });
  });

  it.each([
    ["no", /not JSON/],
    ["[".repeat(500), /not JSON/],
    ['{"name":"a"}', /#: .*price/],
    ['{"name":"a","price":-1}', /#\/price: /],
    ['{"name":"a","price":1,"x":1}', /#\/x: /],
  ])("tells what is wrong with %s", (text, problem) => {
    const { json, problems } = check(text, product);
    expect(json).toBeNull();
    expect(problems.join("\n")).toMatch(problem);
  });

  it("needs an object or an array without a schema", () => {
    expect(check("[1]")).toEqual({ json: "[1]", problems: [] });
    expect(check('"text"').json).toBeNull();
  });

  it("follows $ref and $defs, as other programs write schemas", () => {
    const schema = {
      $defs: { node: { type: "object", properties: { next: { $ref: "#/$defs/node" } } } },
      $ref: "#/$defs/node",
    };
    expect(check('{"next":{"next":{}}}', schema).json).not.toBeNull();
    expect(check('{"next":{"next":1}}', schema).json).toBeNull();
  });

  it("matches patterns, which may be property names too", () => {
    const schema = {
      properties: { code: { type: "string", pattern: "^[A-Z]{2}\\d+$" }, pattern: { const: 1 } },
      patternProperties: { "^x-": { type: "number" }, "^x": { type: "number" } },
      allOf: [{ not: { required: ["never"] } }],
    };
    expect(check('{"code":"AB12","pattern":1,"x-a":1}', schema).problems).toEqual([]);
    expect(check('{"code":"ab12"}', schema).json).toBeNull();
    expect(check('{"x-a":"1"}', schema).json).toBeNull();
    expect(check('{"y-a":"1"}', schema).json).not.toBeNull();
    expect(check('{"never":1}', schema).json).toBeNull();
  });

  it("gives way between strings, and bounds the steps of all patterns", () => {
    const count = (lists: number): number => {
      const text = JSON.stringify(
        Array.from({ length: lists }, (_, at) => `${at}${"a".repeat(5000)}`),
      );
      const schema = JSON.stringify({ items: { pattern: "(?:a?b?c?){200}[!-#]" } });
      const steps = stepsOf({ text, schema });
      let yields = 0;
      while (steps.next().done !== true) yields++;
      return yields;
    };
    expect(count(10)).toBeGreaterThan(9);
    expect(() => count(20)).toThrow(/json_schema: matching its patterns takes too long/u);
  });

  it("matches hostile patterns in linear time", () => {
    const text = JSON.stringify({ a: `${"a".repeat(50_000)}!` });
    expect(check(text, { properties: { a: { pattern: "^(a+)+$" } } }).json).toBeNull();
    const names = JSON.stringify({ [`${"a".repeat(50_000)}!`]: 1 });
    expect(check(names, { patternProperties: { "^(a+)+$": false } }).json).not.toBeNull();
  });

  it.each([
    ["lookaround", { properties: { a: { pattern: "(?=a)" } } }, "(?=a)"],
    ["a pattern that is none", { properties: { a: { pattern: "(" } } }, "not supported"],
    ["an unknown reference", { $ref: "#/$defs/none" }, "Unresolved $ref"],
    ["a reference elsewhere", { $ref: "https://example.com/schema" }, "Unresolved $ref"],
    ["a reference to itself", { $ref: "#" }, "takes too long"],
  ])("refuses a schema with %s", (_name, schema, reason) => {
    expect(() => check('{"a":"a"}', schema)).toThrow(reason);
  });

  it.each([
    [
      "references that double at each level",
      "1",
      {
        $defs: Object.fromEntries(
          Array.from({ length: 40 }, (_, level) => [
            `l${level}`,
            level === 39
              ? {}
              : { allOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] },
          ]),
        ),
        $ref: "#/$defs/l0",
      },
    ],
    [
      "unique lists",
      JSON.stringify(Array.from({ length: 50_000 }, (_, at) => at)),
      { uniqueItems: true },
    ],
    [
      "many measures of a long text",
      JSON.stringify("a".repeat(200_000)),
      { allOf: Array.from({ length: 3000 }, () => ({ minLength: 1 })) },
    ],
  ])("gives up %s", (_name, text, schema) => {
    expect(() => check(text, schema)).toThrow("takes too long");
  });
});
