import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import { bodyOf, boxOf, findAll, imagesOf, rootOf, scrollHeightOf } from "./safe-members.ts";

/** Broken pictures that are named. */
const NAMED = 10;

/** Pixels to which a page is scrolled, and the shortest step. */
const LONGEST_SCROLL = 50_000;
const SHORTEST_STEP = 200;

export const layOut: PageFunctions["layOut"] = (all) => {
  const root = rootOf(document);
  if (root !== null) boxOf(root);
  if (all)
    for (const picture of findAll(document, "img[loading=lazy]"))
      (picture as HTMLImageElement).loading = "eager";
  const isBroken = ({ complete, currentSrc, naturalWidth }: HTMLImageElement): boolean =>
    complete && naturalWidth === 0 && /^https?:/i.test(currentSrc);
  const broken = Array.from(imagesOf(document)).filter(isBroken);
  return broken.slice(0, NAMED).map(({ currentSrc }) => currentSrc);
};

export const contentHeight: PageFunctions["contentHeight"] = (rule) => {
  // A policy that refuses inline styles lets an adopted sheet pass.
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rule);
  document.adoptedStyleSheets.push(sheet);
  const parts = [rootOf(document), bodyOf(document)].filter((part) => part !== null);
  const ends = parts.flatMap((part) => [scrollHeightOf(part), boxOf(part).bottom + scrollY]);
  return Math.ceil(Math.max(...ends));
};

export const scrollStep: PageFunctions["scrollStep"] = (at) => {
  const root = rootOf(document);
  const height = root === null ? 0 : scrollHeightOf(root);
  const isOver = at >= Math.min(height, LONGEST_SCROLL);
  scrollTo(0, isOver ? 0 : at);
  return isOver ? null : at + Math.max(SHORTEST_STEP, innerHeight);
};
