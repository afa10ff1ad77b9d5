import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import { bodyOf, createElement, createWalker, fontsOf } from "./safe-members.ts";

/** A letter or emoji that a font may lack. */
export const FOREIGN_LETTER: RegExp = /[^\0-\u024f](?<=\p{L}|\p{Emoji_Presentation})/u;

/** Characters of a page that are looked at, and different ones of them that are drawn. */
const LOOKED_AT = 100_000;
const DRAWN = 32;

/** Side of the area in which a character is drawn, in pixels. */
const SIDE = 24;

export const findMissingGlyphs: PageFunctions["findMissingGlyphs"] = (waits) => {
  const look = (): string[] => {
    try {
      const body = bodyOf(document);
      if (fontsOf(document).status === "loading" || body === null) return [];
      return undrawable(foreignLetters(body));
    } catch {
      return [];
    }
  };
  return waits ? fontsOf(document).ready.then(look) : look();
};

/** The first letters of some text that a font may lack, each with the element that it is in. */
function foreignLetters(body: Element): Map<string, Element | null> {
  const every = new RegExp(FOREIGN_LETTER, "gu");
  const found = new Map<string, Element | null>();
  const nodes = createWalker(document, body, NodeFilter.SHOW_TEXT);
  let left = LOOKED_AT;
  for (let node = nodes.nextNode(); node !== null && left > 0; node = nodes.nextNode()) {
    const text = (node as Text).data.slice(0, left);
    left -= text.length;
    for (const [char] of text.matchAll(every)) {
      if (!found.has(char)) found.set(char, node.parentElement);
      if (found.size === DRAWN) return found;
    }
  }
  return found;
}

/** Those letters that are drawn like one that no font can have. */
function undrawable(letters: Map<string, Element | null>): string[] {
  if (letters.size === 0) return [];
  const canvas = createElement(document, "canvas") as HTMLCanvasElement;
  const area = Object.assign(canvas, { width: SIDE, height: SIDE }).getContext("2d", {
    willReadFrequently: true,
  });
  if (area === null) return [];
  const draw = (char: string): string => {
    area.clearRect(0, 0, SIDE, SIDE);
    area.fillText(char, 2, 18);
    return area.getImageData(0, 0, SIDE, SIDE).data.join();
  };
  const missing: string[] = [];
  for (const [char, element] of letters) {
    const family = element === null ? "serif" : getComputedStyle(element).fontFamily;
    area.font = `16px ${family}`;
    if (draw(char) === draw("\u{10fffd}")) missing.push(char);
  }
  return missing;
}
