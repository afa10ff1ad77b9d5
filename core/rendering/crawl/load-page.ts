import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import { contentAction, visibleAction } from "../actions/actions.ts";
import type { RenderBody } from "../input/body.ts";
import { type Job, namedTo, prepareJob } from "../job/job.ts";
import { isPdfFailure } from "../input/errors.ts";
import { isPdf, PDF, type SourceDocument } from "../pdf/pdf-reader.ts";
import { render } from "../page/render.ts";
import { inSlot } from "../../work/fair-slots.ts";
import { isEmptyShell } from "../static/empty-shell.ts";
import { fetchDocument } from "../static/fetch-document.ts";
import { within } from "../input/timers.ts";
import type { CrawlWork } from "./crawl-deps.ts";
import { type CrawlBody, crawlFieldForBrowser } from "./rows/crawl-schema.ts";
import { CRAWLER_AGENT } from "./fetch-file.ts";
import type { ScopeInput } from "./sort-links.ts";

/** Replacements for a document, see {@link convertPage}. */
export interface DocumentParts {
  readonly kept?: Uint8Array | undefined;
  readonly seen?: Uint8Array | undefined;
}

export interface LoadedDocument extends DocumentParts {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly browserMs: number;
  /** How it was read, where the crawl leaves that open. */
  readonly render?: "static" | "browser";
  /** The file from which the HTML was made. */
  readonly source?: SourceDocument;
}

/** A page that a crawl is about to read. */
export interface PageVisit {
  readonly url: URL;
  readonly isStart: boolean;
  /** Whether this is the last attempt: a site that is too busy has failed then. */
  readonly isLast: boolean;
  readonly body: CrawlBody;
  /** The `traceparent` of the visit for the page's origin; null without tracing. */
  readonly traceparent: string | null;
  /** Is asked about each address that the page redirects to; what it throws ends the load. */
  readonly follow: (url: URL) => Promise<void>;
  /** Decides which links are followed; null when links do not matter. */
  readonly scopeAt: (final: URL) => ScopeInput | null;
}

/** The content type of a browser's document. */
export const UTF8_HTML = "text/html;charset=utf-8";

/** Loads a page, in a browser unless the crawl does without. */
export async function loadCrawled(
  deps: CrawlWork,
  visit: PageVisit,
  signal: AbortSignal,
): Promise<LoadedDocument> {
  const job = await jobOf(visit, deps);
  const { render: how } = visit.body;
  if (how === false) return loadStatic(deps, visit, job, signal);
  if (how === "auto" && crawlFieldForBrowser(visit.body) === undefined) {
    const document = await loadStatic(deps, visit, job, signal);
    const isFilled =
      deps.platform.capabilities.browser !== true ||
      document.status >= 400 ||
      !(await isEmptyShell(deps.platform, document, signal));
    if (isFilled) return { ...document, render: "static" };
  }
  try {
    const document = await loadInBrowser(deps, visit, job, signal);
    return how === "auto" ? { ...document, render: "browser" } : document;
  } catch (error) {
    if (deps.readPdf === null || !isPdfFailure(error)) throw error;
    return loadStatic(deps, visit, job, signal);
  }
}

async function loadStatic(
  deps: CrawlWork,
  { follow }: PageVisit,
  job: Job & { readonly url: URL },
  signal: AbortSignal,
): Promise<LoadedDocument> {
  const { readPdf, documents, policy } = deps;
  const { system, background } = deps.platform;
  const ms = job.timers.goto;
  const late = (): ApiError =>
    new ApiError("render_timeout", {
      message: `Timeout of ${ms} ms exceeded: the page did not load`,
    });
  const takesPdf = readPdf !== null;
  const { bytes, contentType, response } = await inSlot(deps.loads, deps.owner, signal, () =>
    within({ ms, system, signal, expired: late }, (inner) =>
      fetchDocument(documents, job, { allow: policy.allow, signal: inner, takesPdf, follow }),
    ),
  );
  const document = { bytes, contentType, browserMs: 0, ...response };
  if (readPdf === null || !isPdf(contentType)) return document;
  const read = await background.run(readPdf, { bytes }, signal);
  const source: SourceDocument = { type: PDF, pages: read.pages };
  return { ...document, bytes: read.bytes, contentType: UTF8_HTML, source };
}

/** Fields that are the crawl's own, and not those of the rendering of a page. */
type PageFields = Pick<RenderBody, "url" | "userAgent" | "render"> & Omit<CrawlBody, "url">;

async function jobOf(
  { url, body, isStart, traceparent }: PageVisit,
  { policy, owner }: CrawlWork,
): Promise<Job & { readonly url: URL }> {
  const { modifiedSince, render: inBrowser, ...rest } = body;
  const isHome = URL.parse(body.url)?.origin === url.origin;
  const { setExtraHTTPHeaders, authenticate, cookies, ...open } = rest;
  const since =
    // The start is read anyway, for its links.
    modifiedSince === undefined || inBrowser !== false || isStart
      ? undefined
      : { "if-modified-since": new Date(modifiedSince * 1000).toUTCString() };
  const page: PageFields = {
    ...open,
    // Credentials go to the origin for which they were given, and nowhere else.
    ...(isHome ? { authenticate, cookies } : {}),
    setExtraHTTPHeaders: { ...(isHome ? setExtraHTTPHeaders : {}), ...since },
    // A page that only scripts fill has to be waited for.
    ...(inBrowser === "auto" ? { render: inBrowser } : {}),
    url: url.href,
    userAgent: CRAWLER_AGENT,
  };
  const job = await prepareJob(page, policy);
  return { ...namedTo(traceparent ?? undefined, job), url, owner };
}

async function loadInBrowser(
  deps: CrawlWork,
  { body, follow, url }: PageVisit,
  job: Job,
  signal: AbortSignal,
): Promise<LoadedDocument> {
  let browserMs = 0;
  const isSeen = (body.formats ?? []).some((format) => format !== "html");
  const { result, meta } = await inSlot(deps.pages, deps.owner, signal, () =>
    render(deps.render, job, {
      signal,
      onBrowserMs: (ms) => (browserMs = ms),
      action: async (...loaded) => ({
        html: await contentAction()(...loaded),
        seen: isSeen ? await visibleAction()(...loaded) : null,
      }),
    }),
  );
  const final = meta.finalUrl ?? url.href;
  // The browser has followed the redirects already, behind the guard; a page outside of the crawl is not stored.
  if (final !== url.href) await follow(new URL(final));
  return {
    bytes: utf8(result.html),
    contentType: UTF8_HTML,
    ...(result.seen === null ? {} : { seen: utf8(result.seen) }),
    url: final,
    status: meta.status ?? 200,
    headers: meta.headers ?? {},
    browserMs,
  };
}
