import { findAll, rootOf } from "./safe-members.ts";
import { escape } from "./visible-tags.ts";

/** The element in which Chromium's viewer of XML keeps the document. */
const VIEWED = "div#webkit-xml-viewer-source-xml > *";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Returns the source of an XML document that is not a page (a feed, a sitemap, a drawing), as browsers show plain text; null for
 * pages. Chromium shows a viewer in its place.
 */
export function xmlSource(): string | null {
  if (!/[/+]xml$/.test(document.contentType)) return null;
  const root = rootOf(document);
  const [viewed] = findAll(document, VIEWED);
  const source = viewed ?? (root?.namespaceURI === SVG ? root : undefined);
  if (source === undefined) return null;
  const text = new XMLSerializer().serializeToString(source);
  return `<html><head></head><body><pre>\n${escape(text)}</pre></body></html>`;
}
