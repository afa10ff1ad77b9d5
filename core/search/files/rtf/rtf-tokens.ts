/** A token of Rich Text Format (version 1.9.1, section "RTF Syntax"). */
export type RtfToken =
  | { readonly kind: "open" }
  | { readonly kind: "close" }
  /** `\word12`, or the sign behind a backslash, such as `\~`. */
  | { readonly kind: "word"; readonly word: string; readonly value: number | null }
  /** A byte of text, or one that was written as `\'hh`. */
  | { readonly kind: "byte"; readonly byte: number };

/** Tokens between two yields: a few milliseconds of work. */
const STEP = 5000;
const [BACKSLASH, OPEN, CLOSE, QUOTE, BLANK, MINUS] = [0x5c, 0x7b, 0x7d, 0x27, 0x20, 0x2d];

/** Reads the tokens of a text one after the other, and yields between them. */
export function* rtfTokens(
  bytes: Uint8Array,
  take: (token: RtfToken) => void,
): Generator<void, void, void> {
  let tokens = 0;
  for (let at = 0; at < bytes.length;) {
    if (++tokens % STEP === 0) yield;
    const byte = bytes[at++] ?? 0;
    if (byte === OPEN) take({ kind: "open" });
    else if (byte === CLOSE) take({ kind: "close" });
    else if (byte === BACKSLASH) at = takeControl(bytes, at, take);
    // The ends of lines and the zero bytes of a file say nothing.
    else if (byte !== 10 && byte !== 13 && byte !== 0) take({ kind: "byte", byte });
  }
}

/** Takes what follows a backslash. Returns the place behind it. */
function takeControl(bytes: Uint8Array, from: number, take: (token: RtfToken) => void): number {
  let at = from;
  while (isLetter(bytes[at])) at++;
  if (at === from) return takeSign(bytes, at, take);
  const word = text(bytes, from, at);
  const start = at;
  if (bytes[at] === MINUS) at++;
  while (isDigit(bytes[at])) at++;
  const value = at === start ? null : Number(text(bytes, start, at));
  if (bytes[at] === BLANK) at++;
  take({ kind: "word", word, value });
  // So many bytes of a picture follow, in which any byte may stand.
  return word === "bin" && value !== null && value > 0 ? at + value : at;
}

function takeSign(bytes: Uint8Array, at: number, take: (token: RtfToken) => void): number {
  const sign = bytes[at];
  if (sign === undefined) return at;
  if (sign === QUOTE) {
    const hex = text(bytes, at + 1, at + 3);
    if (/^[\da-f]{2}$/iu.test(hex)) take({ kind: "byte", byte: Number.parseInt(hex, 16) });
    return at + 3;
  }
  if (sign === BACKSLASH || sign === OPEN || sign === CLOSE) take({ kind: "byte", byte: sign });
  else take({ kind: "word", word: String.fromCodePoint(sign), value: null });
  return at + 1;
}

/** Words and numbers are short: a longer one is damaged. */
function text(bytes: Uint8Array, from: number, to: number): string {
  return String.fromCodePoint(...bytes.subarray(from, Math.min(to, from + 32)));
}

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a));
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}
