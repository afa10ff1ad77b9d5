import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { globParts, matchGlob } from "../../../core/net/glob.ts";

const texts = (letters: string, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...letters), maxLength });

/** The same as a regular expression, which may take very long for long texts. */
function asRegExp(pattern: string): RegExp {
  const source = pattern.replaceAll(/\*+/gu, (stars) => (stars.length > 1 ? ".*" : "[^/]*"));
  return new RegExp(`^${source}$`, "su");
}

describe("matchGlob()", () => {
  it("matches what the pattern as a regular expression matches", () => {
    fc.assert(
      fc.property(texts("ab/**", 9), texts("ab/", 10), (pattern, text) => {
        expect(matchGlob(globParts(pattern), text)).toBe(asRegExp(pattern).test(text));
      }),
      { numRuns: 5000 },
    );
  });

  it("takes wildcards in a row that all cross slashes", () => {
    const any = { crosses: true };
    expect(matchGlob(["/a", any, "", any, "b", any], "/a/x/b/")).toBe(true);
    expect(matchGlob(["/a", any, "", any, "b"], "/a/x/b/")).toBe(false);
  });
});
