/** The part of some pages that is kept. */
export interface PagePart {
  /** A pattern of addresses or paths, as in {@link SiteWish.include}. */
  readonly path: string;
  /** A CSS selector: all elements that it matches are kept. */
  readonly selector: string;
}

/** The settings of a crawl of a website. */
export interface SiteWish {
  /** The address of the first page. */
  readonly url: string;
  /** The sources of further addresses. */
  readonly source: "all" | "sitemaps" | "links";
  /** The largest number of pages. */
  readonly limit: number;
  /** Links from the start to a page. @default without a bound */
  readonly depth?: number | undefined;
  readonly subdomains: boolean;
  /**
   * Patterns of addresses or paths, in which `*` matches within a segment and `**` across segments; empty = all of the
   * site.
   */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Addresses of sitemaps that are read in place of those that the site names. @default those */
  readonly sitemaps?: readonly string[] | undefined;
  /** Parts of pages that are kept; the first whose pattern matches counts. @default the main content of each page */
  readonly parts?: readonly PagePart[] | undefined;
  /** Reads pages in a browser. */
  readonly inBrowser: boolean;
  /** Headers of each request to the start's origin. No other origin gets them, as they may be credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The state of a crawl. */
export interface SiteCrawl {
  /** `failed` has a `reason`; `partial` has not seen all: it was ended by a limit, or a sitemap could not be read (`reason`). */
  readonly status: "running" | "completed" | "partial" | "failed";
  readonly reason?: string;
  /** The number of pages that are known so far. */
  readonly total: number;
  /** The number of pages that were read. */
  readonly finished: number;
}

/** One page of a crawl. */
export interface SitePage {
  /** Counts up from 0 in a crawl. */
  readonly seq: number;
  readonly url: string;
  /** `gone`: the page does not exist (404, 410), or the site forbids it. */
  readonly status: "read" | "failed" | "gone";
  readonly title?: string | undefined;
  /** The reason if it is `failed`. */
  readonly error?: string | undefined;
}

/** A crawl, and some of its pages. */
export interface SiteRead {
  readonly crawl: SiteCrawl;
  /** The pages, except those that the crawl left out. */
  readonly pages: readonly SitePage[];
  /** The position of the next pages; null after the last. */
  readonly next: number | null;
}

/** Crawls websites and keeps their pages as Markdown. A crawl goes on by itself after a restart. */
export interface SiteCrawler {
  /** Rejects if a crawl with these settings is not possible, so that the settings can be refused. */
  check(wish: SiteWish): Promise<void>;
  /** Begins a crawl, below the span of the caller; resolves to its id. Throws 429 while too many run. */
  begin(
    account: string,
    wish: SiteWish,
    signal: AbortSignal,
    traceparent?: string,
  ): Promise<string>;
  /** Reads the crawl, and at most `limit` of its pages from `seq` on; null when the crawl is gone. */
  read(account: string, id: string, seq: number, limit: number): Promise<SiteRead | null>;
  /** The Markdown of a page in UTF-8; null when it is gone, or longer than `maxBytes`. */
  markdown(account: string, id: string, seq: number, maxBytes: number): Promise<Uint8Array | null>;
  /** Ends a running crawl. */
  cancel(account: string, id: string): Promise<void>;
}
