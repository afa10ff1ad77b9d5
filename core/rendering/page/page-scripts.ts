/**
 * Functions that run in the page, as source text: they are never part of our own program, and a bundler that
 * rewrites functions cannot break them.
 */

/** The document as HTML, with its doctype. */
export const readContent: string = `function () {
  const doctype = document.doctype === null ? "" : new XMLSerializer().serializeToString(document.doctype);
  return doctype + (document.documentElement === null ? "" : document.documentElement.outerHTML);
}`;

/** The title, the address that relative links start from, the document's own, and whether there is nothing in it. */
export const readFacts: string = `function () {
  const root = document.documentElement;
  const empty = root === null || root.outerHTML === "<html><head></head><body></body></html>";
  return { title: document.title, base: document.baseURI, url: document.URL, empty };
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
  const element = document.querySelector(selector);
  if (element === null) return "absent";
  const style = getComputedStyle(element);
  const box = element.getBoundingClientRect();
  const shown = style.visibility !== "hidden" && style.visibility !== "collapse" && box.width > 0 && box.height > 0;
  return shown ? "visible" : "hidden";
}`;

/** Adds a script or style element; for one with a URL, waits until it has loaded. */
export const addTag: string = `function (kind, tag) {
  return new Promise((resolve, reject) => {
    const linked = kind === "style" && tag.url !== undefined;
    const element = document.createElement(kind === "script" ? "script" : linked ? "link" : "style");
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
    (document.head ?? document.documentElement).append(element);
    if (tag.url === undefined) resolve(true);
  });
}`;

/** Waits until the fonts that the page uses are there. */
export const waitForFonts: string = `function () {
  return document.fonts.ready.then(() => true);
}`;

/** The addresses of all links, optionally of visible or same-site ones only. */
export const readLinks: string = `function (visibleOnly, sameHostOnly) {
  const links = [];
  for (const link of document.querySelectorAll("a[href]")) {
    const href = typeof link.href === "string" ? link.href : link.href.baseVal;
    if (!/^https?:/i.test(href)) continue;
    if (sameHostOnly && new URL(href, document.baseURI).hostname !== location.hostname) continue;
    if (visibleOnly) {
      const box = link.getBoundingClientRect();
      if (box.width === 0 || box.height === 0 || getComputedStyle(link).visibility === "hidden") continue;
    }
    links.push(href);
  }
  return links;
}`;

/** What \`/scrape\` returns about the matches of some selectors. */
export const scrapeElements: string = `function (selectors) {
  return selectors.map((selector) => ({
    selector,
    results: [...document.querySelectorAll(selector)].map((element) => {
      const box = element.getBoundingClientRect();
      return {
        text: element.innerText ?? element.textContent ?? "",
        html: element.innerHTML,
        attributes: [...element.attributes].map(({ name, value }) => ({ name, value })),
        height: box.height,
        width: box.width,
        top: box.top + scrollY,
        left: box.left + scrollX,
      };
    }),
  }));
}`;

/** The place of a selector's first match in the document; null when there is none. */
export const locateElement: string = `function (selector) {
  const element = document.querySelector(selector);
  if (element === null) return null;
  const box = element.getBoundingClientRect();
  return { x: box.left + scrollX, y: box.top + scrollY, width: box.width, height: box.height };
}`;

/** Scrolls to the end and back, so that lazy pictures load. */
export const scrollThrough: string = `async function () {
  const step = Math.max(200, innerHeight);
  for (let at = 0; at < Math.min(document.documentElement.scrollHeight, 50000); at += step) {
    scrollTo(0, at);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  scrollTo(0, 0);
  return true;
}`;
