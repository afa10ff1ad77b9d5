import { Tokenizer } from "htmlparser2";

/** Attributes by lower-case name; the first of a repeated name counts. */
export type Attributes = Readonly<Record<string, string>>;

/** Handlers for the parts of a document, in order. Opens and closes are balanced; void elements have no close. */
export interface HtmlHandler {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  /** Decoded text; one run of text may come in several pieces. */
  text(text: string): void;
  /** An element was left out because it is too deep. */
  tooDeep?(): void;
}

/** Elements deeper than this are taken for their text only, as browsers do from 512 on. */
const DEPTH_LIMIT = 500;

/** Characters that are read between two yields: a few milliseconds of work. */
const STEP = 16_384;

/**
 * The start of CDATA in SVG and MathML; elsewhere it begins a comment that the next ">" ends (HTML,
 * "cdata-in-html-content").
 */
const CDATA = "<![CDATA[";
/** The same for the tokenizer, which knows CDATA only: a declaration, which the next ">" ends. It is as long. */
const NO_CDATA = "<!(CDATA[";

const voidElements = new Set(
  "area base basefont br col embed frame hr img input link meta param source track wbr".split(" "),
);

/** Whether an element has no content, and so no close. */
export function isVoid(name: string): boolean {
  return voidElements.has(name);
}

const closesParagraph = new Set(
  (
    "address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 " +
    "h4 h5 h6 header hgroup hr main menu nav ol p pre section summary table ul"
  ).split(" "),
);

/** Elements, the innermost of which is closed, and the elements beyond which it is not looked for. */
type Closing = readonly [closed: ReadonlySet<string>, boundary: ReadonlySet<string>];

const closing = (closed: string, boundary: string): Closing => [
  new Set(closed.split(" ")),
  new Set(boundary.split(" ")),
];

const cells = closing("td th caption", "tr table");
// An author may leave out the row's own tag: a row also ends cells outside of any row.
const rows = [cells, closing("tr", "table")];
const sections = [...rows, closing("thead tbody tfoot", "table")];
const terms = closing("dt dd", "dl table");

/** The open elements that an opening tag closes, in this order. */
const impliedCloses: ReadonlyMap<string, readonly Closing[]> = new Map([
  ["li", [closing("li", "ul ol menu table")]],
  ["dt", [terms]],
  ["dd", [terms]],
  ["td", [cells]],
  ["th", [cells]],
  ["tr", rows],
  ["thead", sections],
  ["tbody", sections],
  ["tfoot", sections],
  ["caption", sections],
  ["a", [closing("a", "table td th caption")]],
  ["option", [closing("option", "select")]],
]);

const paragraph = closing("p", "table td th caption button");

/**
 * Reads HTML in one pass into balanced events, without a tree and without recursion. The tokenizer is
 * htmlparser2's; its parser is not used because its stack costs time proportional to the depth of nesting
 * per tag, which a hostile page makes quadratic. It yields where others may go on.
 */
export function* readHtml(html: string, handler: HtmlHandler): Generator<void, void, void> {
  const open = openElements(handler);
  const tokenizer = new Tokenizer({ decodeEntities: true }, tokenCallbacks(html, open, handler));
  let cdata = html.indexOf(CDATA);
  for (let at = 0; at < html.length;) {
    if (at > 0) yield;
    const end = at + STEP;
    for (; cdata >= 0 && cdata < end; cdata = html.indexOf(CDATA, at)) {
      tokenizer.write(html.slice(at, cdata));
      tokenizer.write(open.foreign ? CDATA : NO_CDATA);
      at = cdata + CDATA.length;
    }
    tokenizer.write(html.slice(at, end));
    at = Math.max(at, end);
  }
  tokenizer.end();
}

interface OpenElements {
  open(name: string, attributes: Attributes): void;
  close(name: string): void;
  closeAll(): void;
  /** Whether the place is inside SVG or MathML, where a slash closes a tag and CDATA is text. */
  readonly foreign: boolean;
}

