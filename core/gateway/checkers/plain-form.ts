/** Spaces and dashes that typesetting, spreadsheets and models use in the place of the plain ones. */
const spaces = /[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g;
const dashes = /[\u2010-\u2015\u2212\uFE63\uFF0D]/g;

/**
 * Escapes of JSON (RFC 8259, section 7), as often escaped as they may be: the arguments of a tool's call are JSON in a
 * string in JSON. At most so many backslashes at a time, so that a text is read once, whatever is in it.
 */
const codes = /(?<!\\)\\{1,16}u([0-9A-Fa-f]{4})/g;
const slashes = /(?<!\\)\\{1,16}\//g;
const others = /\\{1,16}[nrtbf]?/g;

/**
 * A text as patterns read it: with plain spaces and dashes, and without the escapes of JSON that stands in a string,
 * where the `n` of a line break would look like the first letter of a longer word.
 */
export function plainForm(text: string): string {
  const plain = text.includes("\\") ? unescaped(text) : text;
  return plain.replaceAll(spaces, " ").replaceAll(dashes, "-");
}

function unescaped(text: string): string {
  return text
    .replaceAll(codes, (_escape, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll(slashes, "/")
    .replaceAll(others, " ");
}
