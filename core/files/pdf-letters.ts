const LIGATURES = ["ff", "fi", "fl", "ffi", "ffl"] as const;
/** Codes of `LIGATURES` in TeX's bitmap fonts, which do not name their letters: from 27 on in the encoding T1, from 11 on in OT1. */
const T1 = 0x1b;
const OT1 = 0x0b;
const CODES = new RegExp(String.raw`[\x1B-\x1F]|(?<=\p{L})[\v-\x0F]|[\v-\x0F](?=\p{L})`, "gu");
/** Letters by the form in which they are drawn: Hebrew and Arabic ones, and the radicals of Chinese signs. */
const DRAWN = /[\u2F00-\u2FD5\uF900-\uFAFF\uFB00-\uFDFF\uFE70-\uFEFC]+/gu;
/** Signs without a meaning within words: alone they are bullets. U+0000 is a letter that its font does not have. */
const MEANINGLESS = String.raw`[\u0001-\u0008\u000E-\u001A\u007F-\u009F\uE000-\uF8FF\uFFFD]`;
const UNKNOWN = new RegExp(String.raw`\0|(?<=\p{L})${MEANINGLESS}|${MEANINGLESS}(?=\p{L})`, "gu");

/** Returns the letters that a piece of a PDF's text draws, as people type them. */
export function typedLetters(text: string): string {
  return text
    .replaceAll(CODES, (sign) => {
      const code = sign.charCodeAt(0);
      return LIGATURES[code - (code < T1 ? OT1 : T1)] ?? sign;
    })
    .replaceAll(DRAWN, (letters) => letters.normalize("NFKC"));
}

/** Counts the letters of a piece that have no meaning; all of OT1, where "fi" is lost with the blanks. */
export function unknownLetters(text: string): number {
  return text.match(UNKNOWN)?.length ?? 0;
}
