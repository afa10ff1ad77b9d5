import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countTokens } from "../../../core/search/text/count-tokens.ts";
import { splitText } from "../../../core/search/text/split.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const piece = fc.oneof(
  fc.constantFrom(
    "word",
    "# A\n",
    "## B\n",
    "\n\n",
    "\n",
    ". ",
    "。",
    "東京都",
    "🌍",
    "```\n",
    "é",
    "e\u0301",
    " ",
    "\u2028",
    "\ud83c\udf0d",
    "ไทย",
  ),
  fc.string({ unit: "grapheme", maxLength: 20 }),
);
const text = fc.array(piece, { maxLength: 200 }).map((parts) => parts.join("").toWellFormed());

describe("splitText()", () => {
  it("cuts slices of the text, at the byte offsets that it gives", () => {
    fc.assert(
      fc.property(
        text,
        fc.constantFrom("markdown", "text"),
        fc.integer({ min: 0, max: 30 }),
        (source, format, overlapPercent) => {
          const bytes = encoder.encode(source);
          for (const chunk of splitText(source, { size: 64, overlapPercent, format })) {
            expect(decoder.decode(bytes.subarray(chunk.startByte, chunk.endByte))).toBe(chunk.text);
          }
        },
      ),
    );
  });

  it("loses no visible character", () => {
    fc.assert(
      fc.property(text, fc.constantFrom("markdown", "text"), (source, format) => {
        const chunks = splitText(source, { size: 64, overlapPercent: 0, format });
        expect(
          chunks
            .map((chunk) => chunk.text)
            .join("")
            .replaceAll(/\s/g, ""),
        ).toBe(source.replaceAll(/\s/g, ""));
      }),
    );
  });

  it("keeps every chunk within its size, overlap included", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 30 }), (source, overlapPercent) => {
        for (const chunk of splitText(source, { size: 64, overlapPercent, format: "markdown" })) {
          expect(countTokens(chunk.text)).toBeLessThanOrEqual(64);
        }
      }),
    );
  });

  it("repeats the end of the chunk before, when asked to", () => {
    const source = Array.from({ length: 300 }, (_, n) => `word${n}.`).join(" ");
    const chunks = splitText(source, { size: 100, overlapPercent: 20, format: "text" });
    expect(chunks.length).toBeGreaterThan(3);
    for (const [n, chunk] of chunks.entries()) {
      if (n > 0) expect(chunk.startByte).toBeLessThan(chunks[n - 1]!.endByte);
    }
  });

  it("gives each chunk the headings above it and sees none in code", () => {
    const source = "intro\n\n# A\n\none\n\n## B\n\n```\n# not a heading\n```\n\n# C #\n\nlast";
    const chunks = splitText(source, { size: 64, overlapPercent: 0, format: "markdown" });
    expect(chunks.map((chunk) => chunk.heading)).toEqual(["", "A", "A > B", "C"]);
    expect(splitText(source, { size: 64, overlapPercent: 0, format: "text" })[0]?.heading).toBe("");
  });

  it("joins a heading with the text below it, also where that fills a chunk", () => {
    const sentence = (n: number): string => `The pump of number ${n} stands in the hall behind it.`;
    const body = Array.from({ length: 60 }, (_, n) => sentence(n)).join(" ");
    const heading =
      "# Pumps of the house, of the garden behind it, and of all of the fields around";
    for (const overlapPercent of [0, 10, 30])
      for (const between of ["\n\n", "\n"]) {
        const options = { size: 128, overlapPercent, format: "markdown" } as const;
        const chunks = splitText(`${heading}${between}${body}`, options);
        expect(chunks[0]?.text).toContain(sentence(0));
        expect(chunks.length).toBeGreaterThan(5);
        for (const one of chunks) {
          expect(one.text).not.toBe(heading);
          expect(countTokens(one.text)).toBeLessThanOrEqual(128);
        }
      }
  });

  it("joins headings without text with what follows, and keeps those that nothing follows", () => {
    const source = "# A\n\n## B\n\none\n\n## C\n## D\n\ntwo\n\n## E\n\n## F";
    const chunks = splitText(source, { size: 64, overlapPercent: 0, format: "markdown" });
    expect(chunks.map((one) => [one.text, one.heading])).toEqual([
      ["# A\n\n## B\n\none", "A > B"],
      ["## C\n## D\n\ntwo", "A > D"],
      ["## E\n\n## F", "A > F"],
    ]);
    const many = Array.from({ length: 200 }, (_, n) => `## Part ${n}\n\n`).join("");
    const parts = splitText(many, { size: 64, overlapPercent: 0, format: "markdown" });
    for (const one of parts) expect(countTokens(one.text)).toBeLessThanOrEqual(64);
    expect(new Set(parts.map(({ heading }) => heading)).size).toBe(parts.length);
  });

  it("begins with a sentence, also where lines are wrapped and chunks overlap", () => {
    const sentence = (n: number): string =>
      `Number ${n} of them goes on\nover two lines, e.g. these, and has\nan end.`;
    const source = Array.from({ length: 40 }, (_, n) => sentence(n)).join(" ");
    for (const overlapPercent of [0, 10, 30]) {
      const chunks = splitText(source, { size: 100, overlapPercent, format: "text" });
      expect(chunks.length).toBeGreaterThan(5);
      for (const chunk of chunks) expect(chunk.text).toMatch(/^Number \d+ of them/);
    }
  });

  it("keeps rows of a table whole, and tells the columns of one that goes on", () => {
    const rows = Array.from(
      { length: 60 },
      (_, n) => `| \`key_${n}\` | What key ${n} is. Not that |`,
    );
    const table = ["| Name | *Meaning* |", "|---|:--|", ...rows].join("\n");
    const source = `# Keys\n\nAll of them:\n\n${table}\n\nThe end.`;
    const chunks = splitText(source, { size: 128, overlapPercent: 20, format: "markdown" });
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks[0]?.heading).toBe("Keys");
    for (const chunk of chunks.slice(1, -1)) {
      expect(chunk.text).toMatch(/^\| `key_\d+`.*\|$/s);
      expect(chunk.heading).toBe("Keys > Name | Meaning");
    }
  });

  it("prefers to cut between paragraphs", () => {
    const paragraph = "one two three four five six seven eight nine ten. ".repeat(4).trim();
    const chunks = splitText(`${paragraph}\n\n${paragraph}`, {
      size: 70,
      overlapPercent: 0,
      format: "text",
    });
    expect(chunks.map((chunk) => chunk.text)).toEqual([paragraph, paragraph]);
  });

  it("splits a megabyte without a space, one of blanks, and one of headings, in linear time", () => {
    expect(
      splitText("a".repeat(1_000_000), { size: 256, overlapPercent: 10, format: "markdown" })
        .length,
    ).toBeGreaterThan(100);
    expect(
      splitText(" \n".repeat(500_000), { size: 256, overlapPercent: 10, format: "markdown" }),
    ).toEqual([]);
    expect(
      splitText("# a\n".repeat(100_000), { size: 8192, overlapPercent: 10, format: "markdown" })
        .length,
    ).toBeLessThan(100_000);
    expect(
      splitText("🌍".repeat(1000), { size: 64, overlapPercent: 10, format: "text" }).every((c) =>
        c.text.isWellFormed(),
      ),
    ).toBe(true);
  });
});
