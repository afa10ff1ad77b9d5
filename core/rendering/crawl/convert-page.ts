import { utf8 } from "../../crypto/encoding.ts";
import { joinBytes } from "../../http/stream.ts";
import type { LongTask } from "../../ports.ts";
import type { FoundPage } from "./rows/page-outcome.ts";
import type { ScopeInput } from "./sort-links.ts";

/** A page as it was loaded, and what is wanted of it. */
export type LoadedPage = {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  /** The part stored as HTML, in UTF-8. @default the document */
  readonly kept?: Uint8Array | undefined;
  /** The source of the Markdown, as HTML in UTF-8. @default `kept` */
  readonly seen?: Uint8Array | undefined;
  readonly url: string;
  readonly html: boolean;
  readonly markdown: boolean;
  /** Characters of Markdown for a model; 0 when no model is asked. */
  readonly text: number;
  readonly frontmatter: boolean;
  /** Null: links are not wanted. */
  readonly scope: ScopeInput | null;
  /** The header `X-Robots-Tag`, its repeats as lines. */
  readonly robotsTag: string;
};

export type ConvertedPage = {
  readonly title: string;
  /** JSON texts. */
  readonly html?: Uint8Array;
  readonly markdown?: Uint8Array;
  readonly text?: string;
  readonly links: readonly FoundPage[];
  /** The address that the page calls its canonical one; "" without. */
  readonly canonical: string;
  /** Whether the page asks not to be stored. */
  readonly noindex: boolean;
};

/** Links of one page that count. */
const LINKS = 5000;
/** Characters that are written between two yields. */
const STEP = 65_536;

/** Makes of a page what a crawl keeps, beside the event loop. */
export const convertPage: LongTask<LoadedPage, ConvertedPage> = {
  name: "rendering/crawl-page",
  async load() {
    const { decodePage } = await import("../../text/decode-page.ts");
    const { asHtml, pageFacts } = await import("../static/static-page.ts");
    const { conversion } = await import("../markdown/convert.ts");
    const { readHtml } = await import("../markdown/html-events.ts");
    const { readDirectives } = await import("./rules/robots-directives.ts");
    const { sortLinks } = await import("./sort-links.ts");
    return function* (page) {
      const { contentType, url, scope, robotsTag } = page;
      const html = asHtml(yield* decodePage(page.bytes, contentType), contentType);
      yield;
      const facts = pageFacts(url);
      yield* readHtml(html, facts.handler);
      const isText = page.markdown || page.text > 0;
      const kept = textOf(page.kept, html);
      const seen = textOf(page.seen, kept);
      const options = { base: url, frontmatter: page.frontmatter };
      const markdown = isText ? (yield* conversion(seen, options)).markdown : "";
      const { noindex, nofollow } = readDirectives(facts.robots, robotsTag);
      const obeys = scope?.options.obeyNofollow === true;
      const links = facts.links
        .filter((_, index) => !obeys || !(nofollow || facts.nofollow.has(index)))
        .map((link) => ({ url: link }));
      return {
        title: facts.title(),
        canonical: facts.canonical(),
        noindex,
        links: scope === null ? [] : yield* sortLinks(links, scope, LINKS),
        ...(page.html ? { html: yield* jsonText(kept) } : {}),
        ...(page.markdown ? { markdown: yield* jsonText(markdown) } : {}),
        ...(page.text > 0 ? { text: markdown.slice(0, page.text) } : {}),
      };
    };
  },
};

function textOf(part: Uint8Array | undefined, whole: string): string {
  return part === undefined ? whole : new TextDecoder().decode(part);
}

/** Yields a text as JSON, in pieces: ten megabytes would take too long at once. Half a surrogate pair is escaped. */
function* jsonText(text: string): Generator<void, Uint8Array> {
  const pieces = [utf8('"')];
  for (let at = 0; at < text.length; at += STEP) {
    pieces.push(utf8(JSON.stringify(text.slice(at, at + STEP)).slice(1, -1)));
    yield;
  }
  pieces.push(utf8('"'));
  return joinBytes(pieces);
}
