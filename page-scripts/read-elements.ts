import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import {
  attributesOf,
  baseOf,
  boxOf,
  findAll,
  innerHtmlOf,
  innerTextOf,
  textOf,
} from "./safe-members.ts";

export const readLinks: PageFunctions["readLinks"] = (visibleOnly, sameHostOnly, bounds) => {
  const all = findAll(document, "a[href]") as NodeListOf<HTMLAnchorElement | SVGAElement>;
  const base = baseOf(document);
  if (all.length > bounds.most) return all.length;
  const links: string[] = [];
  let length = 0;
  for (const link of all) {
    const href = typeof link.href === "string" ? link.href : link.href.baseVal;
    if (!/^https?:/i.test(href)) continue;
    if (sameHostOnly && new URL(href, base).hostname !== location.hostname) continue;
    if (visibleOnly && !isVisible(link)) continue;
    length += href.length;
    if (length > bounds.limit) return { length };
    links.push(href);
  }
  return JSON.stringify(links);
};

function isVisible(link: Element): boolean {
  const { width, height } = boxOf(link);
  return width !== 0 && height !== 0 && getComputedStyle(link).visibility !== "hidden";
}

export const scrapeElements: PageFunctions["scrapeElements"] = (selectors, { limit, most }) => {
  const found = selectors.map((selector) => ({ selector, elements: findAll(document, selector) }));
  const count = found.reduce((sum, { elements }) => sum + elements.length, 0);
  if (count > most) return count;
  let length = 0;
  const parts: string[] = [];
  for (const { selector, elements } of found) {
    const results: string[] = [];
    for (const element of elements) {
      const result = JSON.stringify(describe(element));
      length += result.length;
      if (length > limit) return { length };
      results.push(result);
    }
    parts.push(`{"selector":${JSON.stringify(selector)},"results":[${results.join()}]}`);
  }
  return `[${parts.join()}]`;
};

function describe(element: Element): object {
  const { height, width, top, left } = boxOf(element);
  return {
    text: (element instanceof HTMLElement ? innerTextOf(element) : textOf(element)) ?? "",
    html: innerHtmlOf(element),
    attributes: [...attributesOf(element)].map(({ name, value }) => ({ name, value })),
    height,
    width,
    top: top + scrollY,
    left: left + scrollX,
  };
}
