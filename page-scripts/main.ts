/** Every function that core runs in pages. */
export { addTag, lastSheetLoaded } from "./add-tag.ts";
export { bringIntoView, findSelector, locateElement, scrollByScreen } from "./first-match.ts";
export { hideCovers } from "./hide-covers.ts";
export { contentHeight, layOut, scrollStep } from "./lay-out.ts";
export { findMissingGlyphs } from "./missing-glyphs.ts";
export { countNodes, readDocument, readFacts } from "./read-document.ts";
export { readLinks, scrapeElements } from "./read-elements.ts";
export { readVisible } from "./read-visible.ts";
export { neverSubmit, stayOnPage } from "./stay.ts";
export { beginText, restOfText } from "./text-in-parts.ts";
