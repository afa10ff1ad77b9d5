import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import {
  boxesOf,
  boxOf,
  clientHeightOf,
  find,
  scrollBy,
  scrollIntoView,
  scrollingOf,
} from "./safe-members.ts";

export const findSelector: PageFunctions["findSelector"] = (selector) => {
  const element = find(document, selector);
  if (element === null) return "absent";
  const { visibility } = getComputedStyle(element);
  const { width, height } = boxOf(element);
  const isShown = visibility !== "hidden" && visibility !== "collapse" && width > 0 && height > 0;
  return isShown ? "visible" : "hidden";
};

export const locateElement: PageFunctions["locateElement"] = (selector) => {
  const element = find(document, selector);
  if (element === null) return null;
  const { left, top, width, height } = boxOf(element);
  return { x: left + scrollX, y: top + scrollY, width, height };
};

export const bringIntoView: PageFunctions["bringIntoView"] = (selector) => {
  const element = find(document, selector);
  if (element === null) return null;
  scrollIntoView(element, { block: "center", inline: "center", behavior: "instant" });
  const [box] = boxesOf(element);
  if (box === undefined || box.width === 0 || box.height === 0) return null;
  return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
};

export const scrollByScreen: PageFunctions["scrollByScreen"] = (selector, direction) => {
  const element = selector === null ? scrollingOf(document) : find(document, selector);
  if (element === null) return false;
  const height = selector === null ? innerHeight : clientHeightOf(element);
  scrollBy(element, { top: direction === "up" ? -height : height, behavior: "instant" });
  return true;
};
