import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonValue, jsonDocument } from "../../../../core/gateway/guard/text/json-value.ts";
import { atOnce, SLICE } from "../../../../core/gateway/guard/text/slices.ts";

const read = (text: string) => atOnce(jsonDocument(text));

/** What `JSON.parse` makes of the same text. */
function plain(value: JsonValue): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("digits" in value) return Number(value.digits);
  if (!("names" in value)) return value.map(plain);
  return Object.fromEntries(value.names.map((name, at) => [name, plain(value.values[at] ?? null)]));
}

const parsed = (text: string): unknown => {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
};

describe("jsonDocument()", () => {
  it("reads what JSON.parse reads", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.boolean(), (value, pretty) => {
        const text = JSON.stringify(value, null, pretty ? 2 : 0);
        // Literals are all the same to a check.
        const expected = JSON.parse(text, (_, one: unknown) =>
          typeof one === "boolean" ? null : one,
        ) as unknown;
        const document = read(text);
        expect(document?.value === undefined ? undefined : plain(document.value)).toEqual(expected);
        expect(document?.duplicate).toBeNull();
      }),
    );
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
      "1 2",
      "01x",
      "--1",
      '"\\x"',
      '"\\u12"',
      "[1 2]",
      '{"a":1 "b":2}',
      '{"a":1}}',
    ];
    for (const text of texts) expect([text, parsed(text), read(text)]).toEqual([text, null, null]);
  });

  it("names the first member that is there twice, at any depth and however it is escaped", () => {
    const cases = [
      ['{"a":1,"b":2,"a":3}', "a"],
      ['{"messages":[{},{"content":"x","role":"user","content":"y"}]}', "messages[1].content"],
      ['{"a":{"b":[[0,{"c":1,"\\u0063":2}]]},"a":1}', "a.b[0][1].c"],
      [`{${Array.from({ length: 40 }, (_, at) => `"k${at}":${at}`).join(",")},"k3":1}`, "k3"],
      ['{"__proto__":1,"__proto__":2}', "__proto__"],
    ];
    for (const [text = "", path] of cases)
      expect([text, read(text)?.duplicate]).toEqual([text, path]);
    expect(read('[{"a":1},{"a":1},{"b":{"a":1},"a":1}]')?.duplicate).toBeNull();
  });

  it("keeps the values of both", () => {
    expect(read('{"a":"x","a":"y"}')?.value).toEqual({
      names: ["a", "a"],
      values: ["x", "y"],
      repeats: new Set([1]),
    });
  });

  it("keeps the digits of long numbers", () => {
    expect(read("[4111111111111111111,1234,-1e15]")?.value).toEqual([
      { digits: "4111111111111111111" },
      1234,
      { digits: "-1000000000000000" },
    ]);
  });

  it("does not take apart what is nested beyond reason, in little memory", () => {
    expect(read("[".repeat(5_000_000))).toEqual({ value: undefined, duplicate: null });
    expect(read('{"a":'.repeat(1_000_000))).toEqual({ value: undefined, duplicate: null });
  });

  it("reads long strings piece by piece, without cutting an escape in two", () => {
    for (const piece of ["\\n", "\\u00e9", "\\\\", 'a\\"', "\\ud83d\\ude00b"]) {
      for (const before of ["", "x", "xy", "xyz"]) {
        const text = `"${before}${piece.repeat(Math.ceil((3 * SLICE) / piece.length))}"`;
        expect(read(text)?.value === JSON.parse(text)).toBe(true);
      }
    }
  });

  it("reads names, numbers and blanks of any length", () => {
    const name = "n\n".repeat(SLICE);
    const document = read(JSON.stringify({ a: { [name]: 1, b: 2 } }));
    expect(document?.value).toEqual({
      names: ["a"],
      values: [{ names: [name, "b"], values: [1, 2] }],
    });
    const twice = `{${JSON.stringify(name)}:1,${JSON.stringify(name)}:2}`;
    expect(read(twice)?.duplicate).toBe(name.slice(0, 64));
    const number = "7".repeat(3 * SLICE);
    expect(read(`[${number},-1${number}]`)?.value).toEqual([
      { digits: number },
      { digits: `-1${number}` },
    ]);
    const blanks = " \n\r\t".repeat(SLICE);
    expect(
      read(`${blanks}{${blanks}"a"${blanks}:${blanks}[${blanks}]${blanks},"a":1}${blanks}`),
    ).toEqual({
      value: { names: ["a", "a"], values: [[], 1], repeats: new Set([1]) },
      duplicate: "a",
    });
  });

  it("stops now and then on its way through a long text", () => {
    const long = JSON.stringify(Array.from({ length: 100_000 }, () => ({ role: "user" })));
    const stops = [...jsonDocument(long)].length;
    expect(stops).toBeGreaterThan(long.length / SLICE / 2);
    const one = JSON.stringify("\n".repeat(1_000_000));
    expect([...jsonDocument(one)].length).toBeGreaterThan(one.length / SLICE / 2);
  });

  it("stops by what it has done, whatever the text is of", () => {
    // Steps: values, escapes, blanks. A slice is some thousand of them.
    const bodies: readonly (readonly [string, number])[] = [
      [`[${"1,".repeat(200_000)}1]`, 200_000],
      [`[${"{},".repeat(200_000)}1]`, 400_000],
      [`{${'"a":1,'.repeat(100_000)}"b":1}`, 300_000],
      [`"${'\\"'.repeat(200_000)}"`, 200_000],
      [`"${"\\\\".repeat(200_000)}"`, 200_000],
      [`[${" ".repeat(2_000_000)}1]`, 2_000_000 / 16],
      [`[${"1".repeat(2_000_000)}]`, 2_000_000 / 16],
    ];
    for (const [body, steps] of bodies) {
      const stops = [...jsonDocument(body)].length;
      expect([body.slice(0, 9), stops > steps / 8192]).toEqual([body.slice(0, 9), true]);
    }
  });

  it("takes time in proportion to the text, whatever is in it", () => {
    // Time that grew with the square of this would outlast the test by far.
    const length = 1_000_000;
    const pieces = [
      '"',
      "\\",
      '\\"',
      "[1,",
      "{",
      '{"a":1},',
      '"a":1,',
      " ",
      "1",
      "1.5e",
      "-",
      "1e",
      '"a",',
    ];
    for (const piece of pieces) {
      for (const start of ["", '"', "[", "{", '{"a":"', '{"a":['])
        read(start + piece.repeat(Math.ceil(length / piece.length)));
    }
    const names = Array.from({ length: 200_000 }, (_, at) => `"k${at}":1`);
    expect(read(`{${names.join(",")}}`)?.duplicate).toBeNull();
  });
});
