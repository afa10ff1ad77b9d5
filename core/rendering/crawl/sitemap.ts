import type { LongTask } from "../../ports.ts";
import type { FoundPage } from "./rows/page-outcome.ts";
import { type ScopeInput, sortLinks } from "./sort-links.ts";

/** A sitemap's bytes, unpacked, and which of its pages are wanted. */
export type SitemapInput = {
  readonly bytes: Uint8Array;
  readonly most: number;
  readonly scope: ScopeInput;
  /** Unix ms; the crawl does not go to pages that say that they are older. */
  readonly since: number | null;
};

/** The pages and sitemaps that a crawl finds in a sitemap. */
export type ReadSitemap = {
  readonly pages: readonly FoundPage[];
  readonly sitemaps: readonly string[];
};

/** Pages of one sitemap, as sitemaps.org bounds them. */
const PAGES = 50_000;

/** Reads a sitemap beside the event loop: XML, or a text with an address in each line. Never throws. */
export const readSitemap: LongTask<SitemapInput, ReadSitemap> = {
  name: "rendering/sitemap",
  async load() {
    const { parseSitemap } = await import("./rules/parse-sitemap.ts");
    return function* ({ bytes, most, scope, since }) {
      const { pages, sitemaps } = yield* parseSitemap(new TextDecoder().decode(bytes), PAGES);
      const links = pages.map(({ url, modified }) => ({
        url,
        isOld: since !== null && modified !== null && modified < since,
      }));
      return { pages: yield* sortLinks(links, scope, most), sitemaps };
    };
  },
};
