import { toHex, utf8 } from "../crypto/encoding.ts";

/** Characters to escape: all but printable ASCII, the escape character, and a blank at either end. */
const FOREIGN = "[^\\x20-\\x24\\x26-\\x7e]|^ | $";
const foreign = new RegExp(FOREIGN, "u");
const allForeign = new RegExp(FOREIGN, "gu");

/**
 * A text as a header can hold it (RFC 9110, section 5.5): other characters than printable ASCII are percent-encoded in
 * UTF-8, and so is the percent sign. `decodeURIComponent` gives the text back.
 */
export function headerText(text: string): string {
  return foreign.test(text) ? text.replaceAll(allForeign, escaped) : text;
}

function escaped(char: string): string {
  return toHex(utf8(char)).toUpperCase().replaceAll(/../g, "%$&");
}

/** A text as a string of a structured header (RFC 9651, section 3.3.3), where "?" stands for other characters than printable ASCII. */
export function headerString(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/gu, "?").replaceAll(/["\\]/gu, "\\$&")}"`;
}
