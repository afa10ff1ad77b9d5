import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import { envelopeBody } from "../../http/envelope.ts";
import type { LongTask, Plain } from "../../ports.ts";
import type { LinksBody, ScrapeBody } from "../input/body.ts";
import type { Attributes, HtmlHandler } from "../markdown/html-events.ts";

/** The result that is asked for without a browser: one made of a document, or the document itself, which has to be a PDF. */
export type StaticAction = DocumentAction | { readonly kind: "pdf" };

/** A result that is made of a document without a browser. */
export type DocumentAction =
  | ({ readonly kind: "markdown"; readonly frontmatter: boolean } & Parts)
  | ({ readonly kind: "content" } & Parts)
  | { readonly kind: "links"; readonly excludeExternalLinks: boolean }
  | { readonly kind: "scrape"; readonly selectors: readonly string[] };

/** Returns the action of `/links` without a browser. */
export function staticLinks({ excludeExternalLinks = false }: LinksBody): StaticAction {
  return { kind: "links", excludeExternalLinks };
}

/** Returns the action of `/scrape` without a browser. */
export function staticScrape({ elements }: ScrapeBody): StaticAction {
  return { kind: "scrape", selectors: elements.map(({ selector }) => selector) };
}

/** Which parts of a document are wanted. */
type Parts = {
  readonly main: boolean;
  readonly includeTags: readonly string[];
  readonly excludeTags: readonly string[];
};

/** A document, and what is known of its answer. */
export type StaticPage = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  /** The document's address; null for `html` without one. */
  readonly url: string | null;
  /** Facts about its answer. */
  readonly meta: { readonly [name: string]: Plain };
  /** Its HTTP status; 200 for what did not come by HTTP. */
  readonly status: number;
  readonly action: DocumentAction;
};

/** Answers a rendering that needs no browser, from the bytes of the document to those of the answer. */
export const staticPage: LongTask<StaticPage, Uint8Array<ArrayBuffer>> = {
  name: "rendering/static-page",
  async load() {
    const { decodePage } = await import("../../text/decode-page.ts");
    const { conversion } = await import("../markdown/convert.ts");
    const { readHtml } = await import("../markdown/html-events.ts");
    const { scrape } = await import("../select/scrape.ts");
    return function* ({ bytes, contentType, url, meta, status, action }) {
      const text = yield* decodePage(bytes, contentType);
      if (text.trim() === "" && status >= 400) throw new ApiError("empty_http_error");
      const html = asHtml(text, contentType);
      const answer = (result: unknown, title: string): Uint8Array<ArrayBuffer> =>
        utf8(JSON.stringify(envelopeBody(result, { meta: { ...meta, title } })));
      if (action.kind === "markdown") {
        const { frontmatter } = action;
        const { markdown, title } = yield* conversion(html, { base: url, frontmatter });
        yield;
        return answer(markdown, title);
      }
      if (action.kind === "scrape") {
        const { results, title } = yield* scrape(html, action.selectors);
        yield;
        return answer(results, title);
      }
      const facts = pageFacts(url);
      yield* readHtml(html, facts.handler);
      yield;
      const title = facts.title();
      if (action.kind === "content") return answer(html, title);
      return answer(action.excludeExternalLinks ? ownLinks(facts.links, url) : facts.links, title);
    };
  },
};

/** Whether the text of a document is markup. */
export function isHtml(contentType: string): boolean {
  return /^\s*(?:text\/html|application\/xhtml\+xml)\b/iu.test(contentType);
}

/** The text of a document as markup: plain text as browsers show it. */
export function asHtml(text: string, contentType: string): string {
  if (isHtml(contentType)) return text;
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<html><head></head><body><pre>\n${escaped}</pre></body></html>`;
}

function ownLinks(links: readonly string[], url: string | null): string[] {
  const host = url === null ? "" : new URL(url).hostname;
  return links.filter((link) => new URL(link).hostname === host);
}

/** Facts about a document that is read. */
export interface DocumentReader {
  /** To be fed with the document. */
  readonly handler: HtmlHandler;
  /** Web addresses, in their order. */
  readonly links: string[];
  /** Positions of links that the page asks not to follow. */
  readonly nofollow: ReadonlySet<number>;
  /** The rules of the page for crawlers. */
  readonly robots: readonly string[];
  /** The address that the page calls its canonical one; "" without. */
  readonly canonical: () => string;
  readonly title: () => string;
}

/** Rules for crawlers that count. */
const RULES = 10;

/** Reads the title, the web addresses of links, and what the page says to crawlers. */
export function pageFacts(url: string | null): DocumentReader {
  const links: string[] = [];
  let base = url;
  let isBaseSet = false;
  let title: string | null = null;
  let isInTitle = false;
  let canonical = "";
  let isInHead = true;
  const nofollow = new Set<number>();
  const robots: string[] = [];
  // The contents of a template do not belong to the document.
  let skipped = 0;
  const setBase = (href: string): void => {
    if (isBaseSet) return;
    isBaseSet = true;
    const set = URL.parse(href, base ?? undefined);
    if (set !== null && /^https?:$/u.test(set.protocol)) base = set.href;
  };
  const webAddressOf = (href: string): string => {
    const link = URL.parse(href.trim(), base ?? undefined);
    return link !== null && /^https?:$/u.test(link.protocol) ? link.href : "";
  };
  const addLink = (href: string, { rel }: Attributes): void => {
    const link = webAddressOf(href);
    if (link === "") return;
    if (hasWord(rel, "nofollow")) nofollow.add(links.length);
    links.push(link);
  };
  return {
    links,
    nofollow,
    robots,
    canonical: () => canonical,
    title: () => (title ?? "").replaceAll(/\s+/gu, " ").trim(),
    handler: {
      open(name, attributes) {
        if (name === "template") skipped += 1;
        if (skipped > 0) return;
        if (name === "title") {
          isInTitle = title === null;
          title ??= "";
        }
        if (name === "body") isInHead = false;
        if (name === "meta" && robots.length < RULES) robots.push(...robotsRules(attributes));
        const { href } = attributes;
        if (href === undefined) return;
        if (name === "base") return setBase(href);
        if (name === "a") addLink(href, attributes);
        if (name === "link" && isInHead && hasWord(attributes["rel"], "canonical"))
          canonical ||= webAddressOf(href);
      },
      close(name) {
        if (name === "template") skipped -= 1;
        if (name === "title") isInTitle = false;
      },
      text(text) {
        if (isInTitle && skipped === 0) title += text;
      },
    },
  };
}

/** Whether a list of words, such as the attribute `rel`, has one. */
function hasWord(words: string | undefined, word: string): boolean {
  return (words ?? "").toLowerCase().split(/\s+/u).includes(word);
}

/** Returns the rules of a `<meta>` for all crawlers, or for this one. */
function robotsRules({ name = "", content = "" }: Attributes): string[] {
  return /^(?:robots|causeycrawler)$/iu.test(name.trim()) ? [content] : [];
}
