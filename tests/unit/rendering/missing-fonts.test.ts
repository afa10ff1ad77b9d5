import { expect, it } from "vitest";
import { fontsFor, warnOfMissingFonts } from "../../../core/rendering/input/missing-fonts.ts";

it("warns once of each kind of characters that the browser has no font for", () => {
  const lines: unknown[] = [];
  const onMissing = warnOfMissingFonts((level, _message, fields) => {
    lines.push([level, fields?.["character"], fields?.["install"]]);
  });
  onMissing(fontsFor([]));
  onMissing(fontsFor(["日", "本", "😀"]));
  onMissing(fontsFor(["한", "🎉", "\u{13000}"]));
  expect(lines).toEqual([
    ["warn", "U+65E5", "fonts-noto-cjk"],
    ["warn", "U+1F600", "fonts-noto-color-emoji"],
    ["warn", "U+13000", "fonts-noto-core"],
  ]);
});
