import { ApiError } from "../../http/api-error.ts";
import { type Attributes, isVoid } from "../markdown/html-events.ts";
import type { Tree, TreeElement } from "./tree.ts";

const rawText = new Set("iframe noembed noframes plaintext script style xmp".split(" "));

/** How a tree becomes HTML: how many characters there may be, and which elements are left out. */
export interface HtmlBudget {
  /** The remaining characters, counted down while HTML is written. */
  characters: number;
  readonly without?: Uint8Array | undefined;
}

/**
 * Writes what stands in an element as HTML, or the element too (`outer`), as browsers do.
 *
 * @throws ApiError `page_too_large` when the budget is spent
 */
export function* htmlOf(
  tree: Tree,
  index: number,
  budget: HtmlBudget,
  outer = false,
): Generator<void, string, void> {
  const out: string[] = [];
  const write = (text: string): void => {
    budget.characters -= text.length;
    if (budget.characters < 0)
      throw new ApiError("page_too_large", {
        message: "The matched elements have too much HTML: select fewer elements",
      });
    out.push(text);
  };
  const stack: (readonly [text: string, raw: boolean] | number)[] = [];
  const enter = ({ name, attributes, children }: TreeElement, tags: boolean): void => {
    if (tags) {
      write(`<${name}${attributesOf(attributes)}>`);
      if (isVoid(name)) return;
      stack.push([`</${name}>`, true]);
    }
    const raw = rawText.has(name);
    for (const child of children.toReversed())
      stack.push(typeof child === "number" ? child : [child, raw]);
  };
  const first = tree[index];
  if (first !== undefined) enter(first, outer);
  for (let steps = 1; stack.length > 0; steps++) {
    if (steps % 4096 === 0) yield;
    const next = stack.pop();
    if (typeof next === "object") write(next[1] ? next[0] : escapeText(next[0]));
    else if (next !== undefined && budget.without?.[next] !== 1) {
      const element = tree[next];
      if (element !== undefined) enter(element, true);
    }
  }
  return out.join("");
}

function attributesOf(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${escapeText(value).replaceAll('"', "&quot;")}"`)
    .join("");
}

function escapeText(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("\u00a0", "&nbsp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
