import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonTexts, type JsonTexts } from "../../../../core/gateway/guard/text/json-texts.ts";
import { atOnce, SLICE, workMeter } from "../../../../core/gateway/guard/text/slices.ts";

const slices = (text: string) => jsonTexts(text, { scope: "all", structure: false }, workMeter());
const read = (text: string): JsonTexts | null => atOnce(slices(text));
const textsOf = (text: string) => read(text)?.texts.map((one) => one.text);

/** The texts of a value, in its order. */
function strings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(strings) : [];
}

describe("jsonTexts()", () => {
  it("finds every text that JSON.parse reads", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), fc.boolean(), (value, pretty) => {
        const parsed = JSON.parse(JSON.stringify({ args: value })) as { args: unknown };
        const text = JSON.stringify(parsed, null, pretty ? 2 : 0);
        const found = read(text);
        expect(
          found?.texts.filter((one) => !one.text.endsWith("\n")).map((one) => one.text),
        ).toEqual(strings(parsed).filter((one) => !one.endsWith("\n")));
        expect(found?.duplicate).toBeNull();
      }),
    );
  });

  it("takes nothing for JSON that is none", () => {
    for (const text of [
      "",
      "{",
      "[1,]",
      '{"a"}',
      "'a'",
      "01x",
      "1e",
      "[1.2.3]",
      '"\\x"',
      '"\\u12"',
    ])
      expect([text, read(text)]).toEqual([text, null]);
  });

  it("takes control characters, NaN and Infinity, as some parsers do", () => {
    expect(textsOf('[NaN,-Infinity,"a\n\\u0062\\n"]')).toEqual(["a\nb\n"]);
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

  it("keeps the values of both, at places of their own", () => {
    const places = read('{"a":"x","a":"y"}')?.texts.map(({ text, place }) => [text, place.name]);
    expect(places).toEqual([
      ["x", "a"],
      ["y", "a 1"],
    ]);
  });

  it("keeps the digits of long numbers", () => {
    expect(textsOf("[4111111111111111111,1234,-1e15]")).toEqual([
      "4111111111111111111\n",
      "-1000000000000000\n",
    ]);
  });

  it("does not take apart what is nested beyond reason, in little memory", () => {
    for (const text of ["[".repeat(5_000_000), '{"a":'.repeat(1_000_000)])
      expect(read(text)).toMatchObject({ texts: [], duplicate: null, isDeep: true });
  });

  it("reads long strings piece by piece, without cutting an escape in two", () => {
    for (const piece of ["\\n", "\\u00e9", "\\\\", 'a\\"', "\\ud83d\\ude00b"]) {
      for (const before of ["", "x", "xy", "xyz"]) {
        const text = `"${before}${piece.repeat(Math.ceil((3 * SLICE) / piece.length))}"`;
        expect(textsOf(text)?.[0] === JSON.parse(text)).toBe(true);
      }
    }
  });

  it("reads names, numbers and blanks of any length", () => {
    const name = "n\n".repeat(SLICE);
    const twice = `{${JSON.stringify(name)}:"x",${JSON.stringify(name)}:2}`;
    expect(read(twice)?.duplicate).toBe(name.slice(0, 64));
    expect(read(twice)?.texts[0]?.place.name === name).toBe(true);
    const number = "7".repeat(3 * SLICE);
    expect(textsOf(`[${number},-1${number}]`)).toEqual([`${number}\n`, `-1${number}\n`]);
    const blanks = " \n\r\t".repeat(SLICE);
    const blank = `${blanks}{${blanks}"a"${blanks}:${blanks}[${blanks}]${blanks},"a":"b"}${blanks}`;
    expect(read(blank)?.duplicate).toBe("a");
    expect(textsOf(blank)).toEqual(["b"]);
  });

  it("stops now and then on its way through a long text", () => {
    const long = JSON.stringify(Array.from({ length: 100_000 }, () => ({ role: "user" })));
    expect([...slices(long)].length).toBeGreaterThan(long.length / SLICE / 2);
    const one = JSON.stringify("\n".repeat(1_000_000));
    expect([...slices(one)].length).toBeGreaterThan(one.length / SLICE / 2);
  });

  it("takes time in proportion to the text, whatever names are in it", () => {
    // Time that grew with the square of this would outlast the test by far.
    const names = Array.from({ length: 200_000 }, (_, at) => `"k${at}":1`);
    expect(read(`{${names.join(",")}}`)?.duplicate).toBeNull();
  });
});
