// The round trip of CommonMark's own examples: the HTML of each goes through the converter, markdown-it renders the Markdown
// again, and both documents are compared. A difference that no reader sees is neutral: see `canonical`.
import { convertHtml } from "../../core/rendering/markdown/convert.ts";
import { canonical, textOf } from "./canonical.ts";
import { type Figure, once } from "./figure.ts";
import { loadPeer } from "./peers.ts";

/** An example of the specification. */
interface Example {
  readonly number: number;
  readonly section: string;
  readonly html: string;
}

/** The used part of `commonmark-spec`. */
interface Specification {
  readonly tests: readonly Example[];
}

/** The used part of `markdown-it`. */
type MarkdownIt = (options: { readonly html: boolean }) => {
  render(markdown: string): string;
};

/** The figures of the round trip; undefined where its peers are not installed. `isShown` prints each example that differs. */
export function roundTrip(isShown: boolean): Figure | undefined {
  const specification = loadPeer("commonmark-spec") as Specification | undefined;
  const markdownIt = loadPeer("markdown-it") as MarkdownIt | undefined;
  if (specification === undefined || markdownIt === undefined) return undefined;
  const renderer = markdownIt({ html: true });
  let same = 0;
  let sameText = 0;
  for (const { number, section, html } of specification.tests) {
    const { markdown } = convertHtml(html, { base: null, frontmatter: false });
    const again = renderer.render(markdown);
    const [before, after] = [canonical(html), canonical(again)];
    if (before === after) same += 1;
    const isSameText = textOf(html) === textOf(again);
    if (isSameText) sameText += 1;
    if (isShown && (before !== after || !isSameText)) {
      const said = isSameText ? "" : ", text too";
      process.stdout.write(
        `example ${number}, ${section}${said}\n${html}--\n${markdown}\n--\n${before}\n${after}\n\n`,
      );
    }
  }
  const count = specification.tests.length;
  const figures = {
    examples: count,
    same,
    "same text": sameText,
    "% that differ": (1 - same / count) * 100,
    "% whose text differs": (1 - sameText / count) * 100,
  };
  return once("markdown-fidelity: round trip of CommonMark's examples", "causey", figures, [
    { what: "% that differ", atMost: 1 },
    { what: "% whose text differs", atMost: 0.1 },
  ]);
}
