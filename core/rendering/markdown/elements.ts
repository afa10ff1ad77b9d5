import { languageOf } from "./code-block.ts";
import { type Context, type Element, endBlock, flushBlock, flushPre, openCell } from "./context.ts";
import { copiesCode, isPermalink } from "./controls.ts";
import type { Attributes } from "./html-events.ts";
import type { MarkKind } from "./emphasis.ts";
import { openMath, writePicturedFormula } from "./math-elements.ts";
import { fallbackPicture, frame, pictureSource } from "./media.ts";
import { openPre, tableElements } from "./table-elements.ts";
import { absolute, imageAddress, linkAddress } from "./urls.ts";

const block: Element = { open: endBlock, close: endBlock };

const mark = (kind: MarkKind): Element => ({
  open: ({ inline }) => inline.open(kind),
  close: ({ inline }) => inline.close(kind),
});

const heading = (level: number): Element => ({
  open(context) {
    endBlock(context);
    context.heading = level;
  },
  close(context) {
    endBlock(context);
    context.heading = 0;
  },
});

const code: Element = {
  open(context) {
    context.code.depth += 1;
  },
  close(context) {
    if (context.code.depth === 0) return;
    context.code.depth -= 1;
    if (context.code.depth > 0) return;
    context.inline.code(context.code.text);
    context.code.text = "";
  },
};

const pre: Element = { open: openPre, close: flushPre };

/** A label of VitePress that says the language once more. */
function span(context: Context, attributes: Attributes): void {
  if (attributes["class"] === "lang" && context.languages.at(-1) !== "") context.skipped = 1;
}

/** Leaves out a button that copies code. */
function button(context: Context, attributes: Attributes): void {
  if (copiesCode(attributes)) context.skipped = 1;
}

const link: Element = {
  open(context, attributes) {
    if (isPermalink(attributes)) return void (context.skipped = 1);
    const href = attributes["href"];
    const address = href === undefined ? null : linkAddress(href, context.base);
    const label = attributes["aria-label"] ?? attributes["title"] ?? "";
    context.links.push({ isLink: address !== null, label, hasBlocks: false, heading: 0 });
    context.icon.text = "";
    if (address !== null) context.inline.open("link", `](${address}${titlePart(attributes)})`);
  },
  close(context) {
    const ended = context.links.pop();
    if (ended?.isLink !== true) return;
    const label = ended.label || context.icon.text;
    if (label !== "" && !ended.hasBlocks) context.inline.label(label);
    context.inline.close("link");
    if (ended.hasBlocks) flushBlock(context, context.heading || ended.heading);
  },
};

function titlePart(attributes: Attributes): string {
  const title = (attributes["title"] ?? "").replaceAll(/\s+/gu, " ").trim();
  return title === "" ? "" : ` "${title.replaceAll(/["\\<&[\]]/gu, "\\$&")}"`;
}

