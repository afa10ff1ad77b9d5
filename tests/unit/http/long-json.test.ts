import { expect, it } from "vitest";
import { toBase64, utf8 } from "../../../core/crypto/encoding.ts";
import {
  base64InSteps,
  jsonInSteps,
  jsonParts,
  longBase64,
  longText,
} from "../../../core/http/json/long-json.ts";

const bytes = Uint8Array.from({ length: 1_000_001 }, (_, i) => i * 31 + (i >> 8));

/** A system whose pauses are counted. */
function counted() {
  let pauses = 0;
  const sleep = (): Promise<void> => {
    pauses++;
    return Promise.resolve();
  };
  return { sleep, pauses: () => pauses };
}

const shaped = (url: unknown): object => ({
  none: undefined,
  nothing: null,
  messages: [
    undefined,
    { role: 'a "role"', content: [{ type: "text", text: "<p>\u2028" }, { image_url: { url } }] },
  ],
  stream: false,
});

it("the JSON of a value with a long text is that of the value with the text", async () => {
  const url = longBase64(bytes, "data:image/png;base64,");
  const whole = JSON.stringify(shaped(`data:image/png;base64,${toBase64(bytes)}`));
  expect([...jsonParts(shaped(url))].join("")).toBe(whole);
  const system = counted();
  expect(new TextDecoder().decode(await jsonInSteps(shaped(url), system))).toBe(whole);
  expect(system.pauses()).toBeGreaterThan(2);
  const two = [longText(utf8('"ü"')), longBase64(utf8("ab"))];
  expect([...jsonParts(two)].join("")).toBe(String.raw`["\"ü\"","YWI="]`);
});

it("a string as long as a long text is cut, between surrogates", async () => {
  const long = `a"${"😀\\".repeat(400_000)}`;
  for (const value of [{ a: [long, { b: long }], c: 1 }, [long]]) {
    const system = counted();
    const json = new TextDecoder().decode(await jsonInSteps(value, system));
    expect(json === JSON.stringify(value)).toBe(true);
    expect(system.pauses()).toBeGreaterThan(2);
  }
});

it("the JSON of a value without a long text is made at once", async () => {
  const system = counted();
  const json = await jsonInSteps(shaped("x"), system);
  expect(new TextDecoder().decode(json)).toBe(JSON.stringify(shaped("x")));
  expect(system.pauses()).toBe(0);
});

it("base64 in steps is the same as at once, and lets others go on", async () => {
  const system = counted();
  expect(await base64InSteps(bytes, system)).toBe(toBase64(bytes));
  expect(system.pauses()).toBe(2);
  expect(await base64InSteps(utf8("a"), counted())).toBe("YQ==");
});
