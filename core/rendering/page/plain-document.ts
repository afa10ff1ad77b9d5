import type { Job } from "../job/job.ts";
import { readHtml } from "../markdown/html-events.ts";

// A plain document can do nothing but be shown: it runs no script, asks for no file, and sets nothing of the page that outlives its
// elements. So nothing of it can stay behind, and nothing there can be read by it. Whatever is not surely plain is not.

/** Characters that are looked at: a few milliseconds of work. */
const LOOKED_AT = 131_072;

const elements = new Set(
  (
    "html head title meta style body article section nav aside header footer main h1 h2 h3 h4 h5 h6 hgroup p div span br hr wbr " +
    "pre blockquote ol ul li dl dt dd menu figure figcaption a abbr address b bdi bdo cite code data dfn del ins em i kbd mark " +
    "q rp rt ruby s samp small strong sub sup time u var center font tt big strike table caption colgroup col thead tbody " +
    "tfoot tr td th label details summary"
  ).split(" "),
);

/** Names of `meta` that a browser does not act upon. Others, such as `color-scheme`, hold for the documents that follow in the same page, too. */
const metaName =
  /^(?:application-name|author|copyright|creator|date|description|format-detection|generator|keywords|language|publisher|robots|title|viewport|(?:dc|dcterms|og|twitter)[.:][\w.:-]+)$/iu;

/** Attributes that set something of the page: the colours of links, and what has the focus. */
const pageAttributes = new Set(["alink", "autofocus", "link", "text", "vlink"]);

/** Fields of a body that change nothing outside of the document, or that are set again for each. */
const fields = new Set([
  "html",
  "pdfOptions",
  "screenshotOptions",
  "viewport",
  "gotoOptions",
  "goToOptions",
  "waitForSelector",
  "waitForTimeout",
  "actionTimeout",
  "emulateMediaType",
  "bestAttempt",
  "scrollPage",
  "selector",
  "elements",
  "visibleLinksOnly",
  "excludeExternalLinks",
]);

/** Whether a job is to show a document that can do nothing else. */
export function isPlainJob({ body, page = null, upload, url }: Job): boolean {
  const { html, viewport = { width: 0, height: 0 } } = body;
  if (url !== null || page !== null || upload !== undefined || html === undefined) return false;
  if (viewport.hasTouch === true || viewport.isMobile === true) return false;
  return Object.keys(body).every((name) => fields.has(name)) && isPlainDocument(html);
}

/**
 * Markup that browsers and our reader take for different things: declarations but for comments and the doctype (CDATA is a comment
 * to a browser, which ends at its first ">"), instructions, and closing tags with attributes.
 */
const oddMarkup = /<(?:\?|!(?!--|doctype[\t\n\f\r ])|\/(?![a-z][a-z\d]*[\t\n\f\r ]*>))/iu;

/** Whether a document can do nothing but be shown. */
export function isPlainDocument(html: string): boolean {
  if (html.length > LOOKED_AT || oddMarkup.test(html)) return false;
  let isPlain = true;
  /** The text of the open element if it is a `style`, null else: it may come in pieces. */
  let style: string | null = null;
  const reading = readHtml(html, {
    open(name, attributes) {
      isPlain &&=
        elements.has(name) &&
        Object.entries(attributes).every(isPlainAttribute) &&
        isPlainForPage(name, attributes);
      style = name === "style" ? "" : null;
    },
    close() {
      isPlain &&= style === null || isPlainStyle(style);
      style = null;
    },
    text(text) {
      if (style !== null) style += text;
    },
    tooDeep() {
      isPlain = false;
    },
  });
  // Its pauses are for documents that are longer.
  for (const _ of reading) if (!isPlain) break;
  return isPlain;
}

/** Style sheets with a title are sets, one of which the page prefers from then on. */
function isPlainForPage(element: string, attributes: Readonly<Record<string, string>>): boolean {
  if (element === "style") return !("title" in attributes);
  return element !== "meta" || !("name" in attributes) || metaName.test(attributes["name"] ?? "");
}

function isPlainAttribute([name, value]: [name: string, value: string]): boolean {
  if (name === "style") return isPlainStyle(value);
  if (pageAttributes.has(name)) return false;
  return !/^on|src|background|http-equiv|shadow/u.test(name);
}

/**
 * Style that names no file, does not look whether scripts run, and leaves the page where it is: how far one is scrolled outlives its
 * document. An escape could spell anything.
 */
function isPlainStyle(css: string): boolean {
  return !/\\|url|import|image|src|scripting|element|scroll-/iu.test(css);
}
