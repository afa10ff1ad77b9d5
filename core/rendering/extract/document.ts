import { Parser } from "htmlparser2";
import { DOMParser } from "linkedom/worker";
import { ApiError } from "../../http/api-error.ts";

/** The members of an element that are read: not every runtime has the types of a DOM. */
export interface DomPart {
  readonly localName: string;
  readonly textContent: string | null;
  readonly innerHTML: string;
  readonly outerHTML: string;
  readonly parentElement: DomPart | null;
  querySelector(selector: string): DomPart | null;
  querySelectorAll(selector: string): Iterable<DomPart>;
  closest(selector: string): DomPart | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  remove(): void;
}

/** A document of linkedom, as far as it is used. */
export interface ParsedDocument {
  readonly body: Omit<DomPart, "innerHTML"> & { innerHTML: string };
  querySelector(selector: string): DomPart | null;
  querySelectorAll(selector: string): Iterable<DomPart>;
}

/** The document or element in which parts are looked for. */
export type Whole = Pick<DomPart, "querySelectorAll">;

/** Elements of a document, and how deep they may nest: the work grows with their product. */
const ELEMENTS = 10_000;
const DEPTH = 100;

/** Parses a document. Unlike browsers, linkedom has no head and body but for those whose tags are written. */
export function parseDocument(html: string): ParsedDocument {
  const isWritten = ["html", "head", "body"].every((name) => openingTag(name).test(html));
  return new DOMParser().parseFromString(isWritten ? html : withOwnTags(html), "text/html");
}

/** What may stand before the first element, and the elements of a head (HTML, "the before head insertion mode"). */
const BLANK = /(?:\s+|<!doctype[^>]*>|<!--[\s\S]*?-->)*/iuy;
const HEAD_PART =
  /\s+|<!--[\s\S]*?-->|<(title|style|script)\b[\s\S]*?<\/\1\s*>|<(?:meta|link|base)\b[^>]*>/iuy;
const HTML_TAG = /<html(?:\s[^>]*)?>/iuy;
const HEAD_TAG = /<head(?:\s[^>]*)?>/iuy;
const HEAD_END = /<\/head\s*>/iuy;

/** Writes the tags of html, head and body that an author may leave out. */
function withOwnTags(html: string): string {
  let at = 0;
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const [found = ""] = pattern.exec(html) ?? [];
    at += found.length;
    return found;
  };
  take(BLANK);
  const root = take(HTML_TAG) || "<html>";
  take(BLANK);
  take(HEAD_TAG);
  const start = at;
  while (take(HEAD_PART) !== "");
  const head = html.slice(start, at);
  take(HEAD_END);
  take(BLANK);
  const rest = html.slice(at);
  const body = /^<body[\s>]/iu.test(rest) ? rest : `<body>${rest}</body>`;
  return `<!doctype html>${root}<head>${head}</head>${body}</html>`;
}

function openingTag(name: string): RegExp {
  return new RegExp(`<${name}[\\s>]`, "iu");
}

/**
 * Parses a document, if its work does not grow beyond all bounds.
 *
 * @throws ApiError `page_too_large` with what it is about, and what to do instead
 */
export function parseBounded(html: string, about: string, instead: string): ParsedDocument {
  const refusal = (what: string): ApiError =>
    new ApiError("page_too_large", { message: `${about}The page has ${what}; ${instead}` });
  const ensure = (elements: number, depth: number): void => {
    if (elements > ELEMENTS) throw refusal(`more than ${ELEMENTS} elements`);
    if (depth > DEPTH) throw refusal(`elements more than ${DEPTH} deep`);
  };
  // Before there is a tree: its parser takes time for each level at each element.
  scan(html, ensure);
  const document = parseDocument(html);
  const all = [...document.querySelectorAll("*")];
  ensure(all.length, 0);
  const depths = new Map<DomPart, number>();
  for (const element of all) {
    const { parentElement } = element;
    const depth = parentElement === null ? 1 : (depths.get(parentElement) ?? 0) + 1;
    ensure(0, depth);
    depths.set(element, depth);
  }
  return document;
}

/** Characters that are parsed before the next look at what they were. */
const STEP = 16_384;

/** Tells how many elements a text has so far, and how deep they nest. */
function scan(html: string, see: (elements: number, depth: number) => void): void {
  let elements = 0;
  let depth = 0;
  const parser = new Parser({
    onopentagname() {
      elements += 1;
      depth += 1;
      see(elements, depth);
    },
    onclosetag() {
      depth -= 1;
    },
  });
  for (let at = 0; at < html.length; at += STEP) parser.write(html.slice(at, at + STEP));
  parser.end();
}
