/** What is wanted of a website. */
export interface SiteWish {
  /** Where it begins. */
  readonly url: string;
  /** Where pages are found. */
  readonly source: "all" | "sitemaps" | "links";
  /** Pages, at most. */
  readonly limit: number;
  /** Links from the start to a page. @default without a bound */
  readonly depth?: number | undefined;
  readonly subdomains: boolean;
  /** Addresses, or paths, that `*` (within a segment) and `**` stand for parts of; none = all of the site. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Whether pages are read in a browser. */
  readonly inBrowser: boolean;
  /** Headers of each request to the start's origin; in a browser only. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How a crawl is. */
export interface SiteCrawl {
  /** `failed` has a `reason`; `partial` was ended by a limit before it had seen all. */
  readonly status: "running" | "completed" | "partial" | "failed";
  readonly reason?: string;
  /** Pages that are known so far. */
  readonly total: number;
  /** Pages that were read. */
  readonly finished: number;
}

/** One page of a crawl. */
export interface SitePage {
  /** Counts up from 0 in a crawl. */
  readonly seq: number;
  readonly url: string;
  /** `gone`: the site says that there is no such page (404, 410), or forbids it. */
  readonly status: "read" | "failed" | "gone";
  readonly title?: string | undefined;
  /** Why it is `failed`. */
  readonly error?: string | undefined;
}

/** A crawl, and some of its pages. */
export interface SiteRead {
  readonly crawl: SiteCrawl;
  /** Without those that the crawl left out. */
  readonly pages: readonly SitePage[];
  /** Where the next pages begin; null after the last. */
  readonly next: number | null;
}

/** Crawls websites and keeps what they hold as Markdown; a crawl goes on by itself after a restart. */
export interface SiteCrawler {
  /** Throws the reason why a wish cannot be met: settings that make it are refused then. */
  check(wish: SiteWish): void;
  /** Begins a crawl, below the span that asks; its id. Throws 429 while too many run. */
  begin(
    account: string,
    wish: SiteWish,
    signal: AbortSignal,
    traceparent?: string,
  ): Promise<string>;
  /** The crawl, and at most `limit` of its pages from `seq` on; null when there is no such crawl any more. */
  read(account: string, id: string, seq: number, limit: number): Promise<SiteRead | null>;
  /** The Markdown of a page in UTF-8; null when it is gone, or longer than `maxBytes`. */
  markdown(account: string, id: string, seq: number, maxBytes: number): Promise<Uint8Array | null>;
  /** Ends a crawl that runs. */
  cancel(account: string, id: string): Promise<void>;
}
