import { isHome, pageIdentity } from "../rules/page-identity.ts";
import type { CrawlFacts, CrawlState } from "./crawl-state.ts";
import type { PageMetadata, PageOutcome, WaitingPage } from "./page-outcome.ts";

/** Pages of one key that a page is held against. */
const COPIES = 20;

/** The outcome of a page, and the key of the address that it gives itself. */
interface KeptOutcome {
  readonly outcome: PageOutcome;
  readonly otherKey: string | null;
}

/**
 * Turns the outcome of a page that the crawl has stored under another address into `skipped`: it redirected there, or both
 * have one canonical address. Neither alone is a proof, because sites give one canonical address to all of their pages by
 * mistake, and scripts change addresses: the titles have to agree as well.
 */
export async function withoutCopy(
  state: CrawlState,
  facts: CrawlFacts,
  page: WaitingPage,
  read: PageOutcome,
): Promise<KeptOutcome> {
  const { meta, canonical = "", contents: _contents, ...rest } = read;
  if (read.status !== "completed" || meta === undefined) return { outcome: read, otherKey: null };
  const { keyOf } = pageIdentity(facts.input.options ?? {});
  const ownKey = keyOf(new URL(page.url));
  const finalKey = keyOf(new URL(meta.url));
  const named = canonicalUrl(facts, meta, canonical);
  const namedKey = named === null ? finalKey : keyOf(named);
  const otherKey = namedKey === ownKey ? null : namedKey;
  const told = named === null || namedKey === finalKey ? meta : { ...meta, canonical: named.href };
  const keys = [...new Set([ownKey, finalKey, namedKey])];
  // The start is read for its links, and names the crawl.
  const isCopy = page.seq !== 0 && (await isStored(state, { page, keys, meta, keyOf }));
  if (!isCopy) return { outcome: { ...read, meta: told }, otherKey };
  return { outcome: { ...rest, meta: told, status: "skipped" }, otherKey };
}

/**
 * Returns the canonical address that a page may have: a page of another site must not stand for one of this site, nor the
 * home page, which the templates of some sites name on every page, for another one.
 */
function canonicalUrl(
  { homes, input }: CrawlFacts,
  meta: PageMetadata,
  canonical: string,
): URL | null {
  if (canonical === "" || input.options?.ignoreCanonical === true) return null;
  const url = pageIdentity(input.options ?? {}).addressOf(canonical);
  const own = new URL(meta.url);
  if (url === null || (isHome(url) && !isHome(own))) return null;
  const { host } = own;
  const isOwn = url.host === host || (homes.includes(host) && homes.includes(url.host));
  return isOwn ? url : null;
}

interface CopyInputs {
  readonly page: WaitingPage;
  readonly keys: readonly string[];
  readonly meta: PageMetadata;
  readonly keyOf: (url: URL) => string;
}

async function isStored(
  { context }: CrawlState,
  { page, keys, meta, keyOf }: CopyInputs,
): Promise<boolean> {
  const marks = keys.map(() => "?").join(", ");
  const rows = await context.sql.all(
    `SELECT meta FROM rendering_crawl_pages
      WHERE actor = ? AND seq <> ? AND status = 'completed'
        AND (page_key IN (${marks}) OR other_key IN (${marks})) LIMIT ${COPIES}`,
    [context.name, page.seq, ...keys, ...keys],
  );
  return rows.some((row) => {
    const stored = JSON.parse(String(row["meta"])) as PageMetadata;
    const title = meta.title ?? "";
    // A script may have changed the address of either: that alone proves nothing.
    if ((stored.title ?? "") !== title) return false;
    return title !== "" || keyOf(new URL(stored.url)) === keyOf(new URL(meta.url));
  });
}
