import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import { envelopeBody } from "../../http/envelope.ts";
import type { LongTask, Plain } from "../../ports.ts";
import type { LinksBody, ScrapeBody } from "../input/body.ts";
import type { HtmlHandler } from "../markdown/html-events.ts";

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
    const { decodeText } = await import("../../text/decode-text.ts");
    const { conversion } = await import("../markdown/convert.ts");
    const { readHtml } = await import("../markdown/html-events.ts");
    const { scrape } = await import("../select/scrape.ts");
    return function* ({ bytes, contentType, url, meta, status, action }) {
      const text = yield* decodeText(bytes, contentType);
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
  readonly title: () => string;
}

/** Reads the title and the web addresses of links. */
export function pageFacts(url: string | null): DocumentReader {
  const links: string[] = [];
  let base = url;
  let isBaseSet = false;
  let title: string | null = null;
  let isInTitle = false;
  // The contents of a template do not belong to the document.
  let skipped = 0;
  const setBase = (href: string): void => {
    if (isBaseSet) return;
    isBaseSet = true;
    const set = URL.parse(href, base ?? undefined);
    if (set !== null && /^https?:$/u.test(set.protocol)) base = set.href;
  };
  return {
    links,
    title: () => (title ?? "").replaceAll(/\s+/gu, " ").trim(),
    handler: {
      open(name, { href }) {
        if (name === "template") skipped += 1;
        if (skipped > 0) return;
        if (name === "title") {
          isInTitle = title === null;
          title ??= "";
        }
        if (href === undefined) return;
        if (name === "base") return setBase(href);
        const link = name === "a" ? URL.parse(href.trim(), base ?? undefined) : null;
        if (link !== null && /^https?:$/u.test(link.protocol)) links.push(link.href);
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
