import { Readability } from "@mozilla/readability";
import {
  parseBounded,
  parseDocument,
  type DomPart,
  type ParsedDocument,
  type Whole,
} from "./document.ts";
import { FURNITURE, mainRegion, textSize } from "./main-region.ts";
import { pageKindOf, type PageKind } from "./page-kind.ts";

/** Elements that an author marks as the content; the first selector that matches exactly once counts. */
const marked = ["[itemprop~=articleBody]", "article"];

/** Characters that a marked part needs to be taken for the content. */
const ENOUGH = 250;

/** The part of a text that stands in links: above it, the text is a list of other pages. */
const MOSTLY_LINKS = 0.4;
const ONLY_LINKS = 0.8;

/** Elements of the head that describe the document. */
const FACTS = "title,base,meta[name=description],meta[property^='og:']";

/** The least share of the text of the main region that Readability must find: of a text it finds all, or it has missed it. */
const LEAST: Readonly<Record<PageKind, number>> = {
  article: 0.15,
  forum: 0.5,
  product: 0.5,
  other: 0.3,
};

/**
 * Returns the main content of a document, as a document. Of a page that is one text, an author's marks are trusted before
 * Readability's guess. Of any other page Readability looks at the main region alone. Where it finds a small part of that, such as one
 * post of a thread or one row of a list, the content is the region. Nothing here depends on a language.
 *
 * @throws ApiError `page_too_large`
 */
export function mainContentOf(html: string): string {
  const document = parseBounded(html, "extract: ", "leave extract out");
  const said = pageKindOf(document);
  const kind = said === "other" && markedContent(document) !== null ? "article" : said;
  const facts = Array.from(document.querySelectorAll(FACTS), ({ outerHTML }: DomPart) => outerHTML);
  // An article is read in both ways, and each takes its document apart.
  const whole = kind === "article" ? parseDocument(html) : document;
  for (const one of new Set([document, whole])) showWithoutScripts(one);
  const region = parseDocument(`<body>${mainRegion(whole, kind)}</body>`);
  const size = textSize(region.body);
  if (kind === "article") keepMarked(document);
  const found = readable(kind === "article" ? document : parseDocument(region.body.innerHTML));
  const content = textSize(found.body) < size * LEAST[kind] ? region : found;
  if (textSize(content.body) === 0) return html;
  return `<!doctype html><html><head>${facts.join("")}</head><body>${content.body.innerHTML}</body></html>`;
}

/** Characters that a page without scripts has at least when it is written for readers without scripts, too. */
const SHELL = 300;

/** Puts what `noscript` holds in the place of a page that has nothing else, as Discourse writes its threads. */
function showWithoutScripts(document: ParsedDocument): void {
  const parts = [...document.querySelectorAll("body noscript")];
  let size = 0;
  for (const part of parts) size += textSize(part);
  if (size <= SHELL) return;
  const html = parts.map(({ innerHTML }) => innerHTML).join("");
  const rest = [...document.querySelectorAll("body script,body style,body noscript")];
  let hidden = 0;
  for (const part of rest)
    if (part.parentElement?.closest("noscript") == null) hidden += textSize(part);
  if (textSize(document.body) - hidden < size / 2) document.body.innerHTML = html;
}

/** Leaves of a document what its author marks as the content, or else all but its furniture. */
function keepMarked(document: ParsedDocument): void {
  for (const element of document.querySelectorAll(FURNITURE)) element.remove();
  const content = markedContent(document);
  if (content !== null) document.body.innerHTML = content.outerHTML;
}

/** Returns what Readability takes for the content; empty where it finds nothing. */
function readable(document: ParsedDocument): ParsedDocument {
  // `as`: Readability asks for a browser's document, and uses of it what linkedom has.
  const read = document as unknown as ConstructorParameters<typeof Readability>[0];
  // Classes name the language of code, its lines, and the second copy of a formula.
  const found = new Readability(read, { keepClasses: true }).parse();
  const kept = parseDocument(found?.content ?? "");
  dropTeasers(kept);
  return kept;
}

function markedContent(document: Whole): DomPart | null {
  for (const selector of marked) {
    const found = [...document.querySelectorAll(selector)].filter((one) => textSize(one) > ENOUGH);
    const [only] = found;
    if (found.length === 1 && only !== undefined && linkShare(only) < MOSTLY_LINKS) return only;
  }
  return null;
}

/** Removes paragraphs, headings and lists that are only links to other pages. */
function dropTeasers(document: Whole): void {
  // A list of thousands of links would be counted for each of them.
  const lists = new Map<DomPart, number>();
  for (const element of document.querySelectorAll("p,h2,h3,h4,h5,h6,li")) {
    if (textSize(element) === 0 || linkShare(element) <= ONLY_LINKS) continue;
    if (element.querySelector("img") !== null || element.closest("table") !== null) continue;
    const list = element.localName === "li" ? element.parentElement : null;
    // Among items that say more it is one of them.
    if (list !== null && shareIn(lists, list) <= ONLY_LINKS) continue;
    element.remove();
  }
}

function shareIn(shares: Map<DomPart, number>, list: DomPart): number {
  const share = shares.get(list) ?? linkShare(list);
  shares.set(list, share);
  return share;
}

function linkShare(element: DomPart): number {
  const size = textSize(element);
  if (size === 0) return 0;
  let linked = 0;
  for (const link of element.querySelectorAll("a")) linked += textSize(link);
  return linked / size;
}
