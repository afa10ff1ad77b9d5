// HTML in one form for all documents that look alike to a reader.
import { DOMParser } from "linkedom/worker";

/** The used part of a node. */
interface DomNode {
  readonly nodeType: number;
  readonly localName?: string;
  readonly textContent: string | null;
  readonly childNodes: Iterable<DomNode>;
  getAttribute?(name: string): string | null;
}

/** The marks of text; two names of one mark are the same. */
const marks: Readonly<Record<string, string>> = {
  b: "strong",
  strong: "strong",
  i: "em",
  em: "em",
  s: "del",
  strike: "del",
  del: "del",
  code: "code",
  sub: "sub",
  sup: "sup",
  a: "a",
};

/** Blocks that a reader can tell from a paragraph. */
const blocks = new Set("blockquote h1 h2 h3 h4 h5 h6 li ol pre table td th tr ul".split(" "));

/** Blocks that look like a paragraph. */
const plainBlocks = new Set(
  "address article aside body center details dd div dl dt figure footer form header main nav p section summary tbody tfoot thead".split(
    " ",
  ),
);

const unmarked: ReadonlySet<string> = new Set();

/** Between paragraphs, and whatever else is no block of its own. */
const SEPARATOR = "⟨p⟩";

/** A piece of a document: text with its marks, or the edge of a block, which has none. */
interface Piece {
  readonly text: string;
  readonly marks: string | null;
}

/**
 * A document without what no reader notices: white space outside of preformatted text, the synonyms and the order of marks,
 * a mark inside its like, paragraphs in the items of a list, a table around a single cell, what shows nothing, and the spellings of one address.
 */
export function canonical(html: string): string {
  const pieces: Piece[] = [];
  for (const node of bodyOf(html)) collect(node, new Set(), pieces);
  return joined(pieces);
}

/** The words of a document in order. */
export function textOf(html: string): string {
  return canonical(html)
    .replaceAll(/⟨(?:\/?(?:a|code|del|em|strong|sub|sup)\b[^⟩]*|\/)⟩/gu, "")
    .replaceAll(/⟨[^⟩]*⟩/gu, " ")
    .replaceAll(/[␠␤␉\s]+/gu, " ")
    .trim();
}

function bodyOf(html: string): Iterable<DomNode> {
  const page = `<!doctype html><html><head></head><body>${html}</body></html>`;
  return new DOMParser().parseFromString(page, "text/html").body.childNodes;
}

function collect(node: DomNode, place: ReadonlySet<string>, pieces: Piece[]): void {
  if (node.nodeType === 3) return addText(node.textContent ?? "", place, pieces);
  if (node.nodeType !== 1) return;
  const name = node.localName ?? "";
  if (name === "script" || name === "style") return;
  const value = (attribute: string): string => node.getAttribute?.(attribute) ?? "";
  if (name === "img")
    return add(
      `⟨img ${address(value("src"))} ${flat(value("alt"))} ${flat(value("title"))}⟩`,
      place,
      pieces,
    );
  if (name === "br" || name === "hr") return void pieces.push({ text: `⟨${name}⟩`, marks: null });
  const mark = marks[name];
  if (mark !== undefined) {
    const told = mark === "a" ? `a ${address(value("href"))} ${flat(value("title"))}` : mark;
    const inside =
      mark === "a" && node.getAttribute?.("href") === null ? place : new Set([...place, told]);
    return within(node, inside, pieces);
  }
  if (name === "table" && cellsOf(node) <= 1) return paragraphOf(node, place, pieces);
  if (plainBlocks.has(name)) return paragraphOf(node, place, pieces);
  if (!blocks.has(name)) return within(node, place, pieces);
  if (name === "pre") {
    const text = preformatted(node.textContent ?? "");
    return void pieces.push({ text: `⟨pre${languageIn(node)}⟩${text}⟨/pre⟩`, marks: null });
  }
  const about = name === "ol" ? ` ${value("start") || "1"}` : "";
  pieces.push({ text: `⟨${name}${about}⟩`, marks: null });
  within(node, place, pieces);
  pieces.push({ text: `⟨/${name}⟩`, marks: null });
}

