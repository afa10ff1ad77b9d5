import type { DomPart, ParsedDocument } from "./document.ts";
import type { PageKind } from "./page-kind.ts";

/** The parts of a page that are not its content whatever the page is: by their element or role. */
export const FURNITURE =
  "nav,footer,dialog,aside,[role=navigation],[role=contentinfo],[role=complementary]";

/** Beside them: the head of the page, what readers work with, and what they do not see. */
const TOOLS =
  "[role=banner],[role=search],[role=dialog],[role=alertdialog],[role=menu],[role=menubar],[role=toolbar]," +
  "[hidden],.slick-cloned,.swiper-slide-duplicate,button:not([aria-expanded]),select,textarea,input,label,script,style,template,svg,noscript,iframe";

/** Elements that an author marks as the main part of a page. */
const MAIN = "main,[role=main],#main,#content,#main-content,#maincontent,#bodyContent";

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

/**
 * Words in classes and ids by which generators and authors name what goes around the content, whatever the language of the
 * page is: ways to other pages, what sells them, and what asks the reader for something.
 */
const around = wordsOf(
  "nav navbar navigation menu megamenu breadcrumb breadcrumbs crumbs sidebar masthead topbar footer skip skiplink pagination " +
    "pager paging toc share sharing sharebar social socials related recommend recommended recommendation recommendations " +
    "upsell upsells crosssell newsletter subscribe subscription signup signin login register cookie cookies consent gdpr " +
    "onetrust advert adverts advertisement advertisements ad ads adsbygoogle sponsor sponsored promo promotions popup modal " +
    "overlay lightbox toast tooltip drawer offcanvas minicart toolbar filter filters facet facets sorting refinement " +
    "refinements visuallyhidden",
);

/** The same beside a post of a thread: its author's figures, its votes and buttons, and other threads. */
const aroundPosts = wordsOf(
  "extras banner flair badges reputation profile postprofile pane signature reactions react reacts votecell voting votes " +
    "buttons tools controls notice notices quickreply editor struct similar suggested meta stats",
);

/** The same around a product: the opinions of others, questions, and other offers. */
const aroundProduct = wordsOf("bv ugc questions qa");

const extra: Readonly<Partial<Record<PageKind, ReadonlySet<string>>>> = {
  forum: aroundPosts,
  product: aroundProduct,
};

/** A word behind one of these tells how the page is laid out. */
const layout = wordsOf("has with no without is");

/** Characters of the text of an element, white space as one each. */
export function textSize({ textContent }: Pick<DomPart, "textContent">): number {
  return (textContent ?? "").replaceAll(/\s+/gu, " ").trim().length;
}

/** A part of at least this share of the region is the content, whatever its name is. */
const MOST = 0.6;

/** A region keeps at least this share of its text: an author names things otherwise where it would not. */
const LEAST = 0.2;

/** Takes away what goes around the content, and returns the main part of what is left as HTML. */
export function mainRegion(document: ParsedDocument, kind: PageKind): string {
  for (const element of document.querySelectorAll(`${FURNITURE},${TOOLS}`)) element.remove();
  for (const header of document.querySelectorAll("header"))
    if (header.closest("main,article,section") === null) header.remove();
  const { body } = document;
  const whole = textSize(body);
  const parts = [...document.querySelectorAll(MAIN)].filter(
    (part) => part.parentElement?.closest(MAIN) == null,
  );
  let marked = 0;
  for (const part of parts) marked += textSize(part);
  const isMarked = marked > whole / 3;
  const before = isMarked ? htmlOf(parts) : body.innerHTML;
  let left = 0;
  for (const part of isMarked ? parts : [body]) left += prune(part, kind);
  const isTooMuch = left < (isMarked ? marked : whole) * LEAST;
  if (isTooMuch) return before;
  return isMarked ? htmlOf(parts) : body.innerHTML;
}

function htmlOf(parts: readonly DomPart[]): string {
  return parts.map(({ outerHTML }) => outerHTML).join("");
}

/** Removes the parts of a region that name themselves something else; returns the characters that are left. */
function prune(region: DomPart, kind: PageKind): number {
  const size = textSize(region);
  for (const element of region.querySelectorAll("[class],[id]"))
    if (isNamedAround(element, kind) && textSize(element) < size * MOST) element.remove();
  return textSize(region);
}

function isNamedAround(element: DomPart, kind: PageKind): boolean {
  const name = `${element.getAttribute("class") ?? ""} ${element.getAttribute("id") ?? ""}`;
  // A word ends where a letter is a capital, too: `ipsComment_meta`.
  const words = name
    .slice(0, 500)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/gu, "-")
    .toLowerCase();
  let last = "";
  for (const word of words.split(/[^a-z]+/u)) {
    const isAround = around.has(word) || extra[kind]?.has(word) === true;
    if (isAround && !layout.has(last)) return true;
    last = word;
  }
  return false;
}
