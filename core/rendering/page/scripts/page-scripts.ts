/**
 * Functions that run in the page, as source text: they are never part of our own program, and a bundler that
 * rewrites functions cannot break them.
 */

import { safeMembers } from "./safe-members.ts";

/** A part of a text that cuts no pair of surrogates. */
const cutText = `(text, at, part) => {
  const end = at + part;
  const isInPair = end < text.length && /^[\\ud800-\\udbff]$/.test(text[end - 1]);
  return text.slice(at, isInPair ? end - 1 : end);
}`;

/**
 * Keeps the text that a function makes, for {@link restOfText}, and returns the beginning of it. The function's last argument
 * bounds the text; where that is too little, it returns an object with the `length`, or the number of things.
 */
export const beginText = (source: string): string => `function (limit, part, most, ...args) {
  const made = (${source})(...args, { limit, most });
  if (typeof made === "number") return { length: 0, first: "", mark: 0, count: made };
  const { length } = made;
  if (length > limit) return { length, first: "", mark: 0 };
  const first = made.length > part ? (${cutText})(made, 0, part) : made;
  const mark = (globalThis.causeyText?.mark ?? 0) + 1;
  globalThis.causeyText = first.length < made.length ? { mark, text: made } : undefined;
  return { length, first, mark };
}`;

/** A further part of the text that was begun; null when that is gone. */
export const restOfText: string = `function (mark, at, part) {
  const kept = globalThis.causeyText;
  if (kept?.mark !== mark) return null;
  const next = (${cutText})(kept.text, at, part);
  if (at + next.length === kept.text.length) globalThis.causeyText = undefined;
  return next;
}`;

/** The document as HTML, with its doctype; of its body the parts that selectors leave, taken from a copy that runs nothing. */
export const readDocument: string = `function (include, exclude) {
  const { bodyOf, findAll, htmlOf, remove, rootOf } = ${safeMembers};
  const doctype = document.doctype instanceof DocumentType ? new XMLSerializer().serializeToString(document.doctype) : "";
  const root = rootOf(document);
  const html = root === null ? "" : htmlOf(root);
  if (include.length + exclude.length === 0) return doctype + html;
  const copy = new DOMParser().parseFromString(html, "text/html");
  const body = bodyOf(copy);
  const whole = rootOf(copy);
  for (const selector of exclude)
    for (const element of findAll(copy, selector)) if (element !== whole) remove(element);
  const isWhole = include.length === 0 || include.some((one) => body?.matches(one) || whole.matches(one));
  if (!isWhole && body !== null) {
    const kept = new DocumentFragment();
    const wanted = new Set(include.flatMap((selector) => [...body.querySelectorAll(selector)]));
    for (const element of [...body.querySelectorAll("*")])
      if (wanted.has(element) && body.contains(element)) kept.append(element);
    body.replaceChildren(kept);
  }
  return doctype + htmlOf(whole);
}`;

/**
 * The title, the address that relative links start from, the document's own, whether there is nothing in it, and whether all
 * fonts are there and no letter is one that a font may lack.
 */
export const readFacts: string = `function () {
  const { baseOf, bodyOf, fontsOf, rootOf, textOf, titleOf, urlOf } = ${safeMembers};
  const root = rootOf(document);
  const body = bodyOf(document);
  const bare = (node, name) => node?.nodeName === name && node.attributes.length === 0;
  const empty = root === null || (bare(root, "HTML") && root.childNodes.length === 2 &&
    [[root.firstChild, "HEAD"], [root.lastChild, "BODY"]].every(([part, name]) => bare(part, name) && !part.hasChildNodes()));
  const text = body === null ? "" : textOf(body).slice(0, 100000);
  const drawable = fontsOf(document).status === "loaded" && !/[^\\0-\\u024f](?<=\\p{L}|\\p{Emoji_Presentation})/u.test(text);
  return { title: titleOf(document).slice(0, 10000), base: baseOf(document), url: urlOf(document), empty, drawable };
}`;

/** Adds a rule to the document, and returns its height in CSS pixels. A policy that refuses inline styles lets an adopted sheet pass. */
export const contentHeight: string = `function (rule) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rule);
  document.adoptedStyleSheets.push(sheet);
  const { bodyOf, boxOf, rootOf, scrollHeightOf } = ${safeMembers};
  const parts = [rootOf(document), bodyOf(document)].filter((part) => part !== null);
  return Math.ceil(Math.max(...parts.flatMap((part) => [scrollHeightOf(part), boxOf(part).bottom + scrollY])));
}`;