/** Writes a picture. */
export function image(context: Context, attributes: Attributes): void {
  const { width, height, alt: said = "" } = attributes;
  // One pixel is a counter, not a picture; WordPress writes such a size for pictures of SVG, too.
  if (width === "1" && height === "1" && said.trim() === "") return;
  if (attributes["class"] !== undefined && writePicturedFormula(context, attributes)) return;
  const alt = altOf(attributes);
  const address = imageAddress(attributes, context.base) ?? context.picture;
  context.picture = null;
  if (isCopied(context, address, alt)) return;
  if (address === null) return context.inline.standIn(alt);
  context.lastPicture = address;
  context.inline.atom(
    `![${alt.replaceAll(/[\\[\]`*_<&]/gu, "\\$&")}](${address}${titlePart(attributes)})`,
  );
}

/** Whether a picture was written just before, from `noscript`. */
function isCopied(context: Context, address: string | null, alt: string): boolean {
  const { fallback } = context;
  context.fallback = null;
  if (fallback === null) return false;
  return address === null ? alt === fallback.alt : address === fallback.address;
}

/** The text of a picture. */
function altOf({ alt = "" }: Attributes): string {
  return alt.replaceAll(/\s+/gu, " ").trim();
}

/** Writes a picture of `noscript` in the place of the text for the one that scripts load. */
export function noscriptImage(context: Context, attributes: Attributes): void {
  const address = fallbackPicture(context, attributes);
  if (address === null) return;
  const alt = altOf(attributes);
  const isAfter = context.inline.takeBack(alt);
  image(context, attributes);
  context.fallback = isAfter ? null : { address, alt };
}

function startPicture(context: Context): void {
  context.picture = null;
}

function lineBreak(context: Context): void {
  if (context.heading > 0) context.inline.text(" ");
  else context.inline.lineBreak();
}

function rule(context: Context): void {
  flushBlock(context);
  if (openCell(context) !== null) return;
  const { writer } = context;
  writer.gap(2);
  // Dashes would read as frontmatter at the very start, and as part of the marker at the start of an item.
  writer.write([writer.written === 0 || writer.atItemStart ? "___" : "---"]);
}

const quote: Element = {
  open(context) {
    flushBlock(context);
    if (openCell(context) !== null) return;
    context.writer.gap(2);
    context.writer.openQuote();
  },
  close(context) {
    flushBlock(context);
    if (openCell(context) === null) context.writer.close();
  },
};

/** Two lists in a row would be one: the second gets the other marker. */
function freeMarker({ writer, lastList }: Context, ordered: boolean): string {
  const [first, second] = ordered ? [".", ")"] : ["-", "*"];
  const follows = lastList?.written === writer.written && lastList.list.ordered === ordered;
  return follows && lastList.list.marker === first ? second : first;
}

const list = (ordered: boolean): Element => ({
  open(context, attributes) {
    flushBlock(context);
    const { lists, writer } = context;
    const isInCell = openCell(context) !== null;
    const outer = lists.at(-1);
    // A list straight in a list belongs to the item before it, as browsers show it.
    const isContinued = !isInCell && outer?.isItemOpen === false && outer.width > 0;
    if (isContinued) writer.continueItem(outer.width);
    const start = Number.parseInt(attributes["start"] ?? "1", 10);
    const next = start >= 0 && start < 1e9 ? start : 1;
    // Only a list that starts at 1 may follow a line of text at once (CommonMark 5.2).
    if (!isInCell) writer.gap(lists.length > 0 && (!ordered || next === 1) ? 1 : 2);
    const marker = freeMarker(context, ordered);
    lists.push({ ordered, marker, next, isItemOpen: false, width: 0, isContinued });
  },
  close(context) {
    flushBlock(context);
    const ended = context.lists.pop();
    if (ended?.isContinued === true) context.writer.close();
    if (ended !== undefined) context.lastList = { list: ended, written: context.writer.written };
  },
});

const item: Element = {
  open(context, attributes) {
    flushBlock(context);
    const top = context.lists.at(-1) ?? { ordered: false, marker: "-", next: 1, width: 0 };
    const value = Number.parseInt(attributes["value"] ?? "", 10);
    if (top.ordered && value >= 0 && value < 1e9) top.next = value;
    const marker = top.ordered ? `${top.next}${top.marker} ` : `${top.marker} `;
    top.next += 1;
    if (openCell(context) !== null) return context.inline.atom(marker.trim() + " ");
    Object.assign(top, { isItemOpen: true, width: marker.length });
    context.writer.gap(1);
    context.writer.openItem(marker);
  },
  close(context) {
    flushBlock(context);
    const top = context.lists.at(-1);
    if (top !== undefined) top.isItemOpen = false;
    if (openCell(context) === null) context.writer.close();
  },
};

function input(context: Context, attributes: Attributes): void {
  if (attributes["type"]?.toLowerCase() !== "checkbox") return;
  if (!context.writer.atItemStart || !context.inline.empty) return;
  context.inline.atom(attributes["checked"] === undefined ? "[ ]" : "[x]");
  context.inline.text(" ");
}

function meta(context: Context, attributes: Attributes): void {
  const name = (attributes["name"] ?? attributes["property"] ?? "").toLowerCase();
  const content = (attributes["content"] ?? "").replaceAll(/\s+/gu, " ").trim();
  if (content === "") return;
  if (name === "og:title") context.metaTitle ||= content;
  if (name === "description") context.description = content;
  if (name === "og:description") context.description ||= content;
  if (name === "og:image") context.image ||= absolute(content, context.base);
}

const quoted: Element = {
  open: ({ inline }) => inline.text('"'),
  close: ({ inline }) => inline.text('"'),
};

const blocks =
  "address article aside body caption center details dialog dir dl fieldset figcaption footer form " +
  "header hgroup legend main nav optgroup p search section select summary";

/** A block that may name the language of the code in it. */
const wrapper: Element = {
  open(context, attributes) {
    endBlock(context);
    // VitePress writes the numbers of lines beside the code.
    if (attributes["class"] === "line-numbers-wrapper") return void (context.skipped = 1);
    context.languages.push(languageOf(attributes));
  },
  close(context) {
    endBlock(context);
    context.languages.pop();
  },
};

/** A term, and what it means behind a colon: the form of definition lists in Markdown Extra, pandoc and kramdown. */
const meaning: Element = {
  open(context) {
    flushBlock(context);
    if (openCell(context) !== null) return context.inline.text(": ");
    context.writer.gap(1);
    context.writer.openItem(": ");
  },
  close(context) {
    flushBlock(context);
    if (openCell(context) === null) context.writer.close();
  },
};

const term: Element = {
  open(context) {
    flushBlock(context);
    if (openCell(context) === null) context.writer.gap(2);
  },
  close: flushBlock,
};

/** The effects of elements; all others contribute only their text. */
export const elements: ReadonlyMap<string, Element> = new Map<string, Element>([
  ...blocks.split(" ").map((name): [string, Element] => [name, block]),
  ...["div", "figure"].map((name): [string, Element] => [name, wrapper]),
  ...[1, 2, 3, 4, 5, 6].map((level): [string, Element] => [`h${level}`, heading(level)]),
  ...["b", "strong"].map((name): [string, Element] => [name, mark("strong")]),
  ...["i", "em"].map((name): [string, Element] => [name, mark("em")]),
  ...["del", "s", "strike"].map((name): [string, Element] => [name, mark("del")]),
  ...["code", "kbd", "samp", "tt"].map((name): [string, Element] => [name, code]),
  ["a", link],
  ["blockquote", quote],
  ["button", { open: button }],
  ["clipboard-copy", { open: button }],
  ["br", { open: lineBreak }],
  ["dd", meaning],
  ["dt", term],
  ["hr", { open: rule }],
  ["img", { open: image }],
  ["input", { open: input }],
  ["iframe", { open: frame }],
  ["li", item],
  ["math", { open: openMath }],
  ["menu", list(false)],
  ["meta", { open: meta }],
  ["ol", list(true)],
  ["option", { close: ({ inline }) => inline.text(" ") }],
  ["picture", { open: startPicture, close: startPicture }],
  ["pre", pre],
  ["q", quoted],
  ["source", { open: pictureSource }],
  ["span", { open: span }],
  ["sub", mark("sub")],
  ["sup", mark("sup")],
  ["ul", list(false)],
  ...tableElements,
]);