/** Keeps opens and closes balanced, with the closing tags that HTML lets authors leave out. */
function openElements(handler: HtmlHandler): OpenElements {
  const stack: string[] = [];
  /** Open elements per name, so that a stray closing tag is found to be stray at once. */
  const counts = new Map<string, number>();
  /** Elements per name that were too deep to be opened. */
  const tooDeep = new Map<string, number>();
  const countOf = (name: string): number => counts.get(name) ?? 0;
  const pop = (): void => {
    const name = stack.pop() ?? "";
    counts.set(name, countOf(name) - 1);
    handler.close(name);
  };
  const closeWithin = ([closed, boundary]: Closing): void => {
    for (let i = stack.length - 1; i >= 0; i--) {
      const name = stack[i] ?? "";
      if (boundary.has(name)) return;
      if (!closed.has(name)) continue;
      while (stack.length > i) pop();
      return;
    }
  };
  return {
    get foreign() {
      return countOf("svg") + countOf("math") > 0;
    },
    open(name, attributes) {
      for (const implied of impliedCloses.get(name) ?? []) {
        if (anyOpen(counts, implied[0])) closeWithin(implied);
      }
      if (closesParagraph.has(name) && countOf("p") > 0) closeWithin(paragraph);
      if (voidElements.has(name)) return handler.open(name, attributes);
      if (stack.length >= DEPTH_LIMIT) {
        tooDeep.set(name, (tooDeep.get(name) ?? 0) + 1);
        return handler.tooDeep?.();
      }
      stack.push(name);
      counts.set(name, countOf(name) + 1);
      handler.open(name, attributes);
    },
    close(name) {
      const deep = tooDeep.get(name) ?? 0;
      if (deep > 0) return void tooDeep.set(name, deep - 1);
      if (name === "br") return handler.open("br", {});
      if (countOf(name) === 0) return;
      while (stack.length > 0 && stack.at(-1) !== name) pop();
      pop();
    },
    closeAll() {
      while (stack.length > 0) pop();
    },
  };
}

type TokenCallbacks = ConstructorParameters<typeof Tokenizer>[1];

function tokenCallbacks(
  html: string,
  elements: OpenElements,
  handler: HtmlHandler,
): TokenCallbacks {
  let name = "";
  let attributes: Record<string, string> = {};
  let attribute = "";
  let value = "";
  return {
    onopentagname(start, end) {
      name = html.slice(start, end).toLowerCase();
      if (name === "image") name = "img";
      attributes = {};
    },
    onattribname(start, end) {
      attribute = html.slice(start, end).toLowerCase();
      value = "";
    },
    onattribdata(start, end) {
      value += html.slice(start, end);
    },
    onattribentity(codepoint) {
      value += String.fromCodePoint(codepoint);
    },
    onattribend() {
      if (!Object.hasOwn(attributes, attribute) && attribute !== "__proto__")
        attributes[attribute] = value;
    },
    onopentagend: () => elements.open(name, attributes),
    onselfclosingtag() {
      const foreign = elements.foreign || name === "svg" || name === "math";
      elements.open(name, attributes);
      // Outside of SVG and MathML the slash means nothing in HTML.
      if (foreign && !voidElements.has(name)) elements.close(name);
    },
    onclosetag: (start, end) => elements.close(html.slice(start, end).toLowerCase()),
    ontext(start, end) {
      // A tag cut off by the document's end does not count as text (HTML, "eof-in-tag").
      if (end === html.length && html[start - 1] === "<" && /[a-z]/iu.test(html[start] ?? ""))
        return;
      handler.text(html.slice(start, end));
    },
    ontextentity: (codepoint) => handler.text(String.fromCodePoint(codepoint)),
    oncdata(start, end, offset) {
      if (elements.foreign) handler.text(html.slice(start, end - offset));
    },
    oncomment() {},
    ondeclaration() {},
    onprocessinginstruction() {},
    onend: () => elements.closeAll(),
    isInForeignContext: () => elements.foreign,
  };
}

function anyOpen(counts: ReadonlyMap<string, number>, names: ReadonlySet<string>): boolean {
  for (const name of names) if ((counts.get(name) ?? 0) > 0) return true;
  return false;
}
