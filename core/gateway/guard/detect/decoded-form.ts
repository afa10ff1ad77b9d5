import { fromBase64 } from "../../../crypto/encoding.ts";
import { visibleForm } from "./plain-form.ts";

/** Characters of a base64 token that is decoded: shorter ones hold nothing to find, longer ones are files. */
const [LEAST, MOST] = [16, 16_384];

/**
 * Runs of the two alphabets (RFC 4648, sections 4 and 5). A line of at least 60 characters goes on in the next one, as
 * encoders wrap it (RFC 2045, section 6.8). Each repetition has a bound: without one it outgrows the stack of the expression
 * in a run of millions.
 */
const tokens = /[\w+/-]{16,16384}(?:(?<=[\w+/-]{60})\n[\w+/-]{1,100}){0,200}/g;

/** The share of a decoded token that may be other than text: a wrapped one can run into the word behind it. */
const NOISE = 1 / 8;
const noise = /[^\n\t\r\P{C}]|\uFFFD/gu;

/** Stands between decoded tokens: no pattern goes over it. */
const BETWEEN = " ; ";

const decoder = new TextDecoder();

/**
 * Returns the texts that stand in base64 within a text of plain form, or "" without any. They are decoded once, and are
 * never longer together than the text.
 */
export function decodedTokens(plain: string): string {
  const found: string[] = [];
  let longEnd = -1;
  for (const { 0: run, index } of plain.matchAll(tokens)) {
    const end = index + run.length;
    // The rest of a run that was too long is no token, either.
    if (run.length >= MOST || index === longEnd) longEnd = end;
    else found.push(...textsIn(run));
  }
  return found.join(BETWEEN);
}

/** A path has its token between slashes. */
function textsIn(run: string): string[] {
  const whole = textIn(run.replaceAll("\n", ""));
  if (whole !== null) return [whole];
  return run.includes("/") ? run.split(/[/\n]/).flatMap((part) => textIn(part) ?? []) : [];
}

/** Returns the text of a token, or null when it holds anything else. */
function textIn(token: string): string | null {
  if (token.length < LEAST) return null;
  const standard = token.replaceAll("-", "+").replaceAll("_", "/");
  const whole = standard.length % 4 === 1 ? standard.slice(0, -1) : standard;
  const bytes = fromBase64(whole + "=".repeat((4 - (whole.length % 4)) % 4));
  if (bytes === null) return null;
  const text = decoder.decode(bytes);
  const others = text.match(noise)?.length ?? 0;
  if (others > text.length * NOISE) return null;
  // Ligatures become longer.
  return visibleForm(text).slice(0, token.length - BETWEEN.length);
}

/** Escapes of URLs (RFC 3986, section 2.1), blanks of forms between digits, and entities of HTML. One pass: what comes out is not decoded again. */
const escapes =
  /(?:%[\dA-Fa-f]{2})+|(?<=\d)\+(?=\d)|&(?:#(\d{1,7})|#[xX]([\dA-Fa-f]{1,6})|([A-Za-z]{2,8}));/g;

/** Named entities that can stand in numbers, addresses and keys (HTML, section 13.5). */
const entities: Readonly<Record<string, string>> = {
  nbsp: " ",
  ensp: " ",
  emsp: " ",
  thinsp: " ",
  Tab: " ",
  NewLine: "\n",
  shy: "",
  zwj: "",
  zwnj: "",
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  commat: "@",
  period: ".",
  comma: ",",
  colon: ":",
  plus: "+",
  sol: "/",
  ast: "*",
  vert: "|",
  lowbar: "_",
  equals: "=",
  hyphen: "-",
  dash: "-",
  ndash: "-",
  mdash: "-",
  minus: "-",
};

/** Returns a text of plain form with its escapes of URLs and HTML decoded once; the text itself where it has none. */
export function unescapedForm(plain: string): string {
  if (!/[%&+]/.test(plain)) return plain;
  const decoded = plain.replaceAll(
    escapes,
    (escape, decimal?: string, hex?: string, name?: string) => {
      if (escape === "+") return " ";
      if (escape.startsWith("%")) return percentDecoded(escape);
      if (name !== undefined)
        return Object.hasOwn(entities, name) ? (entities[name] ?? "") : escape;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code <= 0x10_ff_ff ? String.fromCodePoint(code) : escape;
    },
  );
  return decoded === plain ? plain : visibleForm(decoded);
}

function percentDecoded(escapeRun: string): string {
  const codes = escapeRun.slice(1).split("%");
  return decoder.decode(Uint8Array.from(codes, (code) => Number.parseInt(code, 16)));
}
