/** Counts the tokens of a text; a chunk's size is measured with it. */
export type CountTokens = (text: string) => number;

/** Letters of scripts without spaces count one by one; other words in pieces of six, digits of three. */
const TOKEN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]|[\p{L}\p{M}]{1,6}|\p{N}{1,3}|[^\s\p{L}\p{M}\p{N}]/gu;

/** Estimates a cl100k token count, rather too high than too low, without a vocabulary table. */
export function countTokens(text: string): number {
  let count = 0;
  TOKEN.lastIndex = 0;
  while (TOKEN.test(text)) count++;
  return count;
}
