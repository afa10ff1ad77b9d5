import { expect, it } from "vitest";
import { warnOfMissingGlyphs } from "../../../core/rendering/actions/missing-glyphs.ts";

it("warns once of each kind of characters that the browser has no font for", () => {
  const lines: unknown[] = [];
  const onMissing = warnOfMissingGlyphs((level, _message, fields) => {
    lines.push([level, fields?.["character"], fields?.["install"]]);
  });
  onMissing([]);
  onMissing(["日", "本", "😀"]);
  onMissing(["한", "🎉", "\u{13000}"]);
  expect(lines).toEqual([
    ["warn", "U+65E5", "fonts-noto-cjk"],
    ["warn", "U+1F600", "fonts-noto-color-emoji"],
    ["warn", "U+13000", "fonts-noto-core"],
  ]);
});
