import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  changedJson,
  exactScalar,
  jsonElements,
  jsonSource,
} from "../../../../core/http/json/json-source.ts";

/** Every path of a value, with the value there. */
function* pathsOf(value: unknown, path: readonly string[] = []): Generator<[string[], unknown]> {
  yield [[...path], value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) yield* pathsOf(inner, [...path, name]);
}

describe("jsonSource()", () => {
  it("finds the text of every value of any document, indented or not", () => {
    const spaces = fc.constantFrom(undefined, 1, "\t", "\r\n ");
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), spaces, (value, space) => {
        const text = JSON.stringify(value, null, space);
        const parsed: unknown = JSON.parse(text);
        for (const [path, inner] of pathsOf(parsed))
          expect(JSON.parse(jsonSource(text, path) ?? "")).toEqual(inner);
        expect(changedJson(text, parsed, parsed)).toBe(text.trim());
        if (Array.isArray(parsed))
          expect(jsonElements(text).map((one): unknown => JSON.parse(one))).toEqual(parsed);
      }),
      { numRuns: 300 },
    );
  });

  it("has numbers as they were written", () => {
    for (const number of ["12345678901234567890", "1.0", "-0", "1e400", "0.10000000000000000001"]) {
      const text = ` { "a" : [ 0 , { "n" :${number}\n} ] , "b":${number}}`;
      expect(jsonSource(text, ["a", "1", "n"])).toBe(number);
      expect(jsonSource(text, ["b"])).toBe(number);
    }
  });

  it("takes the last of several members with a name, however it is escaped", () => {
    expect(jsonSource('{"id":1,"id":2}', ["id"])).toBe("2");
    expect(jsonSource('{"id":1,"\\u0069d":3}', ["id"])).toBe("3");
    expect(jsonSource('{"x":{"id":9},"a\\"}{":1,"id":"\\\\\\""}', ["id"])).toBe('"\\\\\\""');
    expect(jsonSource('{"__proto__":7}', ["__proto__"])).toBe("7");
    expect(jsonSource('{"é":8}', ["é"])).toBe("8");
  });

  it("finds nothing where there is nothing, and ends on what is no JSON", () => {
    for (const path of [["b"], ["a", "b"], ["a", "0"]])
      expect(jsonSource('{"a":1}', path)).toBeUndefined();
    for (const text of ["", "{", "[", '{"a', '{"a":', '{"a" 1}', "[1,", '{"a":[{', "}", '"\\'])
      expect(() => [jsonSource(text, ["a", "0"]), jsonElements(text)]).not.toThrow();
  });
});

describe("changedJson()", () => {
  const text =
    '{ "n": 12345678901234567890, "s": "\\u00e9", "list": [ 1.0, {"id":-0, "x":1} ,{"id":1e400}], "old": 1, "2": 2 }';
  const before = JSON.parse(text) as Record<string, unknown> & { list: Record<string, unknown>[] };

  it("leaves every byte of what stays, and writes what is new", () => {
    const { old: _, ...after } = before;
    expect(changedJson(text, before, { ...after, fresh: { a: undefined, b: 1 } })).toBe(
      '{"n":12345678901234567890,"s":"\\u00e9","list":[ 1.0, {"id":-0, "x":1} ,{"id":1e400}],"2":2,"fresh":{"b":1}}',
    );
  });

  it("finds what has moved within a list, and changes one member of one element", () => {
    const [, second, third] = before.list;
    const list = [third, { ...second, x: 2 }];
    expect(changedJson(text, before, { list })).toBe('{"list":[{"id":1e400},{"id":-0,"x":2}]}');
    expect(changedJson("[1]", [1], [1, undefined, "a"])).toBe('[1,null,"a"]');
    expect(changedJson('{"a":1,"a":2}', { a: 2 }, { a: 2, b: 1 })).toBe('{"a":2,"b":1}');
  });
});

it("exactScalar() keeps numbers, and has the text of those that were rounded", () => {
  const text = '{"a":12345678901234567890,"b":5,"c":1.5,"d":1e400,"e":9007199254740993}';
  const values = JSON.parse(text) as Record<string, number>;
  const exact = Object.entries(values).map(([name, value]) => exactScalar(text, name, value));
  expect(exact).toEqual(["12345678901234567890", 5, 1.5, "1e400", "9007199254740993"]);
});
