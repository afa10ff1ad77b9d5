/** Finds one token in what a caller sends along. */
export interface TokenSearch {
  /** Whether bytes hold the token, as it is or in the ways that JSON and forms write it. */
  isIn(bytes: Uint8Array): boolean;
  isInText(text: string): boolean;
  /** Returns where at the end of the bytes the token may begin that the next bytes complete; their length when nowhere. */
  openEnd(bytes: Uint8Array): number;
}

/** Characters from which a token is searched for: a shorter one can be an ordinary word of a text. */
const SHORTEST = 16;
/** Bytes that are compared, the token's last ones: the work per byte of a text is bounded, whatever both hold. */
const COMPARED = 24;
/** The same for a form with escapes, which take up to six bytes for one of the token's. */
const COMPARED_ESCAPED = 96;

/**
 * Prepares a search for the token that a request presented; null when it is too short for one. Horspool's
 * algorithm (1980): most bytes of a text are never looked at.
 */
export function tokenSearch(token: string): TokenSearch | null {
  if (token.length < SHORTEST) return null;
  // The characters of API tokens and JWTs have only one written form.
  if (/^[\w.~-]*$/.test(token)) return formSearch(token, COMPARED);
  const forms = writtenForms(token).map((form) =>
    formSearch(form, form === token ? COMPARED : COMPARED_ESCAPED),
  );
  return {
    isIn: (bytes) => forms.some((form) => form.isIn(bytes)),
    isInText: (text) => forms.some((form) => form.isInText(text)),
    openEnd: (bytes) => Math.min(...forms.map((form) => form.openEnd(bytes))),
  };
}

/** {@link tokenSearch}, which remembers the search for the last token: most requests of a while present the same one. */
export function tokenSearches(): (token: string) => TokenSearch | null {
  let last: { readonly token: string; readonly search: TokenSearch | null } | undefined;
  return (token) => {
    if (last?.token !== token) last = { token, search: tokenSearch(token) };
    return last.search;
  };
}

/** As it is, as JSON writes it (some writers escape slashes too, others what means something in HTML), and as forms do. */
function writtenForms(token: string): string[] {
  const json = JSON.stringify(token).slice(1, -1);
  const forHtml = htmlEscapes.map(([signs, code]) =>
    token.replace(/\\/g, "\\\\").replace(signs, code).replace(/"/g, '\\"'),
  );
  const form = encodeURIComponent(token);
  // .NET writes the digits of percent-encoding small.
  const small = form.replace(/%[\dA-F]{2}/g, (code) => code.toLowerCase());
  const forms = [token, json, json.replaceAll("/", "\\/"), ...forHtml, form, small];
  return [...new Set(forms)];
}

/**
 * Characters that writers of JSON escape beyond need by default: .NET's, Gson, and Go's and Rails'. None escapes letters or
 * digits.
 */
const htmlEscapes: readonly (readonly [signs: RegExp, code: (sign: string) => string])[] = [
  [/["&'+<>`]/g, (sign) => unicodeEscape(sign).replace(/[\da-f]{2}$/, (hex) => hex.toUpperCase())],
  [/[&'<=>]/g, unicodeEscape],
  [/[&<>]/g, unicodeEscape],
];

function unicodeEscape(sign: string): string {
  return `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Tokens are ASCII, so a character is a byte. */
function formSearch(form: string, compared: number): TokenSearch {
  return {
    isIn: (bytes) => contains(bytes, form, compared),
    isInText: (text) => text.includes(form),
    openEnd: (bytes) => openEnd(bytes, form),
  };
}

function contains(text: Uint8Array, form: string, compared: number): boolean {
  const length = Math.min(compared, form.length);
  const first = form.length - length;
  /** How far to go on behind each byte. */
  const skips = new Uint8Array(128).fill(length);
  for (let i = 0; i < length - 1; i++) skips[form.charCodeAt(first + i) & 127] = length - 1 - i;
  for (let end = length - 1; end < text.length;) {
    let left = length;
    while (left > 0 && text[end - length + left] === form.charCodeAt(first + left - 1)) left--;
    if (left === 0) return true;
    end += skips[text[end] ?? 128] ?? length;
  }
  return false;
}

function openEnd(text: Uint8Array, form: string): number {
  for (let start = Math.max(0, text.length - form.length + 1); start < text.length; start++) {
    let i = 0;
    while (start + i < text.length && text[start + i] === form.charCodeAt(i)) i++;
    if (start + i === text.length) return start;
  }
  return text.length;
}
