import { isLeftOut } from "../markdown/left-out.ts";
import type { Tree } from "./tree.ts";

const blocks = new Set(
  (
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer form " +
    "h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary " +
    "table tbody tfoot thead tr ul caption"
  ).split(" "),
);
const verbatim = new Set("listing plaintext pre textarea xmp".split(" "));

/**
 * Returns the text of an element as a reader sees it (HTML, `innerText`), as far as markup alone tells: blocks on lines of
 * their own, paragraphs with an empty line between, cells with a tab between. One that is not shown gives its raw text.
 */
export function* innerTextOf(tree: Tree, index: number): Generator<void, string, void> {
  const isShown = !hidden(tree, index);
  const lines = lineWriter();
  const stack: (string | number | readonly [name: string])[] = [];
  const enter = (at: number): void => {
    const { name, attributes, children } = tree[at] ?? { name: "", attributes: {}, children: [] };
    if (isShown && at !== index && isLeftOut(name, attributes)) return;
    if (isShown) lines.open(name, at === index);
    stack.push([name]);
    for (const child of children.toReversed()) stack.push(child);
  };
  enter(index);
  for (let steps = 1; stack.length > 0; steps++) {
    if (steps % 4096 === 0) yield;
    const next = stack.pop();
    if (typeof next === "number") enter(next);
    else if (typeof next === "string") lines.text(next, isShown);
    else if (next !== undefined && isShown) lines.close(next[0]);
  }
  return isShown ? lines.trimmed() : lines.all();
}

function hidden(tree: Tree, index: number): boolean {
  for (let at = index; at >= 0; at = tree[at]?.parent ?? -1) {
    const { name = "", attributes = {} } = tree[at] ?? {};
    if (isLeftOut(name, attributes) || name === "head") return true;
  }
  return false;
}

interface LineWriter {
  open(name: string, isRoot: boolean): void;
  close(name: string): void;
  text(text: string, collapse: boolean): void;
  all(): string;
  trimmed(): string;
}

function lineWriter(): LineWriter {
  const out: string[] = [];
  /** Line breaks that are due before more text. */
  let due = 0;
  let isSpaceDue = false;
  let isEmpty = true;
  let kept = 0;
  let isCellDue = false;
  const breakLine = (count: number): void => {
    due = Math.max(due, count);
    isSpaceDue = false;
    isCellDue = false;
  };
  const put = (text: string): void => {
    if (!isEmpty && due > 0) out.push("\n".repeat(due));
    else if (isCellDue) out.push("\t");
    else if (isSpaceDue && !isEmpty) out.push(" ");
    due = 0;
    isSpaceDue = false;
    isCellDue = false;
    isEmpty = false;
    out.push(text);
  };
  const around = (name: string): void => {
    if (name === "p") breakLine(2);
    else if (blocks.has(name)) breakLine(1);
  };
  return {
    open(name, isRoot) {
      if (verbatim.has(name)) kept += 1;
      if (name === "br") {
        put("\n");
        return;
      }
      if (!isRoot) around(name);
    },
    close(name) {
      if (verbatim.has(name)) kept -= 1;
      if (name === "td" || name === "th") {
        isCellDue = true;
        isSpaceDue = false;
      } else around(name);
    },
    text(text, collapse) {
      if (!collapse || kept > 0) {
        if (text !== "") put(text);
        return;
      }
      const words = text.replaceAll(/[\t\n\f\r ]+/gu, " ");
      const inner = words.replaceAll(/^ | $/gu, "");
      if (words.startsWith(" ") && due === 0 && !isCellDue && out.at(-1) !== "\n")
        isSpaceDue = true;
      if (inner === "") return;
      put(inner);
      isSpaceDue = words.endsWith(" ");
    },
    all: () => out.join(""),
    trimmed: () => out.join("").replaceAll(/^\n+|\n+$/gu, ""),
  };
}
