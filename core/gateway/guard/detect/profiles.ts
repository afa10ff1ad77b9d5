import { creditCard } from "./card-number.ts";
import type { Checker } from "../checkers/checker.ts";
import { iban } from "./iban.ts";
import { patternChecker, type Pattern } from "./pattern.ts";
import { secretPattern } from "./secrets.ts";

/** E-mail addresses. */
const email: Pattern = byForm(
  "email",
  null,
  /(?<![\w.%+-])[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])/g,
);

/** Phone numbers: with a country code (E.164), or in the North American form. */
const phone: Pattern = byForm(
  "phone",
  /^(?:\+|\(?\d{3})/,
  /(?<![\w.+])\+[1-9]\d{0,2}[\n .-]?(?:\(\d{1,4}\)[\n .-]?)?\d(?:[\n .-]?\d){5,12}(?!\d)/g,
  /(?<![\w.+-]|\d )(?:1[ .-])?(?:\(\d{3}\)[\n ]?|\d{3}[.-])\d{3}[.-]\d{4}(?![\w-])/g,
);

/** United States social security numbers, ranges that were never given out excluded. */
const usSsn: Pattern = byForm(
  "us_ssn",
  /^\d{3}-/,
  /(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g,
);

/** The built-in DLP profiles by the name that a policy uses. */
export const profiles: Readonly<Record<string, Checker>> = {
  secrets: patternChecker([secretPattern]),
  financial: patternChecker([creditCard, iban]),
  pii: patternChecker([email, phone, usSsn]),
  credit_card: patternChecker([creditCard]),
  iban: patternChecker([iban]),
  email: patternChecker([email]),
  phone: patternChecker([phone]),
  us_ssn: patternChecker([usSsn]),
};

function byForm(type: string, begins: RegExp | null, ...forms: readonly RegExp[]): Pattern {
  return {
    type,
    ...(begins === null ? {} : { begins }),
    count: (text) => forms.reduce((sum, form) => sum + (text.match(form)?.length ?? 0), 0),
  };
}
