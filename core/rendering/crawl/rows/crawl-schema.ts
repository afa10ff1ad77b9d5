import * as v from "valibot";
import type { PagePart } from "../../../ports.ts";
import type { RenderBody } from "../../input/body.ts";
import { jsonFields, type JsonOptions } from "../../json/json-body.ts";
import { address, common, extractField } from "../../job/schema.ts";
import type { ScopeOptions } from "../rules/scope.ts";

/** A format in which a crawl stores pages. */
export type CrawlFormat = "html" | "markdown" | "json";

/** Which pages a crawl goes to, and which of them it stores. */
export type CrawlChoices = ScopeOptions & {
  /** Whether a page that asks not to be stored is skipped. */
  readonly obeyNoindex?: boolean | undefined;
  /** Whether a page may be stored again that calls another one its canonical address. */
  readonly ignoreCanonical?: boolean | undefined;
  /** Pages whose addresses differ in dates, filters or repeated parts of the path only. @default 500 */
  readonly maxPerPattern?: number | undefined;
};

/** The body of `POST …/crawl`. */
export interface CrawlBody extends Omit<RenderBody, "html" | "userAgent"> {
  readonly url: string;
  /** The largest number of pages. @default 10 */
  readonly limit?: number | undefined;
  /** Links from the start to a page, at most. @default 100000 */
  readonly depth?: number | undefined;
  /** @default "all" */
  readonly source?: "all" | "sitemaps" | "links" | undefined;
  /** @default ["html"] */
  readonly formats?: readonly CrawlFormat[] | undefined;
  readonly jsonOptions?: JsonOptions | undefined;
  /** The main content of each page only. */
  readonly extract?: "main" | undefined;
  /** Seconds. */
  readonly maxAge?: number | undefined;
  /** Unix seconds. */
  readonly modifiedSince?: number | undefined;
  readonly options?: CrawlChoices | undefined;
  /** @default all three */
  readonly crawlPurposes?: readonly ("search" | "ai-input" | "ai-train")[] | undefined;
  /** @default "full" */
  readonly contentUse?: "reference" | "full" | undefined;
  readonly browser?: "kitesurf" | undefined;
  /** Sitemaps that are read in place of the site's own. Search instances set it, requests cannot. */
  readonly sitemaps?: readonly string[] | undefined;
  /** Parts that are kept in place of whole pages. Search instances set it, requests cannot. */
  readonly parts?: readonly PagePart[] | undefined;
}

/** Pages of one crawl, and steps from its start. */
const MOST = 100_000;

/** Makes a schema for a whole number within bounds. */
export function wholeNumber(min: number, max: number): v.GenericSchema<number> {
  return v.pipe(
    v.number(),
    v.integer("A whole number is needed"),
    v.minValue(min),
    v.maxValue(max),
  );
}

const texts = v.array(v.pipe(v.string(), v.nonEmpty()));
const some = <T extends string>(values: readonly T[]): v.GenericSchema<T[]> =>
  v.pipe(
    v.array(v.picklist(values)),
    v.minLength(1),
    v.transform((chosen) => [...new Set(chosen)]),
  ) as v.GenericSchema<T[]>;

const { html: _html, userAgent: _userAgent, url: _url, ...page } = common;

/** The sources in which pages are found. */
export const sourceField: v.GenericSchema<unknown, CrawlBody["source"]> = v.optional(
  v.picklist(["all", "sitemaps", "links"]),
);

const ignoredName = v.pipe(v.string(), v.regex(/^[^\s&=#]{1,100}$/u, "A name is needed"));
const scopeEntries = {
  includeExternalLinks: v.optional(v.boolean()),
  includeSubdomains: v.optional(v.boolean()),
  includePatterns: v.optional(texts),
  excludePatterns: v.optional(texts),
  ignoreQueryParameters: v.optional(
    v.union([v.boolean(), v.pipe(v.array(ignoredName), v.maxLength(100))]),
  ),
  deduplicateSimilarURLs: v.optional(v.boolean()),
  obeyNofollow: v.optional(v.boolean()),
};

/** Which pages are meant. */
export const scopeFields: v.GenericSchema<unknown, ScopeOptions | undefined> = v.optional(
  v.object(scopeEntries),
);

const crawlChoices: v.GenericSchema<unknown, CrawlChoices | undefined> = v.optional(
  v.object({
    ...scopeEntries,
    obeyNoindex: v.optional(v.boolean()),
    ignoreCanonical: v.optional(v.boolean()),
    maxPerPattern: v.optional(wholeNumber(1, MOST)),
  }),
);

/** A body of `POST …/crawl`. */
export const crawlSchema: v.GenericSchema<unknown, CrawlBody> = v.object({
  ...page,
  url: address,
  limit: v.optional(wholeNumber(1, MOST)),
  depth: v.optional(wholeNumber(0, MOST)),
  source: sourceField,
  formats: v.optional(some(["html", "markdown", "json"])),
  jsonOptions: v.optional(v.object(jsonFields)),
  extract: extractField,
  maxAge: v.optional(wholeNumber(0, 604_800)),
  modifiedSince: v.optional(wholeNumber(0, Number.MAX_SAFE_INTEGER)),
  options: crawlChoices,
  crawlPurposes: v.optional(some(["search", "ai-input", "ai-train"])),
  contentUse: v.optional(v.picklist(["reference", "full"])),
  browser: v.optional(v.picklist(["kitesurf"])),
});

/** The fields of a crawl that needs no browser. */
const staticFields = new Set([
  "url",
  "limit",
  "depth",
  "source",
  "formats",
  "render",
  "jsonOptions",
  "extract",
  "maxAge",
  "modifiedSince",
  "options",
  "crawlPurposes",
  "contentUse",
  "setExtraHTTPHeaders",
  "authenticate",
  "sitemaps",
  "parts",
]);

/** Returns the name of a field that needs a browser; undefined when a body has none. */
export function crawlFieldForBrowser(body: CrawlBody): string | undefined {
  const wrong = Object.entries(body).find(
    ([name, value]) => value !== undefined && !staticFields.has(name),
  );
  return wrong?.[0];
}
