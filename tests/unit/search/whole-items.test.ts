import { afterEach, describe, expect, it } from "vitest";
import { termScanner } from "../../../core/search/text/term-scanner.ts";
import { weighedByItems } from "../../../core/search/retrieve/whole-items.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";

describe("termScanner()", () => {
  const found = (terms: readonly string[], text: string): string[] => {
    const out: string[] = [];
    const words = termScanner(terms)(text, (at) => out.push(terms[at] ?? ""));
    return [...out, `of ${words}`];
  };

  it("finds words and stems in their order, each as often as it stands there", () => {
    expect(found(["wing", "flow", "x1"], "Flows over a WING, wings_x1; a swing.")).toEqual([
      "flow",
      "wing",
      "wing",
      "x1",
      "of 8",
    ]);
  });

  it("finds the same in a text with other letters", () => {
    expect(found(["wing", "cafe", "東京"], "“Café” wings 東京")).toEqual([
      "cafe",
      "wing",
      "東京",
      "of 4",
    ]);
    expect(found(["a"], "A b a")).toEqual(["a", "a", "of 3"]);
  });
});

it("weighs long items in turns", async () => {
  let turns = 0;
  const hits = Array.from({ length: 30 }, (_, chunk) => ({ chunk, value: 30 - chunk }));
  const rows = hits.map(({ chunk }) => ({
    id: chunk,
    item_id: `item-${chunk}`,
    heading: "",
    text: "zebra ".repeat(2000),
    chunks: 1,
  }));
  const system = { sleep: () => Promise.resolve(void turns++) };
  const state = {
    actor: "main",
    context: { sql: { all: () => Promise.resolve(rows) }, system },
    termCounts: { of: () => Promise.resolve(new Map([["zebra", 30]])) },
    facts: () => ({ chunks: 100 }),
  };
  const plan = { words: [{ terms: ["zebra"], others: [] }], required: [], tokenizer: "porter" };
  // What it reads of an instance and of a plan.
  expect(await weighedByItems(state as never, plan as never, hits as never)).toHaveLength(30);
  // 360,000 characters.
  expect(turns).toBe(2);
});

describe("keyword hits of cut items", () => {
  let api: SearchUnderTest;
  afterEach(() => api.close());

  const filler = (n: number): string => `Plain sentence ${n} about nothing. `.repeat(12);
  const keys = async (query: string): Promise<string[]> => [
    ...new Set(
      (await api.search(query, { retrieval_type: "keyword", keyword_match_mode: "or" })).map(
        ({ item }) => item.key,
      ),
    ),
  ];
  const fill = async (before: string): Promise<void> => {
    api = await searchUnderTest({}, { chunk_size: 128, chunk_overlap: 0 });
    for (let n = 0; n < 6; n++) await api.upload(`other-${n}.md`, filler(n));
    // Names of files are searched, too.
    for (const [n, part] of ["turbine", "gearbox"].entries())
      await api.upload(
        `part-${n}.md`,
        `A ${part} is there. ${"It stands in a hall of iron. ".repeat(6)}`,
      );
    const turbine = `${filler(7)}A turbine is there.`;
    await api.upload("both.md", `${before}${turbine}\n\n${filler(8)}A gearbox is there.`);
  };

  it("come first when other chunks hold the rest of the question", async () => {
    await fill("");
    expect((await keys("turbine gearbox"))[0]).toBe("both.md");
  });

  it("count by their chunk alone in a long item", async () => {
    await fill(Array.from({ length: 9 }, (_, n) => `${filler(n)}\n\n`).join(""));
    expect((await keys("turbine gearbox"))[2]).toBe("both.md");
  });

  it("are found although their chunk is too long to be read again", async () => {
    api = await searchUnderTest({}, { chunk: false });
    await api.upload("long.md", `A turbine. ${"word ".repeat(4000)}`);
    await api.upload("short.md", "A turbine and more.");
    expect(await keys("turbine")).toEqual(["short.md", "long.md"]);
  });
});
