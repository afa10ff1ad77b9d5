import { ownMember } from "../../../http/json.ts";
import type { Pattern, TextSpan } from "./pattern.ts";

/** Lengths of IBANs by country (ISO 13616 registry). */
const lengths: Readonly<Record<string, number>> = Object.fromEntries(
  (
    "NO15 BE16 DK18 FI18 FO18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 XK20 MN20 " +
    "CH21 HR21 LI21 LV21 BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 " +
    "SO23 TL23 AD24 CZ24 ES24 MD24 PK24 RO24 SA24 SE24 SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 " +
    "BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28 BY28 CY28 DO28 GT28 HU28 LB28 NI28 PL28 SV28 " +
    "BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 SC31 LC32 MT31 RU33 " +
    "FK18 HN28 YE30"
  )
    .split(" ")
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** The possible start of an IBAN; its country decides the length. */
const start = /(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?=[\n .A-Za-z0-9*_|/,-])/g;

/** The longest IBAN with {@link GAP} characters behind every fourth one. */
const SPAN = 34 + 3 * 9;
/** Separators in a row. */
const GAP = 3;

/** International bank account numbers: of a known country's length and with the right check digits. */
export const iban: Pattern = {
  type: "iban",
  find(text) {
    const found: TextSpan[] = [];
    for (const { index } of text.matchAll(start)) {
      const length = ibanLength(text.slice(index, index + SPAN).toUpperCase());
      if (length > 0) found.push({ start: index, end: index + length });
    }
    return found;
  },
};

/** Returns the length of the IBAN at the start of a text, its separators included; 0 without one. */
function ibanLength(candidate: string): number {
  const country = candidate.slice(0, 2);
  const length = ownMember(lengths, country) ?? 0;
  if (length === 0) return 0;
  let compact = "";
  let gap = 0;
  let at = 0;
  for (; at < candidate.length && compact.length < length; at++) {
    const char = candidate.charAt(at);
    if (/[A-Z0-9]/.test(char)) {
      compact += char;
      gap = 0;
    } else if (!separates(char, compact.length) || ++gap > GAP) return 0;
  }
  const isWhole = compact.length === length && !/[A-Za-z0-9]/.test(candidate.charAt(at));
  return isWhole && remainder(compact.slice(4) + compact.slice(0, 4)) === 1 ? at : 0;
}

/** Spaces and line breaks may stand anywhere; other marks between groups of four only, unlike in other identifiers. */
function separates(char: string, behind: number): boolean {
  return char === " " || char === "\n" || ("-.*_|/,".includes(char) && behind % 4 === 0);
}

/** Modulo 97 with letters as two digits (ISO 7064, MOD 97-10). */
function remainder(text: string): number {
  let rest = 0;
  for (const char of text) {
    const value = Number.parseInt(char, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest;
}
