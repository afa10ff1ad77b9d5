/**
 * A text in Unicode's form NFKC. Of very many marks upon one letter only 30 stay, which is more than any language has
 * (UAX #15, section 13): normalising sorts them, in a time that grows with the square of their number.
 */
export function nfkc(text: string): string {
  return text.replaceAll(/(\p{M}{30})\p{M}+/gu, "$1").normalize("NFKC");
}
