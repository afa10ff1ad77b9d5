import { ApiError, invalidRequest } from "../../../http/api-error.ts";
import { joinBytes } from "../../../http/stream.ts";
import type { AllowHosts } from "../../../net/allow-hosts.ts";
import { checkUrl } from "../../../net/check-url.ts";
import type { SiteCrawl, SiteCrawler, SitePage, SiteWish } from "../../../ports.ts";
import { isInstalled } from "../../input/extractor.ts";
import { prepareJob } from "../../job/job.ts";
import { beginCrawl } from "./begin-crawl.ts";
import { checkCrawlFields } from "./check-crawl.ts";
import { crawlAt } from "../crawl-actor.ts";
import { type CrawlDeps, crawlWork } from "../crawl-deps.ts";
import { CONTENT_PART } from "../rows/crawl-pages.ts";
import { jsonStringReader } from "../rows/json-string.ts";
import type { CrawlRecord } from "../rows/crawl-records.ts";
import type { CrawlBody } from "../rows/crawl-schema.ts";
import type { CrawlStatus } from "../rows/crawl-state.ts";
import { compileScope, compileUrlPatterns } from "../rules/scope.ts";

/** Makes crawls for code of the same process: websites that search instances have as their source. */
export function siteCrawler(deps: CrawlDeps): SiteCrawler {
  const { actors } = deps.platform;
  return {
    async check(wish) {
      const body = siteCrawlBody(wish, deps.extract !== null);
      checkCrawlFields(deps, body);
      await prepareJob(body, deps.policy);
      compileScope(body.options ?? {}, deps.policy.allow);
      checkSitemaps(wish, deps.policy.allow);
      await checkParts(wish);
    },
    async begin(account, wish, signal, traceparent) {
      const { extract, platform } = deps;
      // Without its packages, every page would fail instead of being read whole.
      const isMain = extract !== null && (await isInstalled(extract, platform.background, signal));
      const body = siteCrawlBody(wish, isMain);
      return (
        await beginCrawl(crawlWork(deps, account), body, {
          account,
          signal,
          trace: traceparent ?? null,
        })
      ).id;
    },
    async read(account, id, seq, limit) {
      const crawl = crawlAt(actors, account, id);
      const found = await crawl.read({ cursor: seq, limit, status: null });
      if (found === null) return null;
      const { total, finished, status, records, cursor } = found;
      // The first page, the start, has the reason of a failed crawl and of unread sitemaps.
      const start = status === "running" ? undefined : await startOf(crawl);
      return {
        crawl: { ...ended(status, start), total, finished },
        pages: records.flatMap((record) => toPage(record) ?? []),
        next: cursor,
      };
    },
    async markdown(account, id, seq, maxBytes) {
      const crawl = crawlAt(actors, account, id);
      const { records: [record] = [] } =
        (await crawl.read({ cursor: seq, limit: 1, status: null })) ?? {};
      const size = record?.seq === seq ? record.sizes["markdown"] : undefined;
      // It is a JSON text, in which a byte takes six at most.
      if (size === undefined || size > 6 * maxBytes) return null;
      const reader = jsonStringReader();
      const parts: Uint8Array[] = [];
      let length = 0;
      for (let part = 0; part * CONTENT_PART < size; part++) {
        const data = await crawl.contentPart(seq, "markdown", part);
        if (data === null) return null;
        const text = reader.read(data, (part + 1) * CONTENT_PART >= size);
        length += text.length;
        if (length > maxBytes) return null;
        parts.push(text);
        // Rows come without a pause where the database is in this process.
        await deps.platform.system.sleep(0);
      }
      return joinBytes(parts);
    },
    async cancel(account, id) {
      await crawlAt(actors, account, id).cancel();
    },
  };
}

async function startOf(crawl: ReturnType<typeof crawlAt>): Promise<CrawlRecord | undefined> {
  return (await crawl.read({ cursor: 0, limit: 1, status: null }))?.records[0];
}

function checkSitemaps({ sitemaps = [] }: SiteWish, allow: AllowHosts): void {
  for (const [index, sitemap] of sitemaps.entries()) {
    const verdict = checkUrl(sitemap, allow);
    if (!verdict.ok)
      throw new ApiError("blocked_url", {
        message: `specific_sitemaps.${index}: ${verdict.reason}`,
      });
  }
}

/** Checks the parts of pages; what reads selectors is loaded when there are some. */
async function checkParts({ parts = [] }: SiteWish): Promise<void> {
  if (parts.length === 0) return;
  const { parseSelector } = await import("../../select/selector.ts");
  for (const [index, { path, selector }] of parts.entries()) {
    const field = `content_selector.${index}`;
    compileUrlPatterns([path], `${field}.path`);
    try {
      parseSelector(field, selector);
    } catch {
      throw invalidRequest(
        `${field}.selector: "${selector}" is not a selector, or one that only a browser knows`,
      );
    }
  }
}

/** Returns the request of a crawl whose pages become the items of a search instance. */
export function siteCrawlBody(wish: SiteWish, isMain: boolean): CrawlBody {
  const { url, limit, depth, source, subdomains, include, exclude, headers } = wish;
  const { sitemaps, parts } = wish;
  return {
    url,
    limit,
    source,
    formats: ["markdown"],
    // Menus and footers of each page would be found instead of it.
    ...(isMain ? { extract: "main" as const } : {}),
    crawlPurposes: ["search", "ai-input"],
    ...(depth === undefined ? {} : { depth }),
    ...(wish.inBrowser ? {} : { render: false }),
    ...(headers === undefined ? {} : { setExtraHTTPHeaders: headers }),
    ...(sitemaps === undefined ? {} : { sitemaps }),
    ...(parts === undefined ? {} : { parts }),
    options: {
      includeSubdomains: subdomains,
      includePatterns: [...include],
      excludePatterns: [...exclude],
      // Pages that a crawl leaves out are deleted from the index, so only its limit may leave any out.
      maxPerPattern: limit,
    },
  };
}

function ended(
  status: CrawlStatus,
  start: CrawlRecord | undefined,
): Pick<SiteCrawl, "status" | "reason"> {
  if (status === "running") return { status };
  if (status === "completed" && start?.status === "completed" && start.error !== undefined)
    return { status: "partial", reason: start.error };
  if (status === "completed") return { status };
  if (status === "errored") return { status: "failed", reason: start?.error ?? "No page was read" };
  if (status === "cancelled_by_user") return { status: "failed", reason: "It was cancelled" };
  return { status: "partial" };
}

function toPage({ seq, url, status, metadata, error }: CrawlRecord): SitePage | null {
  const page = { seq, url };
  if (status === "completed") return { ...page, status: "read", title: metadata?.title };
  if (status === "disallowed") return { ...page, status: "gone" };
  if (status !== "errored") return null;
  const isGone = metadata?.status === 404 || metadata?.status === 410;
  return isGone ? { ...page, status: "gone" } : { ...page, status: "failed", error };
}
