import { type DomPart, parseBounded } from "../extract/document.ts";
import { isLeftOut } from "../markdown/left-out.ts";
import { absolute } from "../markdown/urls.ts";

/**
 * The body of a document as Turndown is given it: what a reader does not see is gone, and addresses are absolute.
 *
 * @throws ApiError `page_too_large`
 */
export function readableBody(html: string, from: string | null): DomPart {
  const document = parseBounded(html, "", "name parts of it with includeTags");
  const base = baseOf(document.querySelector("base[href]"), from);
  for (const element of document.querySelectorAll("*")) {
    const one: DomPart = element;
    const { localName } = one;
    if (localName !== "html" && isLeftOut(localName, attributesOf(one))) one.remove();
    else
      for (const name of ["href", "src"]) {
        const address = one.getAttribute(name);
        if (address !== null) one.setAttribute(name, absolute(address.trim(), base));
      }
  }
  return document.body;
}

function baseOf(element: DomPart | null, from: string | null): string | null {
  const base = absolute(element?.getAttribute("href") ?? "", from);
  return /^https?:/iu.test(base) ? base : from;
}

function attributesOf(element: DomPart): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ["hidden", "style", "class", "open", "shadowrootmode"]) {
    const value = element.getAttribute(name);
    if (value !== null) found[name] = value;
  }
  return found;
}
