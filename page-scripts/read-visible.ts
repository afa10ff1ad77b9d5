import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";
import {
  attributesOf,
  bodyOf,
  childrenOf,
  documentOf,
  findAll,
  nameOf,
  parentOf,
  rootOf,
  shadowOf,
  typeOf,
} from "./safe-members.ts";
import { EMPTY, escape, isApart, KEPT, keepsLines, LEFT_OUT, tagsAround } from "./visible-tags.ts";
import { xmlSource } from "./xml-source.ts";

/** What holds for the nodes of an element. */
interface Within {
  /** Whether they are visible. */
  readonly shown: boolean;
  /** Whether they are of the parts that are wanted. */
  readonly kept: boolean;
  /** Whether the style sheet keeps their line breaks. */
  readonly lines: boolean;
  readonly pre: boolean;
  readonly heading: boolean;
}

/** A node that is still to be read, or an end tag that is still to be written. */
type Pending = string | { readonly node: Node; readonly within: Within };

/** A reading of the document under way. */
interface Reading {
  readonly stack: Pending[];
  readonly out: string[];
  length: number;
  readonly included: ReadonlySet<Element>;
  readonly excluded: ReadonlySet<Element>;
  /** Whether the page is one that scripts show as a whole when they are done. */
  readonly faded: boolean;
}

/**
 * Leaves out elements that style sheets hide, and has shadow trees in the place of what they show, and frames of the same origin.
 * Frames of other sites stay as they are written. What the layout sets apart stays apart, as in `innerText` (HTML, "rendered text
 * collection steps"): blocks, items of flex and grid boxes, cells, and the lines of text whose white space counts.
 */
export const readVisible: PageFunctions["readVisible"] = (include, exclude, { limit }) => {
  const source = xmlSource();
  if (source !== null) return source;
  const root = rootOf(document);
  const body = bodyOf(document) ?? root;
  const reading: Reading = {
    stack: [],
    out: [],
    length: 0,
    included: matchesOf(include),
    excluded: matchesOf(exclude),
    faded: body !== null && getComputedStyle(body).visibility !== "visible",
  };
  const kept = include.length === 0;
  const within = { shown: true, kept, lines: false, pre: false, heading: false };
  if (root !== null) reading.stack.push({ node: root, within });
  for (let next = reading.stack.pop(); next !== undefined; next = reading.stack.pop()) {
    read(reading, next);
    if (reading.length > limit) return { length: reading.length };
  }
  return reading.out.join("");
};

function matchesOf(selectors: readonly string[]): Set<Element> {
  return new Set(selectors.flatMap((selector) => [...findAll(document, selector)]));
}

function write(reading: Reading, text: string): void {
  reading.length += text.length;
  reading.out.push(text);
}

function read(reading: Reading, next: Pending): void {
  if (typeof next === "string") return write(reading, next);
  const { node, within } = next;
  const type = typeOf(node);
  if (type === Node.ELEMENT_NODE) readElement(reading, node as Element, within);
  else if (type === Node.TEXT_NODE && within.shown && within.kept)
    write(reading, textIn(node as Text, within));
}

function textIn({ data }: Text, { pre, lines }: Within): string {
  const safe = escape(data);
  return lines && !pre ? safe.replace(/\r\n?|\n/g, "<br>") : safe;
}

/** An element that is not left out. */
interface Shown {
  readonly element: Element;
  readonly name: string;
  /** Null for an element that is read whatever its style is. */
  readonly style: CSSStyleDeclaration | null;
  readonly shown: boolean;
  readonly kept: boolean;
}

function readElement(reading: Reading, element: Element, outer: Within): void {
  const name = nameOf(element);
  if (isLeftOut(element, name) || reading.excluded.has(element)) return;
  const style = isUnstyled(element, name) ? null : getComputedStyle(element);
  if (style?.display === "none") return;
  const shown = style === null || reading.faded || style.visibility === "visible";
  const kept = outer.kept || name === "head" || reading.included.has(element);
  if (!EMPTY.has(name)) enter(reading, { element, name, style, shown, kept }, outer);
  else if (shown && kept) write(reading, `<${name}${attributesIn(element)}>`);
}

/** Writes the start tag of an element, and has its nodes read next. */
function enter(reading: Reading, inside: Shown, outer: Within): void {
  const { element, name, style, shown, kept } = inside;
  const frame = name === "iframe" || name === "frame" ? documentIn(element) : null;
  const [before, after] = tagsAround(name, style, outer);
  if (kept) {
    const tag = frame === null ? name : "div";
    const attributes = frame === null ? attributesIn(element) + lineMark(inside, outer) : "";
    write(reading, `${before}<${tag}${attributes}>`);
    reading.stack.push(`</${tag}>${after}`);
  }
  const within = {
    shown,
    kept,
    pre: outer.pre || name === "pre" || name === "math" || before === "<pre>",
    lines: style !== null && keepsLines(style),
    heading: outer.heading || /^h[1-6]$/.test(name),
  };
  const nodes = frame === null ? nodesOf(element, name) : childrenOf(frame);
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    if (node !== undefined) reading.stack.push({ node, within });
  }
}

/** Marks a line of code that the style sheet makes: the converter knows it by its style. */
function lineMark({ name, style }: Shown, { pre }: Within): string {
  return pre && style !== null && name !== "div" && isApart(style) ? ' style="display:block"' : "";
}

function isLeftOut(element: Element, name: string): boolean {
  const isFormula = name === "script" && (element as HTMLScriptElement).type.startsWith("math/");
  return LEFT_OUT.has(name) && !isFormula;
}

/**
 * Elements that are read whatever their style is; of scripts only formulas are read. Browsers hide an `annotation`: the TeX that a
 * formula was made of.
 */
const UNSTYLED: readonly string[] = ["html", "head", "body", "script", "annotation"];

/** Whether an element, or all in the head of the document, is read whatever its style is. */
function isUnstyled(element: Element, name: string): boolean {
  if (UNSTYLED.includes(name)) return true;
  const parent = parentOf(element);
  return parent !== null && nameOf(parent) === "head";
}

function attributesIn(element: Element): string {
  let text = "";
  for (const { name, value } of attributesOf(element)) {
    if (name === "style" && /text-align/i.test(value)) text += ` style="${escape(value)}"`;
    if (!KEPT.has(name)) continue;
    text += ` ${name}="${escape(addressIn(element, name) ?? value)}"`;
  }
  return text;
}

/** Returns an address of a frame's document as a whole, because it starts from the frame's own; null for all other attributes. */
function addressIn(element: Element, name: string): string | null {
  if ((name !== "href" && name !== "src") || documentOf(element) === document) return null;
  const address: unknown = Reflect.get(element, name);
  return typeof address === "string" ? address : null;
}

function nodesOf(element: Element, name: string): ArrayLike<Node> {
  const shadow = shadowOf(element);
  if (shadow !== null) return childrenOf(shadow);
  const assigned = name === "slot" ? (element as HTMLSlotElement).assignedNodes() : [];
  return assigned.length > 0 ? assigned : childrenOf(element);
}

/** Returns the body of the document in a frame; null when this page may not read it. */
function documentIn(element: Element): Element | null {
  try {
    const { contentDocument, src } = element as HTMLIFrameElement;
    if (contentDocument === null) return null;
    // Until a frame of another site has begun to load, it has an empty document of this one.
    const begins = contentDocument.URL === "about:blank" && /^https?:/.test(src ?? "");
    return begins ? null : bodyOf(contentDocument);
  } catch {
    return null;
  }
}
