import { ApiError } from "../../http/api-error.ts";
import { checkUrl } from "../../net/check-url.ts";
import { within } from "../input/timers.ts";
import type { CrawlDeps } from "./crawl-deps.ts";
import type { FoundPage } from "./rows/page-outcome.ts";
import { type CrawlLogin, fetchFile } from "./fetch-file.ts";
import type { CrawlBody } from "./rows/crawl-schema.ts";
import { hostTurnsAt } from "./host-turns.ts";
import type { Robots } from "./rules/robots.ts";
import { readSitemap } from "./sitemap.ts";
import type { ScopeInput } from "./sort-links.ts";

/** Bytes of one sitemap, unpacked. */
const SITEMAP_LIMIT = 10 * 1024 * 1024;
/** Sitemaps of one crawl, those in indexes included. */
const SITEMAPS = 50;
/** Milliseconds for one sitemap, and for all. */
const ONE_MS = 30_000;
const ALL_MS = 180_000;

/** Which pages of sitemaps are wanted. */
export interface SitemapWish {
  /** The crawl that asks. Its `sitemaps` are read in place of the site's own. */
  readonly crawl: CrawlLogin & Pick<CrawlBody, "sitemaps">;
  readonly origin: string;
  readonly robots: Robots;
  readonly scope: ScopeInput;
  /** Unix ms; pages that say that they are older are left out. */
  readonly since: number | null;
  readonly delayMs: number;
  /** Takes the pages of one sitemap; resolves to how many more are wanted. */
  take(pages: readonly FoundPage[]): Promise<number>;
}

/**
 * Reads the sitemaps of a crawl, else those that the robots.txt of its site names, else `/sitemap.xml`. One that fails is passed
 * over. Resolves to why some pages may be missing; null when all sitemaps were read.
 */
export async function loadSitemaps(
  deps: CrawlDeps,
  wish: SitemapWish,
  most: number,
  signal: AbortSignal,
): Promise<string | null> {
  const { system, background } = deps.platform;
  const own = wish.crawl.sitemaps ?? wish.robots.sitemaps;
  const named = own.flatMap((one) => URL.parse(one, wish.origin)?.href ?? []);
  const waiting = named.length > 0 ? named : [new URL("/sitemap.xml", wish.origin).href];
  const seen = new Set(waiting);
  const end = system.monotonic() + ALL_MS;
  let room = most;
  let failure: string | null = null;
  for (let count = 0; count < SITEMAPS && room > 0 && system.monotonic() < end; count++) {
    const next = waiting.shift();
    if (next === undefined) return failure;
    const late = (): ApiError => new ApiError("render_timeout");
    const sitemap = await within({ ms: ONE_MS, system, signal, expired: late }, async (inner) => {
      const bytes = await sitemapAt(deps, next, wish, inner);
      const { scope, since } = wish;
      return background.run(readSitemap, { bytes, most: room, scope, since }, inner);
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      // The egress guard refuses such an address for good.
      if (!(error instanceof ApiError && error.kind === "blocked_url"))
        failure ??= `the sitemap ${next} could not be read (${error instanceof Error ? error.message : String(error)})`;
      return null;
    });
    if (sitemap === null) continue;
    for (const one of sitemap.sitemaps) {
      if (seen.size >= SITEMAPS * 2 || seen.has(one)) continue;
      seen.add(one);
      waiting.push(one);
    }
    room = await wish.take(sitemap.pages);
  }
  return waiting.length > 0 && room > 0 ? "the site has more sitemaps than are read" : failure;
}

/** Whether a status means that there is no such sitemap. One that the crawl names must exist; object stores answer 403 for a missing file. */
function isAbsent(status: number, { crawl, robots }: SitemapWish): boolean {
  if (crawl.sitemaps !== undefined) return false;
  const isNamed = robots.sitemaps.length > 0;
  return isNamed ? status === 404 || status === 410 : status < 500 && status !== 429;
}

/** Loads the bytes of a sitemap once it is its host's turn. */
async function sitemapAt(
  deps: CrawlDeps,
  address: string,
  wish: SitemapWish,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { crawl, delayMs } = wish;
  const verdict = checkUrl(address, deps.policy.allow);
  if (!verdict.ok) throw new ApiError("blocked_url", { message: verdict.reason });
  const { actors, system } = deps.platform;
  const turns = hostTurnsAt(actors, verdict.url.host);
  for (let wait = await turns.take(delayMs); wait > 0; wait = await turns.take(delayMs))
    await system.sleep(wait, signal);
  const { status, bytes } = await fetchFile(
    deps,
    { url: verdict.url, limit: SITEMAP_LIMIT, login: crawl },
    signal,
  );
  if (status === 200) return bytes;
  if (isAbsent(status, wish)) return new Uint8Array();
  throw new ApiError("load_aborted", { message: `HTTP ${status}` });
}
