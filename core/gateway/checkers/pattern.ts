import { type Checker, clean, type Finding } from "./checker.ts";
import { plainForm } from "./plain-form.ts";

/** Something that is recognised by its form. Takes time in proportion to the text, whatever is in it. */
export interface Pattern {
  readonly type: string;
  /** How often it occurs in a text of plain form. */
  count(text: string): number;
}

/** A checker that reports what has one of these forms. */
export function patternChecker(patterns: readonly Pattern[]): Checker {
  return {
    check(text) {
      const plain = plainForm(text);
      const findings = patterns
        .map((pattern): Finding => ({ type: pattern.type, count: pattern.count(plain) }))
        .filter(({ count }) => count > 0);
      return findings.length === 0 ? clean : { action: "flag", findings };
    },
  };
}
