import * as v from "valibot";
import type { PageMeta } from "../../../core/rendering/page/render.ts";
import { instant } from "./parts.ts";

const headers = v.record(v.string(), v.string());

/** Facts on the page in the envelope of a rendering: `meta`. */
export const pageMeta: v.GenericSchema<PageMeta & { readonly truncated?: true }> = v.object({
  status: v.exactOptional(v.number()),
  title: v.string(),
  finalUrl: v.exactOptional(v.string()),
  headers: v.exactOptional(headers),
  redirectChain: v.exactOptional(
    v.array(v.object({ url: v.string(), status: v.number(), headers })),
  ),
  refusedNavigations: v.exactOptional(
    v.array(
      v.object({
        url: v.string(),
        reason: v.picklist(["forbidden", "blocked", "unreachable", "download"]),
      }),
    ),
  ),
  failedFiles: v.exactOptional(
    v.array(
      v.object({
        url: v.string(),
        type: v.string(),
        reason: v.picklist(["forbidden", "unreachable", "status", "refused", "unreadable", "late"]),
        detail: v.string(),
      }),
    ),
  ),
  failedFilesTotal: v.exactOptional(v.number()),
  truncated: v.exactOptional(v.literal(true)),
});

const accessibilityTree = v.nullable(v.objectWithRest({ role: v.string() }, v.unknown()));

const match = v.object({
  text: v.string(),
  html: v.string(),
  attributes: v.array(v.object({ name: v.string(), value: v.string() })),
  // A browser alone knows the places.
  height: v.exactOptional(v.number()),
  width: v.exactOptional(v.number()),
  top: v.exactOptional(v.number()),
  left: v.exactOptional(v.number()),
});

const crawlStatus = v.picklist([
  "running",
  "completed",
  "errored",
  "cancelled_by_user",
  "cancelled_due_to_timeout",
  "cancelled_due_to_limits",
]);

const counters = { total: v.number(), finished: v.number(), skipped: v.number() };

const page = v.object({
  url: v.string(),
  status: v.picklist(["queued", "errored", "completed", "disallowed", "skipped", "cancelled"]),
  metadata: v.exactOptional(
    v.object({ status: v.number(), url: v.string(), title: v.exactOptional(v.string()) }),
  ),
  error: v.exactOptional(v.string()),
  html: v.exactOptional(v.string()),
  markdown: v.exactOptional(v.string()),
  json: v.exactOptional(v.unknown()),
});

/** Answers of rendering, by their names in the document. */
export const renderingAnswers: Readonly<
  Record<
    | "RenderedText"
    | "RenderedData"
    | "RenderedLinks"
    | "RenderedElements"
    | "RenderedSnapshot"
    | "RenderedTree"
    | "CrawlId"
    | "CrawlList"
    | "CrawlState"
    | "CrawlEnd"
    | "SiteMap",
    v.GenericSchema
  >
> = {
  RenderedText: v.string(),
  RenderedData: v.unknown(),
  RenderedLinks: v.array(v.string()),
  RenderedElements: v.array(v.object({ selector: v.string(), results: v.array(match) })),
  RenderedSnapshot: v.object({
    content: v.exactOptional(v.string()),
    markdown: v.exactOptional(v.string()),
    screenshot: v.exactOptional(v.string()),
    accessibilityTree: v.exactOptional(accessibilityTree),
  }),
  RenderedTree: v.object({ accessibilityTree }),
  CrawlId: v.string(),
  CrawlList: v.object({
    jobs: v.array(
      v.object({
        id: v.string(),
        url: v.string(),
        status: crawlStatus,
        ...counters,
        created_at: instant,
        ended_at: v.nullable(instant),
      }),
    ),
    cursor: v.exactOptional(v.number()),
  }),
  CrawlState: v.object({
    id: v.string(),
    status: crawlStatus,
    ...counters,
    browserSecondsUsed: v.number(),
    cursor: v.exactOptional(v.number()),
    records: v.array(page),
  }),
  CrawlEnd: v.object({ job_id: v.string(), message: v.string() }),
  SiteMap: v.object({ links: v.array(v.string()) }),
};
