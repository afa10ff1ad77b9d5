import { Parser } from "htmlparser2";

export type SitemapPage = {
  readonly url: string;
  /** Unix ms; null where it says nothing. */
  readonly modified: number | null;
};

export type Sitemap = {
  readonly pages: readonly SitemapPage[];
  /** The sitemaps that an index lists. */
  readonly sitemaps: readonly string[];
};

/** Characters of an address. */
const ADDRESS = 2048;
/** Sitemaps of one index. */
const SITEMAPS = 1000;
/** Characters that are read between two yields. */
const STEP = 16_384;

/** Parses a sitemap, at most `most` pages of it. */
export function* parseSitemap(text: string, most: number): Generator<void, Sitemap> {
  const pages: SitemapPage[] = [];
  const sitemaps: string[] = [];
  const take = (url: string, modified: string): void => {
    if (url === "" || url.length > ADDRESS || pages.length >= most) return;
    const at = Date.parse(modified);
    pages.push({ url, modified: Number.isNaN(at) ? null : at });
  };
  if (!/^\s*</u.test(text.slice(0, 1000))) {
    yield* linesOf(text, most, (line) => take(line, ""));
    return { pages, sitemaps };
  }
  const parser = new Parser(
    handler(take, (url) => {
      if (url !== "" && url.length <= ADDRESS && sitemaps.length < SITEMAPS) sitemaps.push(url);
    }),
    { xmlMode: true },
  );
  for (let at = 0; at < text.length && pages.length < most; at += STEP) {
    if (at > 0) yield;
    parser.write(text.slice(at, at + STEP));
  }
  parser.end();
  return { pages, sitemaps };
}

function* linesOf(
  text: string,
  most: number,
  onLine: (line: string) => void,
): Generator<void, void> {
  let count = 0;
  for (let at = 0; at < text.length && count < most; count++) {
    if (count % 1000 === 999) yield;
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end === -1 ? text.length : end);
    if (/^https?:\/\//iu.test(line.trim())) onLine(line.trim());
    at = end === -1 ? text.length : end + 1;
  }
}

interface XmlHandler {
  onopentag(name: string): void;
  ontext(text: string): void;
  onclosetag(name: string): void;
}

/** `loc` and `lastmod` count where the format has them: other vocabularies (images, news) have a `loc` as well. */
function handler(
  onPage: (url: string, modified: string) => void,
  onSitemap: (url: string) => void,
): XmlHandler {
  const path: string[] = [];
  let entry = { loc: "", lastmod: "" };
  const field = (): "loc" | "lastmod" | null => {
    const [parent, name] = path.slice(-2);
    if (parent !== "url" && parent !== "sitemap") return null;
    return name === "loc" || name === "lastmod" ? name : null;
  };
  return {
    onopentag(name) {
      path.push(name);
      if (name === "url" || name === "sitemap") entry = { loc: "", lastmod: "" };
    },
    ontext(text) {
      const name = field();
      if (name !== null && entry[name].length <= ADDRESS) entry[name] += text;
    },
    onclosetag(name) {
      path.pop();
      if (name === "url") onPage(entry.loc.trim(), entry.lastmod.trim());
      if (name === "sitemap") onSitemap(entry.loc.trim());
    },
  };
}