/** Counts elements and texts, up to \`most\`. */
export const countNodes: string = `function (most) {
  const { createWalker } = ${safeMembers};
  const nodes = createWalker(document, document, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
  let count = 0;
  while (count < most && nodes.nextNode() !== null) count += 1;
  return count;
}`;

/** Makes the layout, and has lazy pictures load if \`all\` is set; the addresses of pictures that came and cannot be shown. */
export const layOut: string = `function (all) {
  const { boxOf, findAll, imagesOf, rootOf } = ${safeMembers};
  const root = rootOf(document);
  if (root !== null) boxOf(root);
  if (all) for (const picture of findAll(document, "img[loading=lazy]")) picture.loading = "eager";
  const isBroken = ({ complete, currentSrc, naturalWidth }) => complete && naturalWidth === 0 && /^https?:/i.test(currentSrc);
  return Array.from(imagesOf(document)).filter(isBroken).slice(0, 10).map(({ currentSrc }) => currentSrc);
}`;

/** Cancels every navigation to another document from now on. */
export const stayOnPage: string = `function () {
  globalThis.navigation?.addEventListener("navigate", (event) => {
    if (event.cancelable && !event.hashChange) event.preventDefault();
  });
  addEventListener("submit", (event) => event.preventDefault(), true);
}`;

/** \`form.submit()\` stops the parser before any event: for the page's own world. */
export const neverSubmit: string = `function () {
  HTMLFormElement.prototype.submit = () => undefined;
}`;

/** Whether the first match of a selector is "absent", "hidden" or "visible". */
export const findSelector: string = `function (selector) {
  const { boxOf, find } = ${safeMembers};
  const element = find(document, selector);
  if (element === null) return "absent";
  const style = getComputedStyle(element);
  const box = boxOf(element);
  const shown = style.visibility !== "hidden" && style.visibility !== "collapse" && box.width > 0 && box.height > 0;
  return shown ? "visible" : "hidden";
}`;

/** Whether the style sheet that was added last is there. */
export const lastSheetLoaded: string = `function () {
  const { findAll } = ${safeMembers};
  return [...findAll(document, 'link[rel="stylesheet"]')].at(-1)?.sheet != null;
}`;

/** Adds a script or style element; waits until one with a URL has loaded, if it can be waited for here. */
export const addTag: string = `function (kind, tag, waits) {
  const { append, createElement, headOf, rootOf } = ${safeMembers};
  return new Promise((resolve, reject) => {
    const linked = kind === "style" && tag.url !== undefined;
    const element = createElement(document, kind === "script" ? "script" : linked ? "link" : "style");
    if (tag.id !== undefined) element.id = tag.id;
    if (kind === "script" && tag.type !== undefined) element.type = tag.type;
    if (linked) {
      element.rel = "stylesheet";
      element.href = tag.url;
    } else if (tag.url !== undefined) {
      element.src = tag.url;
      element.async = false;
    } else {
      element.textContent = tag.content ?? "";
    }
    if (tag.url !== undefined) {
      element.onload = () => resolve(true);
      element.onerror = () => reject(new TypeError("Could not load " + tag.url.slice(0, 200)));
    }
    append(headOf(document) ?? rootOf(document), element);
    if (tag.url === undefined || !waits) resolve(true);
  });
}`;

/**
 * Finds characters that no font has, among the first 100,000 of the page: they are drawn like one that no font can have. If `waits`
 * is set, the fonts that the page uses are waited for; without, nothing is told while they load.
 */
export const findMissingGlyphs: string = `function (waits) {
  const { bodyOf, createElement, createWalker, fontsOf } = ${safeMembers};
  const look = () => {
    const body = bodyOf(document);
    if (fontsOf(document).status === "loading" || body === null) return [];
    const wanted = new Map();
    const nodes = createWalker(document, body, NodeFilter.SHOW_TEXT);
    let left = 100000;
    for (let node = nodes.nextNode(); node !== null && left > 0 && wanted.size < 32; node = nodes.nextNode()) {
      const text = node.data.slice(0, left);
      left -= text.length;
      for (const [char] of text.matchAll(/[^\\0-\\u024f](?<=\\p{L}|\\p{Emoji_Presentation})/gu)) {
        if (!wanted.has(char)) wanted.set(char, node.parentElement);
        if (wanted.size === 32) break;
      }
    }
    if (wanted.size === 0) return [];
    const area = Object.assign(createElement(document, "canvas"), { width: 24, height: 24 }).getContext("2d", { willReadFrequently: true });
    const draw = (char) => {
      area.clearRect(0, 0, 24, 24);
      area.fillText(char, 2, 18);
      return area.getImageData(0, 0, 24, 24).data.join();
    };
    const missing = [];
    for (const [char, element] of wanted) {
      area.font = "16px " + (element === null ? "serif" : getComputedStyle(element).fontFamily);
      if (draw(char) === draw("\\u{10fffd}")) missing.push(char);
    }
    return missing;
  };
  const lookSafely = () => {
    try {
      return look();
    } catch {
      return [];
    }
  };
  return waits ? fontsOf(document).ready.then(lookSafely) : lookSafely();
}`;

