import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePlain, encodePlain } from "../../adapters/peers/plain-codec.ts";

const leaf = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined, -0, Number.NaN, Number.POSITIVE_INFINITY, "\u{d800}", "\0"),
  fc.bigInt(),
  fc.uint8Array(),
);
const { any } = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("any")),
    fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom("__proto__", "toJSON", "value")),
      tie("any"),
    ),
  ),
}));

const passed = (value: unknown): unknown => decodePlain(encodePlain(value));

describe("encodePlain()", () => {
  it("loses nothing of what actors give each other", () => {
    fc.assert(
      fc.property(any, (value) => {
        expect(passed(value)).toStrictEqual(toOwn(value));
      }),
    );
  });

  it("keeps the order of members, and bytes that are a part of others", () => {
    const whole = new Uint8Array([1, 2, 3, 4]);
    const value = {
      z: undefined,
      a: whole.subarray(1, 3),
      m: Buffer.from("buffer"),
      b: [undefined, 1n],
    };
    const read = passed(value) as typeof value;
    expect(Object.keys(read)).toEqual(["z", "a", "m", "b"]);
    expect(read.a).toEqual(new Uint8Array([2, 3]));
    expect([read.a.buffer.byteLength, read.m.constructor.name]).toEqual([2, "Uint8Array"]);
    expect(read.b).toEqual([undefined, 1n]);
  });

  it("refuses what is not plain data", () => {
    for (const value of [() => 1, Symbol("s"), new Map(), new Date(0), { deep: [new Set()] }])
      expect(() => encodePlain(value)).toThrow(TypeError);
    const circle: unknown[] = [];
    circle.push(circle);
    expect(() => encodePlain(circle)).toThrow(RangeError);
  });
});

describe("decodePlain()", () => {
  const withSpecials = (text: string): Buffer => {
    const header = Buffer.from([1, 0, 0, 0, 0]);
    header.writeUInt32LE(text.length, 1);
    return Buffer.concat([header, Buffer.from(text)]);
  };

  it("puts nothing where nothing of the message is", () => {
    for (const path of [
      ["__proto__", "polluted"],
      ["constructor", "name"],
      ["a", "b"],
      ["a", 0],
    ]) {
      const text = JSON.stringify([{ a: "text" }, [[path, "undefined", ""]]]);
      expect(() => decodePlain(withSpecials(text))).toThrow(TypeError);
    }
    expect(Object.prototype).not.toHaveProperty("polluted");
  });

  it("refuses what was cut off, and what was never encoded", () => {
    const whole = encodePlain({ bytes: new Uint8Array(10) });
    expect(() => decodePlain(whole.subarray(0, -1))).toThrow(RangeError);
    expect(() => decodePlain(Buffer.from("GET / HTTP/1.1"))).toThrow(TypeError);
    expect(() => decodePlain(Buffer.alloc(0))).toThrow(TypeError);
  });
});

/** The same data in objects that have the usual prototype: a member named `__proto__` is a member. */
function toOwn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toOwn);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toOwn(member)]));
}
