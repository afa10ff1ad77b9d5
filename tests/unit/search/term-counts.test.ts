import { describe, expect, it } from "vitest";
import { createTermCounts } from "../../../core/search/state/term-counts.ts";

const options = {};
/** Counts each term as the length of its name. */
const keywords = {
  all: (_sql: string, params: readonly unknown[] = []) =>
    Promise.resolve([
      Object.fromEntries(params.map((term, n) => [`n${n}`, String(term).length - 2])),
    ]),
};

describe("counts of terms", () => {
  it("tells each term that was asked for, also when the memory is full", async () => {
    const counts = createTermCounts({ index: "some", keywords });
    await counts.of(["known"], options);
    const many = Array.from({ length: 1500 }, (_, n) => `t${n}`);
    const found = await counts.of(["known", ...many], options);
    expect(found.size).toBe(1501);
    expect(found.get("known")).toBe(5);
    const again = await counts.of(["known", "t7", "other"], options);
    expect(Object.fromEntries(again)).toEqual({ known: 5, other: 5, t7: 2 });
  });
});
