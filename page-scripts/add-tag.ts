import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import type { Tag } from "../core/rendering/input/body.ts";
import { append, createElement, findAll, headOf, rootOf } from "./safe-members.ts";

export const addTag: PageFunctions["addTag"] = (kind, tag, waits) =>
  new Promise((resolve, reject) => {
    const element = elementOf(kind, tag);
    const { url } = tag;
    if (url !== undefined) {
      element.onload = () => resolve(true);
      element.onerror = () => reject(new TypeError(`Could not load ${url.slice(0, 200)}`));
    }
    const parent = headOf(document) ?? rootOf(document);
    if (parent === null) throw new TypeError("The document is empty");
    append(parent, element);
    if (url === undefined || !waits) resolve(true);
  });

function elementOf(kind: "script" | "style", { id, type, content, url }: Tag): HTMLElement {
  const name = kind === "style" && url !== undefined ? "link" : kind;
  const element = createElement(document, name);
  if (id !== undefined) element.id = id;
  if (kind === "script" && type !== undefined) (element as HTMLScriptElement).type = type;
  if (url === undefined) element.textContent = content ?? "";
  else if (kind === "style") Object.assign(element, { rel: "stylesheet", href: url });
  else Object.assign(element, { src: url, async: false });
  return element;
}

export const lastSheetLoaded: PageFunctions["lastSheetLoaded"] = () => {
  const sheets = findAll(document, 'link[rel="stylesheet"]');
  const last = sheets[sheets.length - 1] as HTMLLinkElement | undefined;
  return last?.sheet != null;
};
