import type { Attributes } from "./html-events.ts";

/** Elements that have no text of their own for a reader. */
const withoutText: ReadonlySet<string> = new Set(
  "annotation-xml audio canvas noembed noframes noscript object script style svg video".split(" "),
);

/** Whether an element is left out with everything in it: it has no text, or is invisible. */
export function isLeftOut(name: string, attributes: Attributes): boolean {
  if (withoutText.has(name)) return true;
  // A shadow tree that the document declares is visible.
  if (name === "template") return attributes["shadowrootmode"] === undefined;
  if (name === "dialog" && attributes["open"] === undefined) return true;
  return isInvisible(name, attributes);
}

const hiding = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b/iu;

/**
 * Whether the markup itself hides an element: style sheets are the browser's business, and scripts show a whole hidden page.
 */
export function isInvisible(name: string, attributes: Attributes): boolean {
  if (name === "html" || name === "body" || name === "head") return false;
  const { hidden, style } = attributes;
  if (hidden !== undefined && hidden.toLowerCase() !== "until-found") return true;
  if (style !== undefined && hiding.test(style.slice(0, 2000))) return true;
  return isDrawnFormula(name, attributes);
}

/**
 * Whether an element is the boxes for the eye of a formula that stands beside it as MathML for readers: KaTeX's, and those
 * of MathJax 2 (`nobr`, `.mjx-math`), 3 and 4 (`mjx-math`), which hide them from readers where the MathML is.
 */
function isDrawnFormula(name: string, attributes: Attributes): boolean {
  const { class: classes } = attributes;
  if (classes === "katex-html" || classes === "MathJax_Preview") return true;
  if (attributes["aria-hidden"] !== "true") return false;
  return name === "mjx-math" || name === "nobr" || classes === "mjx-math";
}
