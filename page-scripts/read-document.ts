import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import {
  baseOf,
  bodyOf,
  createWalker,
  findAll,
  fontsOf,
  htmlOf,
  remove,
  rootOf,
  textOf,
  titleOf,
  urlOf,
} from "./safe-members.ts";
import { FOREIGN_LETTER } from "./missing-glyphs.ts";
import { xmlSource } from "./xml-source.ts";

export const readDocument: PageFunctions["readDocument"] = (include, exclude) => {
  const source = xmlSource();
  if (source !== null) return source;
  const doctype =
    document.doctype instanceof DocumentType
      ? new XMLSerializer().serializeToString(document.doctype)
      : "";
  const root = rootOf(document);
  const html = root === null ? "" : htmlOf(root);
  if (include.length + exclude.length === 0) return doctype + html;
  // A copy runs nothing.
  const copy = new DOMParser().parseFromString(html, "text/html");
  const whole = rootOf(copy);
  for (const selector of exclude)
    for (const element of findAll(copy, selector)) if (element !== whole) remove(element);
  keepParts(copy, include);
  return doctype + (whole === null ? "" : htmlOf(whole));
};

/** Leaves of a document's body only what selectors find. */
function keepParts(copy: Document, include: readonly string[]): void {
  const body = bodyOf(copy);
  const isWhole =
    include.length === 0 ||
    include.some((selector) => body?.matches(selector) || rootOf(copy)?.matches(selector));
  if (isWhole || body === null) return;
  const kept = new DocumentFragment();
  const wanted = new Set(include.flatMap((selector) => [...body.querySelectorAll(selector)]));
  for (const element of body.querySelectorAll("*"))
    if (wanted.has(element) && body.contains(element)) kept.append(element);
  body.replaceChildren(kept);
}

export const readFacts: PageFunctions["readFacts"] = () => {
  const body = bodyOf(document);
  const text = body === null ? "" : (textOf(body) ?? "").slice(0, 100_000);
  return {
    title: titleOf(document).slice(0, 10_000),
    base: baseOf(document),
    url: urlOf(document),
    empty: isEmpty(rootOf(document)),
    drawable: fontsOf(document).status === "loaded" && !FOREIGN_LETTER.test(text),
  };
};

/** Whether a document has nothing but an empty head and an empty body. */
function isEmpty(root: Element | null): boolean {
  if (root === null) return true;
  const isBare = (node: Node | null, name: string): boolean =>
    node instanceof Element && node.nodeName === name && node.attributes.length === 0;
  const isEmptyPart = (node: Node | null, name: string): boolean =>
    isBare(node, name) && node?.hasChildNodes() === false;
  return (
    isBare(root, "HTML") &&
    root.childNodes.length === 2 &&
    isEmptyPart(root.firstChild, "HEAD") &&
    isEmptyPart(root.lastChild, "BODY")
  );
}

export const countNodes: PageFunctions["countNodes"] = (most) => {
  const nodes = createWalker(document, document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  let count = 0;
  while (count < most && nodes.nextNode() !== null) count += 1;
  return count;
};
