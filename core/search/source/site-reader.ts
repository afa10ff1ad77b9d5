import { ApiError } from "../../http/api-error.ts";
import type { SitePage, SiteCrawler } from "../../ports.ts";
import { FILE_LIMIT } from "../ingest/extract-text.ts";
import type { SiteSource } from "../state/check-site.ts";
import type { SourceContent, SourceEntry, SourceReader } from "../rows/source-reader.ts";

/** How far a website is. */
interface Place {
  /** The crawl; null before it was begun. */
  readonly crawl: string | null;
  /** The next page of it. */
  readonly seq: number;
}

/** Pages of one part. */
const PART = 100;
/** Milliseconds between two looks at a crawl, and before one is begun again that was refused. */
const LOOK_MS = 1000;
const REFUSED_MS = 30_000;

/** Reads a website by a crawl of the rendering part, which goes on by itself. Its pages are taken once it is over. */
export function siteReader(
  { id, wish }: SiteSource,
  account: string,
  crawler: SiteCrawler,
): SourceReader {
  return {
    id,
    async part(cursor, signal) {
      const { crawl, seq } = placeOf(cursor);
      if (crawl === null) return begin(account, wish, crawler, signal);
      const found = await crawler.read(account, crawl, seq, PART);
      if (found === null) throw failure("Its crawl is gone");
      const { status, reason, total } = found.crawl;
      if (status === "running") return { waitMs: LOOK_MS, cursor, total };
      if (status === "failed") throw failure(reason ?? "No page was read");
      return {
        total,
        entries: found.pages.flatMap((page) => entryOf(page, account, crawl, crawler) ?? []),
        next: found.next === null ? null : cursorAt(crawl, found.next),
      };
    },
    async incomplete(cursor) {
      const { crawl } = placeOf(cursor);
      const found = crawl === null ? null : await crawler.read(account, crawl, 0, 1);
      if (found?.crawl.status !== "completed")
        return found?.crawl.reason ?? "the crawl was ended before it had seen all";
      return found.crawl.total >= wish.limit
        ? `the crawl found ${wish.limit} pages, its limit`
        : null;
    },
    async cancel(cursor) {
      const { crawl } = placeOf(cursor);
      if (crawl !== null) await crawler.cancel(account, crawl);
    },
  };
}

async function begin(
  account: string,
  wish: SiteSource["wish"],
  crawler: SiteCrawler,
  signal: AbortSignal,
): Promise<{ readonly waitMs: number; readonly cursor: string }> {
  try {
    const crawl = await crawler.begin(account, wish, signal);
    return { waitMs: LOOK_MS, cursor: cursorAt(crawl, 0) };
  } catch (error) {
    // As many crawls run as may: the next one's turn comes.
    if (error instanceof ApiError && error.status === 429)
      return { waitMs: REFUSED_MS, cursor: "" };
    throw error;
  }
}

/** Makes the entry of a page; null for a page that is gone, whose item will be deleted. */
function entryOf(
  { seq, url, status, title, error }: SitePage,
  account: string,
  crawl: string,
  crawler: SiteCrawler,
): SourceEntry | null {
  if (status === "gone") return null;
  return {
    key: url,
    version: null,
    cursor: cursorAt(crawl, seq + 1),
    async load() {
      if (status === "failed") throw failure(error ?? "The page could not be read");
      const bytes = await crawler.markdown(account, crawl, seq, FILE_LIMIT);
      if (bytes === null) throw failure(`The page has more than ${FILE_LIMIT} bytes of text`);
      const metadata: SourceContent["metadata"] =
        title === undefined || title === "" ? {} : { title: title.slice(0, 500) };
      return { bytes, contentType: "text/markdown;charset=utf-8", metadata };
    },
  };
}

function placeOf(cursor: string): Place {
  if (cursor === "") return { crawl: null, seq: 0 };
  const [crawl = "", seq] = cursor.split(" ");
  return { crawl, seq: Number(seq) };
}

function cursorAt(crawl: string, seq: number): string {
  return `${crawl} ${seq}`;
}

function failure(message: string): ApiError {
  return new ApiError("network_error", { message });
}