function paragraphOf(node: DomNode, place: ReadonlySet<string>, pieces: Piece[]): void {
  pieces.push({ text: SEPARATOR, marks: null });
  for (const child of node.childNodes) {
    if (["tr", "td", "th"].includes(child.localName ?? "")) paragraphOf(child, place, pieces);
    else collect(child, place, pieces);
  }
  pieces.push({ text: SEPARATOR, marks: null });
}

function cellsOf(node: DomNode): number {
  let count = 0;
  for (const child of node.childNodes)
    count += child.localName === "td" || child.localName === "th" ? 1 : cellsOf(child);
  return count;
}

function within(node: DomNode, place: ReadonlySet<string>, pieces: Piece[]): void {
  for (const child of node.childNodes) collect(child, place, pieces);
}

function add(text: string, place: ReadonlySet<string>, pieces: Piece[]): void {
  pieces.push({ text, marks: [...place].toSorted().join(" ") });
}

/** White space bears no marks: where exactly they begin and end beside it, nobody sees. */
function addText(text: string, place: ReadonlySet<string>, pieces: Piece[]): void {
  const spaced = text.replaceAll(/[\t\n\f\r ]+/gu, " ");
  const core = spaced.replaceAll(/^ | $/gu, "");
  if (spaced.startsWith(" ")) add(" ", unmarked, pieces);
  if (core !== "") add(core, place, pieces);
  if (core !== "" && spaced.endsWith(" ")) add(" ", unmarked, pieces);
}

/** Characters of preformatted text that must outlive the tidying of white space. */
const kept: Readonly<Record<string, string>> = { " ": "␠", "\n": "␤", "\t": "␉" };

function preformatted(text: string): string {
  const body = text.replace(/^\n/u, "").trimEnd();
  return body.replaceAll(/[ \n\t]/gu, (char) => kept[char] ?? char);
}

function joined(pieces: readonly Piece[]): string {
  let text = "";
  let open = "";
  for (const [n, piece] of pieces.entries()) {
    // White space between two texts with the same marks belongs to both.
    const isGap = piece.text === " " && pieces[n + 1]?.marks === open;
    const next = isGap ? open : (piece.marks ?? "");
    if (next !== open) text += `${open === "" ? "" : "⟨/⟩"}${next === "" ? "" : `⟨${next}⟩`}`;
    open = next;
    text += piece.text;
  }
  return tidy(open === "" ? text : `${text}⟨/⟩`);
}

const EDGE = "⟨(?:p|br|hr|/?(?:blockquote|h\\d|li|ol(?: \\d+)?|pre[^⟩]*|table|td|th|tr|ul))⟩";
const rules: readonly (readonly [RegExp, string])[] = [
  [/ {2,}/gu, " "],
  [new RegExp(`(${EDGE}) `, "gu"), "$1"],
  [new RegExp(` (${EDGE})`, "gu"), "$1"],
  [new RegExp(`⟨p⟩(?=${EDGE}|$)`, "gu"), ""],
  [new RegExp(`((?!⟨p⟩|⟨br⟩)${EDGE}|^)⟨p⟩`, "gu"), "$1"],
  // What shows nothing.
  [/⟨(?:a[^⟩]*|code|del|em|strong|sub|sup)⟩ ?⟨\/⟩/gu, ""],
  [/⟨(?<name>blockquote|h\d|pre)[^⟩]*⟩⟨\/\k<name>⟩/gu, SEPARATOR],
];

function tidy(text: string): string {
  let [before, after] = ["", text.trim()];
  while (before !== after) {
    before = after;
    for (const [pattern, replacement] of rules) after = after.replaceAll(pattern, replacement);
    after = after.trim();
  }
  return after;
}

function languageIn(pre: DomNode): string {
  for (const child of pre.childNodes) {
    const language = /language-(?<name>\S+)/u.exec(child.getAttribute?.("class") ?? "");
    if (language !== null) return ` ${language.groups?.["name"]?.toLowerCase()}`;
  }
  return "";
}

function flat(text: string): string {
  return text.replaceAll(/\s+/gu, " ").trim();
}

function address(text: string): string {
  const whole = URL.parse(text.trim())?.href ?? text.trim();
  try {
    return decodeURI(whole).replaceAll(/%(?:28|29|3C|3E|5C|20)/giu, decodeURIComponent);
  } catch {
    return whole;
  }
}
