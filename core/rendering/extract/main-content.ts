import { Readability } from "@mozilla/readability";
import { parseDocument, type DomPart, refuseLarge, type Whole } from "./document.ts";

/** Elements that are never part of the content, as their author marks them. */
const FURNITURE =
  "nav,footer,dialog,aside,[role=navigation],[role=contentinfo],[role=complementary]";

/** Elements that an author marks as the content; the first selector that matches exactly once counts. */
const marked = ["[itemprop~=articleBody]", "article"];

/** Characters that a marked part needs to be taken for the content. */
const ENOUGH = 250;

/** The part of a text that stands in links: above it, the text is a list of other pages. */
const MOSTLY_LINKS = 0.4;
const ONLY_LINKS = 0.8;

/** Elements of the head that describe the document. */
const FACTS = "title,base,meta[name=description],meta[property^='og:']";

/**
 * Returns the main content of a document, as a document. An author's marks are trusted before Readability's guess; nothing
 * here depends on a language.
 * @throws ApiError `page_too_large`
 */
export function mainContentOf(html: string): string {
  const document = parseDocument(html);
  refuseLarge(document, "extract: ", "leave extract out");
  const facts = Array.from(document.querySelectorAll(FACTS), ({ outerHTML }: DomPart) => outerHTML);
  for (const element of document.querySelectorAll(FURNITURE)) element.remove();
  const content = markedContent(document);
  if (content !== null) document.body.innerHTML = content.outerHTML;
  // `as`: Readability asks for a browser's document, and uses of it what linkedom has.
  const read = document as unknown as ConstructorParameters<typeof Readability>[0];
  const found = new Readability(read).parse()?.content ?? "";
  if (found.trim() === "") return html;
  const kept = parseDocument(found);
  dropTeasers(kept);
  return `<!doctype html><html><head>${facts.join("")}</head><body>${kept.body.innerHTML}</body></html>`;
}

function markedContent(document: Whole): DomPart | null {
  for (const selector of marked) {
    const found = [...document.querySelectorAll(selector)].filter((one) => sizeOf(one) > ENOUGH);
    const [only] = found;
    if (found.length === 1 && only !== undefined && linkShare(only) < MOSTLY_LINKS) return only;
  }
  return null;
}

/** Removes paragraphs, headings and lists that are only links to other pages. */
function dropTeasers(document: Whole): void {
  for (const element of document.querySelectorAll("p,h2,h3,h4,h5,h6,li")) {
    if (sizeOf(element) === 0 || linkShare(element) <= ONLY_LINKS) continue;
    if (element.querySelector("img") !== null || element.closest("table") !== null) continue;
    const list = element.localName === "li" ? element.parentElement : null;
    // Among items that say more it is one of them.
    if (list !== null && linkShare(list) <= ONLY_LINKS) continue;
    element.remove();
  }
}

function sizeOf({ textContent }: Pick<DomPart, "textContent">): number {
  return (textContent ?? "").replaceAll(/\s+/gu, " ").trim().length;
}

function linkShare(element: DomPart): number {
  const size = sizeOf(element);
  if (size === 0) return 0;
  let linked = 0;
  for (const link of element.querySelectorAll("a")) linked += sizeOf(link);
  return linked / size;
}
