import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonFault } from "../../../core/http/json/json-fault.ts";

describe("jsonFault()", () => {
  it.each([
    ['{"a":1, }', "line 1, column 9: expected a name in double quotes"],
    ['{"id": x}', "line 1, column 8: expected a value"],
    ["", "the text ends too early: expected a value"],
    ["[1,2", 'the text ends too early: expected "," or "]"'],
    ['{"a":1}}', "line 1, column 8: expected nothing more"],
    ['{"a":\n 01}', "line 2, column 2: expected a value"],
    ["{a:1}", 'line 1, column 2: expected a name in double quotes or "}"'],
    ['{"a" 1}', 'line 1, column 6: expected ":"'],
    ["[,]", 'line 1, column 2: expected a value or "]"'],
    [
      '{"a":"secret',
      "line 1, column 6: this string does not end, or has a character that needs an escape",
    ],
  ])("says where %s ends to be JSON, and what is expected", (text, fault) => {
    expect(jsonFault(text)).toBe(fault);
  });

  it("finds a fault where the engine finds one, and nowhere else", () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", '"', "}", "[", "0", ":", "\\", " ", "-"))
      .map(([json, at, put]) => {
        const place = at % (json.length + 1);
        return json.slice(0, place) + put + json.slice(place + (at % 2));
      });
    fc.assert(
      fc.property(fc.oneof(fc.json(), damaged), (text) => {
        expect(jsonFault(text) === null).toBe(isJson(text));
      }),
    );
  });

  it("looks through no text that would take long", () => {
    expect(jsonFault("[".repeat(65_537))).toBeNull();
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