/** JSON of the addresses of all links, optionally of visible or same-site ones only; the number of all when they are too many. */
export const readLinks: string = `function (visibleOnly, sameHostOnly, { limit, most }) {
  const { baseOf, boxOf, findAll } = ${safeMembers};
  const all = findAll(document, "a[href]");
  const base = baseOf(document);
  if (all.length > most) return all.length;
  const links = [];
  let length = 0;
  for (const link of all) {
    const href = typeof link.href === "string" ? link.href : link.href.baseVal;
    if (!/^https?:/i.test(href)) continue;
    if (sameHostOnly && new URL(href, base).hostname !== location.hostname) continue;
    if (visibleOnly) {
      const box = boxOf(link);
      if (box.width === 0 || box.height === 0 || getComputedStyle(link).visibility === "hidden") continue;
    }
    length += href.length;
    if (length > limit) return { length };
    links.push(href);
  }
  return JSON.stringify(links);
}`;

/** JSON of what \`/scrape\` returns about the matches of some selectors; their number when they are too many. */
export const scrapeElements: string = `function (selectors, { limit, most }) {
  const { attributesOf, boxOf, findAll, innerHtmlOf, innerTextOf, textOf } = ${safeMembers};
  const found = selectors.map((selector) => ({ selector, elements: findAll(document, selector) }));
  const count = found.reduce((sum, { elements }) => sum + elements.length, 0);
  if (count > most) return count;
  let length = 0;
  const parts = [];
  for (const { selector, elements } of found) {
    const results = [];
    for (const element of elements) {
      const box = boxOf(element);
      const one = JSON.stringify({
        text: (element instanceof HTMLElement ? innerTextOf(element) : textOf(element)) ?? "",
        html: innerHtmlOf(element),
        attributes: [...attributesOf(element)].map(({ name, value }) => ({ name, value })),
        height: box.height,
        width: box.width,
        top: box.top + scrollY,
        left: box.left + scrollX,
      });
      length += one.length;
      if (length > limit) return { length };
      results.push(one);
    }
    parts.push('{"selector":' + JSON.stringify(selector) + ',"results":[' + results.join() + "]}");
  }
  return "[" + parts.join() + "]";
}`;

/** The place of a selector's first match in the document; null when there is none. */
export const locateElement: string = `function (selector) {
  const { boxOf, find } = ${safeMembers};
  const element = find(document, selector);
  if (element === null) return null;
  const box = boxOf(element);
  return { x: box.left + scrollX, y: box.top + scrollY, width: box.width, height: box.height };
}`;

/** Brings a selector's first match into view: its middle in the window; null when there is none that has a box. */
export const bringIntoView: string = `function (selector) {
  const { find } = ${safeMembers};
  const element = find(document, selector);
  if (element === null) return null;
  Element.prototype.scrollIntoView.call(element, { block: "center", inline: "center", behavior: "instant" });
  const [box] = Element.prototype.getClientRects.call(element);
  if (box === undefined || box.width === 0 || box.height === 0) return null;
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
}`;

/** Scrolls the page, or a selector's first match, by one screen; false when there is no match. */
export const scrollByScreen: string = `function (selector, direction) {
  const { find, clientHeightOf, scrollBy, scrollingOf } = ${safeMembers};
  const element = selector === null ? scrollingOf(document) : find(document, selector);
  if (element === null) return false;
  const height = selector === null ? innerHeight : clientHeightOf(element);
  scrollBy(element, { top: direction === "up" ? -height : height, behavior: "instant" });
  return true;
}`;

/** Scrolls to a place; the next one in pixels, or null at the end, from where it scrolls back to the top. */
export const scrollStep: string = `function (at) {
  const { scrollHeightOf, rootOf } = ${safeMembers};
  const isOver = at >= Math.min(scrollHeightOf(rootOf(document)), 50000);
  scrollTo(0, isOver ? 0 : at);
  return isOver ? null : at + Math.max(200, innerHeight);
}`;
