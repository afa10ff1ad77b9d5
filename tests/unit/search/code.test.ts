import { describe, expect, it } from "vitest";
import { splitText, type TextChunk } from "../../../core/search/text/split.ts";

/** Chunks of code, a token for each line. */
function chunksOf(text: string, size: number): TextChunk[] {
  const countTokens = (part: string): number =>
    part.split("\n").filter((line) => line.trim() !== "").length;
  return splitText(text, { size, overlapPercent: 20, format: "code", countTokens });
}

const typescript = `import { a } from "b";

/** Loads a thing. */
export async function load(id: string): Promise<void> {
  const found = await a(id);

  return found;
}

export class Harbour extends Place {
  #boats = [];

  constructor(private readonly name: string) {
    super();
    this.name = name;
  }

  async moor(boat: Boat): Promise<void> {
    if (boat.isLong) {
      throw new Error("long");
    }

    this.#boats.push(boat);
  }
}

const sail = async (to: string) => {
  go(to);
};
`;

describe("code", () => {
  it("is cut before declarations, and a chunk names what it lies in", () => {
    const chunks = chunksOf(typescript, 5);
    expect(chunks.map(({ text, heading }) => [heading, text.split("\n")[0]])).toEqual([
      ["", 'import { a } from "b";'],
      ["", "/** Loads a thing. */"],
      ["", "export class Harbour extends Place {"],
      ["Harbour", "constructor(private readonly name: string) {"],
      ["Harbour", "async moor(boat: Boat): Promise<void> {"],
      ["Harbour > moor", "this.#boats.push(boat);"],
      ["", "const sail = async (to: string) => {"],
    ]);
    expect(chunks[1]?.text.endsWith("}")).toBe(true);
  });

  it("names the innermost function of a chunk that begins inside it", () => {
    const chunks = chunksOf(typescript, 3);
    const inside = chunks.find(({ text }) => text.startsWith("this.#boats.push"));
    expect(inside?.heading).toBe("Harbour > moor");
    expect(chunks.find(({ text }) => text.startsWith("return found"))?.heading).toBe("load");
  });

  it("knows declarations of many languages", () => {
    for (const [source, heading] of [
      [
        "class A:\n    def run(self):\n        one()\n        two()\n\n        three()\n",
        "A > run",
      ],
      [
        "impl<T> Store for Map {\n    pub fn get(&self) {\n        a();\n\n        b();\n    }\n}\n",
        "Store > get",
      ],
      ["func (s *Server) Close() {\n\ta()\n\n\tb()\n}\n", "Close"],
      [
        "public class A {\n  @Override\n  public int size() {\n    a();\n\n    b();\n  }\n}\n",
        "A > size",
      ],
      ["module M\n  def go\n    a\n\n    b\n  end\nend\n", "M > go"],
      ["CREATE OR REPLACE VIEW v AS\n  SELECT 1\n\n  FROM t;\n", "v"],
    ] as const) {
      const last = chunksOf(source, 1).findLast(({ text }) => /^(?:three|b|FROM)/u.test(text));
      expect([source, last?.heading]).toEqual([source, heading]);
    }
  });

  it("keeps every character, with offsets that fit, and repeats nothing", () => {
    for (const size of [1, 2, 3, 5, 8, 100]) {
      const bytes = new TextEncoder().encode(typescript);
      const chunks = chunksOf(typescript, size);
      for (const { text, startByte, endByte } of chunks)
        expect(new TextDecoder().decode(bytes.subarray(startByte, endByte))).toBe(text);
      const joined = chunks.map(({ text }) => text).join("");
      expect(joined.replaceAll(/\s/gu, "")).toBe(typescript.replaceAll(/\s/gu, ""));
    }
  });

  it("is measured a few times at most, whatever stands in a line", () => {
    const text = `${"a ".repeat(90)}(\n${"x".repeat(190)} (\n${"(".repeat(100)}{\n\n`.repeat(400);
    let measured = 0;
    const countTokens = (part: string): number => {
      measured += part.length;
      return part.split("\n").length;
    };
    splitText(text, { size: 50, overlapPercent: 20, format: "code", countTokens });
    // Once for each kind of place to cut at, and not once for each chunk.
    expect(measured).toBeLessThan(text.length * 6);
  });
});
