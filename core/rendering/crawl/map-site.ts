import * as v from "valibot";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { address } from "../job/schema.ts";
import { tooLate } from "../page/render.ts";
import { inSlot } from "../../work/fair-slots.ts";
import { within } from "../input/timers.ts";
import type { CrawlWork } from "./crawl-deps.ts";
import type { FoundPage } from "./rows/page-outcome.ts";
import { scopeFields, sourceField, wholeNumber } from "./rows/crawl-schema.ts";
import { loadSitemaps } from "./load-sitemaps.ts";
import { readPage } from "./read-page.ts";
import { mayRead, type Robots } from "./rules/robots.ts";
import { pageIdentity } from "./rules/page-identity.ts";
import { compileScope, pageAddress, type ScopeOptions } from "./rules/scope.ts";
import { fetchRobots, noRobots } from "./site-rules.ts";

/** The body of `POST …/map`. */
export interface MapBody {
  readonly url: string;
  /** Addresses, at most. @default 5000 */
  readonly limit?: number | undefined;
  /** @default "all" */
  readonly source?: "all" | "sitemaps" | "links" | undefined;
  readonly options?: ScopeOptions | undefined;
}

/** Addresses of one answer. */
const MOST = 30_000;
const USUAL = 5000;

/** A body of `POST …/map`. */
export const mapSchema: v.GenericSchema<unknown, MapBody> = v.object({
  url: address,
  limit: v.optional(wholeNumber(1, MOST)),
  source: sourceField,
  options: scopeFields,
});

/** Addresses of a site in their order, each once. */
interface SiteMap {
  readonly links: string[];
  /** The keys of their pages. */
  readonly keys: Set<string>;
  readonly most: number;
}

/**
 * Finds the addresses of a site without reading its pages: those of its sitemaps, and what its start links to.
 *
 * @throws ApiError naming a field; of the rendering rows when neither can be read
 */
export async function mapSite(
  deps: CrawlWork,
  body: MapBody,
  signal: AbortSignal,
): Promise<{ readonly links: readonly string[] }> {
  const { policy, platform, render } = deps;
  compileScope(body.options ?? {}, policy.allow);
  const url = pageAddress(body.url);
  if (url === null) throw invalidRequest("url: A web address of at most 2048 characters is needed");
  const key = pageIdentity(body.options ?? {}).keyOf(url);
  const map: SiteMap = { links: [url.href], keys: new Set([key]), most: body.limit ?? USUAL };
  return within(
    { ms: render.requestMs, system: platform.system, signal, expired: tooLate },
    (inner) =>
      inSlot(deps.maps, deps.owner, inner, async () => {
        const robots = (await fetchRobots(deps, url.origin, { url: url.href }, inner)) ?? noRobots;
        const start = await readStart(deps, url, { body, robots, signal: inner });
        if (body.source !== "links")
          await addSitemaps(deps, map, { body, final: start.final, robots, signal: inner });
        if (body.source !== "sitemaps") add(map, start.links);
        if (map.links.length === 1 && start.failure !== null) throw start.failure;
        return { links: map.links };
      }),
  );
}

function add({ links, keys, most }: SiteMap, pages: readonly FoundPage[]): void {
  for (const { url, key, within: isWithin } of pages) {
    if (!isWithin || links.length >= most || keys.has(key)) continue;
    keys.add(key);
    links.push(url);
  }
}

interface ReadStart {
  readonly links: readonly FoundPage[];
  /** The address to which it redirected. */
  readonly final: URL;
  readonly failure: ApiError | null;
}

interface StartInputs {
  readonly body: MapBody;
  readonly robots: Robots;
  readonly signal: AbortSignal;
}

/** Reads the links of the start, unless the site forbids it. A start that fails may have sitemaps nevertheless. */
async function readStart(
  deps: CrawlWork,
  url: URL,
  { body: { options = {} }, robots, signal }: StartInputs,
): Promise<ReadStart> {
  let final = url;
  if (!mayRead(robots, url)) return { links: [], final, failure: null };
  const visit = {
    url,
    isStart: true,
    isLast: false,
    traceparent: null,
    body: { url: url.href, render: false, formats: [] },
    follow: () => Promise.resolve(),
    scopeAt: (at: URL) => {
      final = at;
      return scopeOf(deps, options, url, at);
    },
  };
  try {
    const page = await readPage(deps, visit, signal);
    const isBusy = "later" in page;
    const failure = isBusy
      ? new ApiError("load_aborted", { message: "The site is too busy, or not available" })
      : null;
    return { links: isBusy ? [] : (page.links ?? []), final, failure };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ApiError && error.kind !== "blocked_url")
      return { links: [], final, failure: error };
    throw error;
  }
}

function scopeOf({ allowHosts }: CrawlWork, options: ScopeOptions, start: URL, final: URL) {
  return { options, homes: [...new Set([start.host, final.host])], allowHosts };
}

interface SitemapInputs {
  readonly body: MapBody;
  readonly final: URL;
  readonly robots: Robots;
  readonly signal: AbortSignal;
}

async function addSitemaps(
  deps: CrawlWork,
  map: SiteMap,
  { body: { url, options = {} }, final, robots, signal }: SitemapInputs,
): Promise<void> {
  const start = new URL(url);
  const own =
    final.origin === start.origin ? robots : await fetchRobots(deps, final.origin, { url }, signal);
  const rules = own ?? noRobots;
  const wish = {
    crawl: { url },
    origin: final.origin,
    robots: rules,
    scope: scopeOf(deps, options, start, final),
    since: null,
    delayMs: rules.delay === null ? deps.limits.delayMs : Math.ceil(rules.delay * 1000),
    take: (pages: readonly FoundPage[]) => {
      add(map, pages);
      return Promise.resolve(map.most - map.links.length);
    },
  };
  await loadSitemaps(deps, wish, map.most - map.links.length, signal);
}
