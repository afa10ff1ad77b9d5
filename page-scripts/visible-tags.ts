/** Elements of which a reader sees nothing, or no text. */
export const LEFT_OUT: ReadonlySet<string> = setOf(
  "script style noscript object canvas svg template link",
);

/** Elements without an end tag. */
export const EMPTY: ReadonlySet<string> = setOf(
  "area base br col embed hr img input meta source track wbr",
);

/** Attributes that the converter reads. */
export const KEPT: ReadonlySet<string> = setOf(
  "href src srcset data-src data-original data-lazy-src data-lazy data-echo data-original-src data-hi-res-src " +
    "data-srcset data-lazy-srcset alt title class start value type checked colspan rowspan align data-lang data-language " +
    "data-line display alttext encoding content name property width height open id role itemprop aria-label aria-hidden",
);

/** Elements that the converter knows as blocks, or that are of no layout. */
const BLOCKS: ReadonlySet<string> = setOf(
  "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption " +
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html iframe legend li main menu nav ol optgroup option p pre search section " +
    "select summary table tbody td tfoot th thead tr ul video audio math slot source",
);

function setOf(words: string): Set<string> {
  return new Set(words.split(" "));
}

const NOTHING = ["", ""] as const;

/** Returns the tags around an element that the layout sets apart and its own tag does not. */
export function tagsAround(
  name: string,
  style: CSSStyleDeclaration | null,
  { pre, heading }: { readonly pre: boolean; readonly heading: boolean },
): readonly [before: string, after: string] {
  if (style === null || BLOCKS.has(name)) return NOTHING;
  if (style.display === "table-cell") return [" ", " "];
  // Small letters above a word: without their hidden `rp` they would stand in the word.
  if (style.display === "ruby-text") return ["(", ")"];
  if (pre || !isApart(style)) return NOTHING;
  if (heading) return [" ", " "];
  return name === "code" && keepsLines(style) ? ["<pre>", "</pre>"] : ["<div>", "</div>"];
}

/** Whether the layout sets an element apart from the text around it. */
export function isApart({ display }: CSSStyleDeclaration): boolean {
  return /^(?:block|flex|grid|flow-root|list-item|table(?!-cell|-column))/.test(display);
}

/** Whether line breaks of a text count. */
export function keepsLines({ whiteSpace, whiteSpaceCollapse }: CSSStyleDeclaration): boolean {
  return (
    /^(?:pre|break-spaces)/.test(whiteSpace) ||
    /preserve|break-spaces/.test(whiteSpaceCollapse ?? "")
  );
}

export function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
