import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  jsonReader,
  type JsonReading,
  type JsonToken,
  nextToken,
  skipContainer,
} from "../../../../core/http/json/json-reader.ts";

const SLICE = 64 * 1024;

/** The tokens of a text and their texts, up to its end or what is wrong in it; pieces of one are joined. */
function tokensOf(
  text: string,
  reading?: JsonReading,
  at?: number,
): readonly (readonly [JsonToken, string])[] {
  const reader = jsonReader(text, at, reading);
  const tokens: [JsonToken, string][] = [];
  let pieces = "";
  for (;;) {
    const token = nextToken(reader);
    reader.work = 0;
    const piece = text.slice(reader.start, reader.at);
    if (token !== "more") tokens.push([token, pieces + piece]);
    if (token === "end" || token === "wrong") return tokens;
    pieces = token === "more" && reader.within !== null ? pieces + piece : "";
  }
}

/** How often a reader stops on its way to the end of a text, when the caller goes by what it has done. */
function stops(text: string): number {
  const reader = jsonReader(text, 0, { slice: SLICE });
  let count = 0;
  let done = 0;
  for (let token = nextToken(reader); token !== "end"; token = nextToken(reader)) {
    if (token === "wrong") return 0;
    done += reader.work;
    reader.work = 0;
    if (done >= SLICE) [count, done] = [count + 1, 0];
  }
  return count;
}

/** Writes a value from its tokens. */
function written(text: string, reading?: JsonReading): string {
  const all = tokensOf(text, reading).slice(0, -1);
  const isClosing = (token: JsonToken | undefined): boolean => token === "}" || token === "]";
  return all
    .map(([token, piece], index) => {
      if (token === "name") return `${piece}:`;
      const next = all[index + 1]?.[0];
      const isLast = next === undefined || isClosing(next) || token === "{" || token === "[";
      return isLast ? piece : `${piece},`;
    })
    .join("");
}

describe("nextToken()", () => {
  it("reads what JSON.parse reads, at once and in slices", () => {
    const spaces = fc.constantFrom(undefined, 2, "\t", "\r\n ");
    const slices = fc.constantFrom(undefined, 1, 7);
    const values = fc.jsonValue({ noUnicodeString: false });
    fc.assert(
      fc.property(values, spaces, slices, (value, space, slice) => {
        const text = JSON.stringify(value, null, space);
        const reading = slice === undefined ? {} : { slice };
        expect(written(text, reading)).toBe(JSON.stringify(value));
      }),
      { numRuns: 50 },
    );
  });

  it("ends no piece of a string within an escape", () => {
    const value = `\u0001a\u0002\u0003"\\n\\"\n`.repeat(9);
    const text = JSON.stringify(value);
    for (let slice = 1; slice < 60; slice++) {
      const reader = jsonReader(text, 0, { slice });
      let read = "";
      for (let token = nextToken(reader); token !== "end"; token = nextToken(reader)) {
        const begins = reader.start === 0 ? "" : '"';
        const ends = token === "more" ? '"' : "";
        read += String(JSON.parse(begins + text.slice(reader.start, reader.at) + ends));
      }
      expect([slice, read]).toEqual([slice, value]);
    }
  });

  it("takes nothing for JSON that is none", () => {
    const texts = [
      "",
      "{",
      "}",
      "[1,]",
      '{"a":1,}',
      '{"a"}',
      "{a:1}",
      "'a'",
      '"a',
      '"a\\',
      '"a\\"',
      "1 2",
      "01x",
      "--1",
      "[1 2]",
      '{"a":1 "b":2}',
      '{"a":1}}',
      "[1}",
      ",",
    ];
    for (const text of texts) expect([text, tokensOf(text).at(-1)?.[0]]).toEqual([text, "wrong"]);
  });

  it("begins anywhere, also with a member", () => {
    const text = '{"a":[1],"b":{"c":true}}';
    const kinds = (at: number, reading: JsonReading) =>
      tokensOf(text, reading, at).map(([token]) => token);
    const member = ["name", "{", "name", "word", "}", "}", "end"];
    expect(kinds(text.indexOf('"b"'), { inObject: true })).toEqual(member);
    expect(kinds(text.indexOf("["), {}).slice(0, 3)).toEqual(["[", "number", "]"]);
  });

  it("stops by what it has done, whatever the text is of", () => {
    // Steps: values, escapes, blanks. A slice is some thousand of them.
    const bodies: readonly (readonly [string, number])[] = [
      [`[${"1,".repeat(40_000)}1]`, 40_000],
      [`[${"{},".repeat(40_000)}1]`, 80_000],
      [`{${'"a":1,'.repeat(20_000)}"b":1}`, 60_000],
      [`"${'\\"'.repeat(40_000)}"`, 40_000],
      [`"${"\\\\".repeat(40_000)}"`, 40_000],
      [`[${" ".repeat(400_000)}1]`, 400_000 / 16],
      [`[${"1".repeat(400_000)}]`, 400_000 / 16],
    ];
    for (const [body, steps] of bodies)
      expect([body.slice(0, 9), stops(body) > steps / 8192]).toEqual([body.slice(0, 9), true]);
  });

  it("takes time in proportion to the text, whatever is in it", () => {
    // Time that grew with the square of this would outlast the test by far.
    const length = 300_000;
    const pieces = ['"', "\\", '\\"', "[1,", "{", '{"a":1},', '"a":1,', " ", "1", "1.5e", "-"];
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(length / piece.length));
      for (const start of ["", '"', "[", "{", '{"a":"', '{"a":[']) {
        for (const slice of [SLICE, Number.POSITIVE_INFINITY]) {
          const reader = jsonReader(start + text, 0, { slice });
          while (!["end", "wrong"].includes(nextToken(reader)));
        }
      }
    }
  });
});

describe("skipContainer()", () => {
  it("goes on behind an array or object, whatever is in it", () => {
    const text = '[{"a":"}]\\"","b":[{}]},[[1],"]"],2]';
    const reader = jsonReader(text);
    const seen: string[] = [];
    for (let token = nextToken(reader); token !== "end"; token = nextToken(reader)) {
      const { start } = reader;
      if (start > 0 && (token === "{" || token === "[")) expect(skipContainer(reader)).toBe(true);
      seen.push(text.slice(start, reader.at));
    }
    expect(seen).toEqual(["[", '{"a":"}]\\"","b":[{}]}', '[[1],"]"]', "2", "]"]);
  });

  it("tells of one that does not end", () => {
    const reader = jsonReader('{"a":"}');
    nextToken(reader);
    expect(skipContainer(reader)).toBe(false);
  });
});
