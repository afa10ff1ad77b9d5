import { checkCrawl } from "./check-crawl.ts";
import { crawlAt } from "../crawl-actor.ts";
import type { CrawlWork } from "../crawl-deps.ts";
import { crawlListAt } from "../rows/crawl-list.ts";
import type { CrawlBody } from "../rows/crawl-schema.ts";

/** A crawl that runs now. */
export interface BegunCrawl {
  readonly id: string;
  /** Notes on fields of the body that have no effect. */
  readonly notes: readonly string[];
}

/** The account that begins a crawl, and the request's span. */
export interface CrawlStart {
  readonly account: string;
  readonly signal: AbortSignal;
  /** The request's `traceparent`; null without tracing. */
  readonly trace: string | null;
}

/** Begins a crawl of an account. @throws ApiError naming the field, 429 while too many run */
export async function beginCrawl(
  deps: CrawlWork,
  body: CrawlBody,
  { account, signal, trace }: CrawlStart,
): Promise<BegunCrawl> {
  const { actors, system } = deps.platform;
  const { input, robots, notes } = await checkCrawl(deps, body, signal);
  const id = system.id();
  const list = crawlListAt(actors, account);
  const { running, kept } = deps.limits;
  const old = await list.reserve({ id, url: input.url }, { running, kept });
  for (const one of old) await crawlAt(actors, account, one).expire();
  if (old.length > 0) await list.forget(old);
  const { origin } = new URL(input.url);
  await crawlAt(actors, account, id).create(JSON.stringify(input), origin, robots, {
    owner: deps.owner,
    trace,
  });
  return { id, notes };
}
