import fc from "fast-check";
import { expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { jsonExcess } from "../../../../core/http/json.ts";
import { JsonExcess, parsedInSteps } from "../../../../core/http/json/json-steps.ts";

/** Parses a text, and counts the pauses. */
async function parsed(text: string): Promise<{ value: unknown; pauses: number }> {
  let pauses = 0;
  const sleep = (): Promise<void> => {
    pauses++;
    return Promise.resolve();
  };
  return { value: await parsedInSteps(utf8(text), { sleep }), pauses };
}

const MB = 1024 * 1024;
const list = (one: string, count: number): string => `[${Array(count).fill(one).join()}]`;

const names = (count: number): string =>
  `{${Array.from({ length: count }, (_, i) => `"n${i}":1`).join()}}`;

it("parses what JSON.parse parses, and refuses the rest", async () => {
  const wrong = fc.constantFrom(
    ...'{}[],:"\\0-1.eE+ \n\u0000\uFEFF𝄞atrue'.split(""),
    "NaN",
    '"\\x"',
    '"\\u12"',
    "01",
  );
  const text = fc.oneof(
    fc.json(),
    fc.json().map((json) => ` ${json}\n`),
    fc.array(wrong, { maxLength: 12 }).map((parts) => parts.join("")),
  );
  await fc.assert(
    fc.asyncProperty(text, async (given) => {
      let wanted: unknown;
      try {
        wanted = JSON.parse(given.replace(/^\uFEFF/u, ""));
      } catch {
        await expect(parsed(given)).rejects.toThrow(SyntaxError);
        return;
      }
      const { value } = await parsed(given);
      expect(value).toEqual(wanted);
      expect(JSON.stringify(value)).toBe(JSON.stringify(wanted));
    }),
    { numRuns: 500 },
  );
});

it.each([
  ["letters", "a"],
  ["escaped quotes", '\\"'],
  ["escaped quotes between letters", 'ab\\"'],
  ["escapes", "\\u0041"],
  ["backslashes", "\\\\"],
  ["signs of two units", "a😀"],
  ["escaped signs of two units", "\\ud83d\\ude00"],
  ["signs of three bytes", "漢"],
])("parses a long text of %s in steps", async (_, unit) => {
  const json = `{"a":["${unit.repeat((2 * MB) / unit.length)}x",1],"b":2}`;
  const { value, pauses } = await parsed(json);
  expect(JSON.stringify(value) === JSON.stringify(JSON.parse(json))).toBe(true);
  expect(pauses).toBeGreaterThan(8);
});

it.each([
  ["lists", list("[]", 49_000)],
  ["numbers", list("1.25", 199_000)],
  ["objects", list('{"a":1}', 19_000)],
  ["blanks", `[${" ".repeat(MB)}]`],
  ["digits", `[0.${"1".repeat(MB / 8)}]`],
  ["a long name", `{"${"n".repeat(MB)}":1}`],
])("parses many %s in steps", async (_, json) => {
  const { value, pauses } = await parsed(json);
  expect(JSON.stringify(value) === JSON.stringify(JSON.parse(json))).toBe(true);
  expect(pauses).toBeGreaterThan(0);
});

it.each<[string, number, (count: number) => string]>([
  ["levels", 256, (count) => "[".repeat(count) + "]".repeat(count)],
  ["members", 20_000, (count) => list('{"a":1}', count)],
  ["different names", 5000, (count) => `[${list('{"a":1}', 9)},${names(count - 1)}]`],
  ["values", 200_000, (count) => list("1", count)],
  ["lists and objects", 50_000, (count) => list("[]", count - 1)],
])("refuses too many %s, as what parses at once does", async (what, most, json) => {
  expect(jsonExcess(json(most))).toBeNull();
  await expect(parsed(json(most))).resolves.toBeDefined();
  const reason = `more than ${most} ${what}`;
  expect(jsonExcess(json(most + 1))).toBe(reason);
  await expect(parsed(json(most + 1))).rejects.toThrow(new JsonExcess(reason));
});

it("takes no member for the prototype, and the last of two of one name", async () => {
  const { value } = await parsed('{"__proto__":{"a":1},"b":1,"b":2}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.entries(Object(value))).toEqual([
    ["__proto__", { a: 1 }],
    ["b", 2],
  ]);
});

it("refuses a number of very many digits, which engines take long for", async () => {
  await expect(parsed(`[${"1".repeat(MB)}]`)).rejects.toThrow(JsonExcess);
});

it("refuses what is not UTF-8", async () => {
  const sleep = (): Promise<void> => Promise.resolve();
  await expect(parsedInSteps(Uint8Array.of(34, 0xff, 34), { sleep })).rejects.toThrow(TypeError);
});
