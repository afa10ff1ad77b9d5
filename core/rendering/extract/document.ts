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
 * Refuses a document whose work would grow beyond all bounds.
 *
 * @throws ApiError `page_too_large` with what it is about, and what to do instead
 */
export function refuseLarge(document: Whole, about: string, instead: string): void {
  const refusal = (what: string): ApiError =>
    new ApiError("page_too_large", { message: `${about}The page has ${what}; ${instead}` });
  const all = [...document.querySelectorAll("*")];
  if (all.length > ELEMENTS) throw refusal(`more than ${ELEMENTS} elements`);
  const depths = new Map<DomPart, number>();
  for (const element of all) {
    const { parentElement } = element;
    const depth = parentElement === null ? 1 : (depths.get(parentElement) ?? 0) + 1;
    if (depth > DEPTH) throw refusal(`elements more than ${DEPTH} deep`);
    depths.set(element, depth);
  }
}
