import { notArray } from "../../http/fields/schema-fields.ts";
import * as v from "valibot";
import { HEADER_NAME } from "../../http/fields/header-schema.ts";
import type { PagePart } from "../../ports.ts";

/** How a website is crawled: `source_params.web_crawler`. */
export interface WebCrawlerParams {
  readonly parse_type?: "sitemap" | "discover" | undefined;
  readonly parse_options?:
    | {
        readonly use_browser_rendering?: boolean | undefined;
        readonly include_headers?: Readonly<Record<string, string>> | undefined;
        readonly include_images?: boolean | undefined;
        readonly content_selector?: readonly PagePart[] | undefined;
        readonly specific_sitemaps?: readonly string[] | undefined;
      }
    | null
    | undefined;
  readonly discover_options?:
    | {
        readonly source?: "all" | "sitemaps" | "links" | undefined;
        readonly depth?: number | undefined;
        readonly limit?: number | undefined;
        readonly include_subdomains?: boolean | undefined;
        readonly include_external_links?: boolean | undefined;
        readonly max_age?: number | undefined;
      }
    | null
    | undefined;
}

/** Which part of a source an instance follows. */
export interface SourceParams {
  /** The prefix of a bucket's keys. */
  readonly prefix?: string | null | undefined;
  readonly include_items?: readonly string[] | null | undefined;
  readonly exclude_items?: readonly string[] | null | undefined;
  readonly r2_jurisdiction?: string | null | undefined;
  /** The address of the bucket; our own addition. */
  readonly endpoint?: string | null | undefined;
  /** The bucket's region; our own addition. */
  readonly region?: string | null | undefined;
  readonly web_crawler?: WebCrawlerParams | null | undefined;
}

/** The fields of an instance that say where its items come from. */
export interface SourceFields {
  readonly type?: "r2" | "web-crawler" | null | undefined;
  readonly source?: string | null | undefined;
  readonly source_params?: SourceParams | null | undefined;
  readonly sync_interval?: number | null | undefined;
  readonly token_id?: string | null | undefined;
}

const whole = (min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));

/** A pattern for paths, e.g. `/docs/**`. */
const pattern = (max: number) =>
  v.pipe(
    v.string(),
    v.minLength(1),
    v.maxLength(max),
    v.regex(/^[^?[\]{}()!]*$/u, "Only * and ** stand for other text here"),
    v.check((text) => (text.match(/\*+/gu)?.length ?? 0) <= 10, "expected at most 10 wildcards"),
  );

/** The hosted API also takes at most ten rules. */
const patterns = v.nullish(v.pipe(v.array(pattern(1000)), v.maxLength(10)));

/**
 * Headers of the requests to a website. The bounds of these and of the fields below are those of the hosted API:
 * https://developers.cloudflare.com/ai-search/configuration/data-source/website/#limits
 */
const includeHeaders = v.pipe(
  notArray,
  v.record(
    v.pipe(v.string(), v.regex(HEADER_NAME, "expected the name of a header")),
    // Without the value in its message: it may be a credential.
    v.pipe(
      v.string(),
      v.regex(/^[\t\x20-\x7e]{1,4096}$/u, "expected 1 to 4096 printable characters"),
    ),
  ),
  v.check((headers) => Object.keys(headers).length <= 5, "At most 5 are allowed"),
);

const contentSelector = v.pipe(
  v.array(
    v.object({
      path: pattern(200),
      selector: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
    }),
  ),
  v.minLength(1, "At least one is needed: leave it out for the main content of each page"),
  v.maxLength(10),
);

const specificSitemaps = v.pipe(
  v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(2048))),
  v.minLength(1, "At least one is needed: leave it out for those that the site names"),
  v.maxLength(5),
);

const webCrawler = v.object({
  parse_type: v.optional(v.picklist(["sitemap", "discover"])),
  parse_options: v.nullish(
    v.object({
      use_browser_rendering: v.optional(v.boolean()),
      include_headers: v.optional(includeHeaders),
      include_images: v.optional(v.boolean()),
      content_selector: v.optional(contentSelector),
      specific_sitemaps: v.optional(specificSitemaps),
    }),
  ),
  discover_options: v.nullish(
    v.object({
      source: v.optional(v.picklist(["all", "sitemaps", "links"])),
      depth: v.optional(whole(0, 100_000)),
      limit: v.optional(whole(1, 100_000)),
      include_subdomains: v.optional(v.boolean()),
      include_external_links: v.optional(v.boolean()),
      max_age: v.optional(whole(0, 604_800)),
    }),
  ),
});

const text = (max: number) => v.nullish(v.pipe(v.string(), v.maxLength(max)));

/** `source_params` of an instance. */
export const sourceParams: v.GenericSchema<unknown, SourceParams> = v.object({
  prefix: text(1024),
  include_items: patterns,
  exclude_items: patterns,
  r2_jurisdiction: text(64),
  endpoint: text(2048),
  region: text(64),
  web_crawler: v.nullish(webCrawler),
});
