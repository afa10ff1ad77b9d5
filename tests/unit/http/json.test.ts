import fc from "fast-check";
import { expect, it } from "vitest";
import { boundedJson, jsonExcess, memberCount } from "../../../core/http/json.ts";

/** Members of all objects of a value, and its elements, members and containers. */
function sizeOf(value: unknown): { members: number; depth: number } {
  if (typeof value !== "object" || value === null) return { members: 0, depth: 0 };
  const inside = Object.values(value).map(sizeOf);
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return {
    members: inside.reduce((sum, one) => sum + one.members, own),
    depth: 1 + Math.max(0, ...inside.map(({ depth }) => depth)),
  };
}

it("finds nothing in any value that holds little", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
      const text = JSON.stringify([value, " ".repeat(600)], null, 1);
      expect(sizeOf(value).members).toBeLessThan(20_000);
      expect(jsonExcess(text)).toBeNull();
      expect(boundedJson(text)).toEqual(JSON.parse(text));
    }),
    { numRuns: 200 },
  );
});

it("counts levels as they are nested, not as they follow each other", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  expect(jsonExcess(nested(256))).toBeNull();
  expect(jsonExcess(nested(257))).toBe("more than 256 levels");
  expect(jsonExcess(`[${Array(500).fill(nested(99)).join()}]`)).toBeNull();
  expect(boundedJson(nested(257))).toBeUndefined();
});

it("bounds values, and lists and objects more, which engines are slower to make", () => {
  const list = (count: number, one: string): string => `[${Array(count).fill(one).join()}]`;
  expect(jsonExcess(list(200_000, "1"))).toBeNull();
  expect(jsonExcess(list(200_001, "1"))).toBe("more than 200000 values");
  expect(jsonExcess(list(20, "1".repeat(40)), 19)).toBe("more than 19 values");
  expect(jsonExcess(list(49_999, "{}"))).toBeNull();
  expect(jsonExcess(list(50_000, "{}"))).toBe("more than 50000 lists and objects");
});

it("bounds the names that differ, which engines are slow to parse, and lets the same ones come often", () => {
  const named = (count: number, name: (n: number) => string): string =>
    `[${Array.from({ length: count }, (_, n) => `{"${name(n)}":":,{"}`).join()}]`;
  const excess = "more than 5000 different names";
  expect(jsonExcess(named(5000, (n) => `name${n}`))).toBeNull();
  expect(jsonExcess(named(5001, (n) => `name${n}`))).toBe(excess);
  expect(jsonExcess(named(5001, (n) => `\\"${n}`))).toBe(excess);
  expect(jsonExcess(named(20_000, (n) => `name${n % 5000}`))).toBeNull();
  expect(jsonExcess(named(20_001, () => "name"))).toBe("more than 20000 members");
});

it("counts what stands between digits and blanks, which it passes over", () => {
  const [deep, end] = ["\n [".repeat(257), "]".repeat(257)];
  expect(jsonExcess(`${deep}-1e${"9".repeat(1_000_000)} ${end}`)).toBe("more than 256 levels");
  const names = Array.from({ length: 5001 }, (_, n) => ` "${n}" :\t${n} `).join();
  expect(jsonExcess(` { ${names}\n}`)).toBe("more than 5000 different names");
  expect(memberCount(` { ${names}\n}`)).toBe(5001);
});
