import { creditCard } from "./card-number.ts";
import type { Checker } from "../checkers/checker.ts";
import { email, phone, usSsn } from "./contact.ts";
import { iban } from "./iban.ts";
import { patternChecker } from "./pattern.ts";
import { secret } from "./secrets.ts";

/** The built-in DLP profiles by the name that a policy uses. */
export const profiles: Readonly<Record<string, Checker>> = {
  secrets: patternChecker([secret]),
  financial: patternChecker([creditCard, iban]),
  pii: patternChecker([email, phone, usSsn]),
  credit_card: patternChecker([creditCard]),
  iban: patternChecker([iban]),
  email: patternChecker([email]),
  phone: patternChecker([phone]),
  us_ssn: patternChecker([usSsn]),
};
