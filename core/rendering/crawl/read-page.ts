import { clamp } from "../../http/fields/bounded-number.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import { contentAction, visibleAction } from "../actions/actions.ts";
import type { RenderBody } from "../input/body.ts";
import { type Job, namedTo, prepareJob } from "../job/job.ts";
import { askJson } from "../json/ask-json.ts";
import { isPdfFailure } from "../input/errors.ts";
import { isPdf, PDF, type SourceDocument } from "../pdf/pdf-reader.ts";
import { render } from "../page/render.ts";
import { inSlot } from "../../work/fair-slots.ts";
import { fetchDocument } from "../static/fetch-document.ts";
import { isHtml } from "../static/static-page.ts";
import { within } from "../input/timers.ts";
import { type ConvertedPage, convertPage } from "./convert-page.ts";
import type { CrawlWork } from "./crawl-deps.ts";
import type { PageOutcome } from "./rows/crawl-pages.ts";
import type { CrawlBody, CrawlFormat } from "./rows/crawl-schema.ts";
import { CRAWLER_AGENT } from "./fetch-file.ts";
import type { ScopeInput } from "./sort-links.ts";

/** Replacements for a document, see {@link convertPage}. */
interface Parts {
  readonly kept?: Uint8Array | undefined;
  readonly seen?: Uint8Array | undefined;
}

/** A document as it was loaded. */
interface Document extends Parts {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly browserMs: number;
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

/** Characters of a page that a model gets. */
const MODEL_TEXT = 200_000;
/** The content type of a browser's document. */
const UTF8_HTML = "text/html;charset=utf-8";
/** Milliseconds of a page, its waits for a turn and for a model included. */
const PAGE_MS = 600_000;

/** A site that has no answer for now. `ms` is how long it wants to be left alone; null when it does not say. */
export interface Later {
  readonly later: true;
  readonly ms: number | null;
}

/** Reads a page: loads it, and makes of it what the crawl asks for. */
export async function readPage(
  deps: CrawlWork,
  visit: PageVisit,
  signal: AbortSignal,
): Promise<PageOutcome | Later> {
  const { system } = deps.platform;
  const late = (): ApiError =>
    new ApiError("request_timeout", { message: "The page took too long" });
  return within({ ms: PAGE_MS, system, signal, expired: late }, async (inner) => {
    const document = await load(deps, visit, inner);
    if (!visit.isLast && (document.status === 429 || document.status === 503))
      return { later: true, ms: retryAfter(document.headers["retry-after"], system.now()) };
    if (document.status === 304) return { status: "skipped" };
    return convert(deps, visit, document, inner);
  });
}

/** The longest wait that six digits of seconds can express. */
const LONGEST_WAIT_MS = 999_999_000;

function retryAfter(header: string | undefined, now: number): number | null {
  if (header === undefined) return null;
  if (/^\d{1,6}$/u.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : clamp(date - now, 0, LONGEST_WAIT_MS);
}

function isOld({ headers }: Document, { modifiedSince }: CrawlBody): boolean {
  if (modifiedSince === undefined) return false;
  return Date.parse(headers["last-modified"] ?? "") < modifiedSince * 1000;
}

async function load(deps: CrawlWork, visit: PageVisit, signal: AbortSignal): Promise<Document> {
  const job = jobOf(visit, deps);
  if (visit.body.render === false) return loadStatic(deps, visit, job, signal);
  try {
    return await loadInBrowser(deps, visit, job, signal);
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
): Promise<Document> {
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
type PageFields = Pick<RenderBody, "url" | "userAgent"> & Omit<CrawlBody, "url">;

function jobOf(
  { url, body, isStart, traceparent }: PageVisit,
  { policy, owner }: CrawlWork,
): Job & { readonly url: URL } {
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
    url: url.href,
    userAgent: CRAWLER_AGENT,
  };
  return { ...namedTo(traceparent ?? undefined, prepareJob(page, policy)), url, owner };
}

async function loadInBrowser(
  deps: CrawlWork,
  { body, follow, url }: PageVisit,
  job: Job,
  signal: AbortSignal,
): Promise<Document> {
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

async function convert(
  deps: CrawlWork,
  visit: PageVisit,
  document: Document,
  signal: AbortSignal,
): Promise<PageOutcome> {
  const { body } = visit;
  const { url, status, browserMs, source } = document;
  const isFailure = status >= 400;
  const old = isOld(document, body) && !isFailure;
  const formats = old ? [] : (body.formats ?? ["html"]);
  const parts = isFailure ? document : await mainParts(deps, document, { body, formats, signal });
  // Without its main content, a page still has links.
  const wanted = parts instanceof ApiError ? [] : formats;
  const page = await convertParts(deps, document, {
    visit,
    wanted: isFailure ? "failure" : wanted,
    main: {
      parts: parts instanceof ApiError ? {} : parts,
      signal,
    },
  });
  const meta = {
    status,
    url: url.replace(/#.*$/su, ""),
    title: page.title,
    ...(source === undefined ? {} : { document: source }),
  };
  const read = { meta, browserMs, links: page.links };
  if (old) return { ...read, status: "skipped" };
  if (isFailure)
    return { ...read, status: "errored", error: `HTTP ${status}`, contents: contentsOf(page) };
  if (parts instanceof ApiError) return { ...read, status: "errored", error: parts.message };
  const found = page.text === undefined ? null : await dataOf(deps, page.text, body, signal);
  const contents = contentsOf(page);
  if (found instanceof ApiError)
    return { ...read, status: "errored", error: found.message, contents };
  if (found !== null) contents.push(["json", utf8(JSON.stringify(found.value))]);
  return { ...read, status: "completed", contents };
}

interface PartInputs {
  readonly visit: PageVisit;
  readonly wanted: readonly CrawlFormat[] | "failure";
  readonly main: { readonly parts: Parts; readonly signal: AbortSignal };
}

/** Makes formats of a document; of one that is a failure, what the site said. */
function convertParts(
  { platform, frontmatter }: CrawlWork,
  { bytes, contentType, url }: Document,
  { visit: { scopeAt }, wanted, main: { parts, signal } }: PartInputs,
): Promise<ConvertedPage> {
  const isFailure = wanted === "failure";
  const formats = isFailure ? ["html"] : wanted;
  const page = {
    bytes,
    contentType,
    kept: parts.kept,
    seen: parts.seen,
    url,
    html: formats.includes("html"),
    markdown: formats.includes("markdown"),
    text: formats.includes("json") ? MODEL_TEXT : 0,
    frontmatter,
    scope: isFailure ? null : scopeAt(new URL(url)),
  };
  return platform.background.run(convertPage, page, signal);
}

interface MainInputs {
  readonly body: CrawlBody;
  readonly formats: readonly CrawlFormat[];
  readonly signal: AbortSignal;
}

/**
 * Returns the part of a document that is stored, and the one that Markdown is made of: its main content where the crawl
 * asks for that.
 */
async function mainParts(
  { extract, platform }: CrawlWork,
  { bytes, contentType, seen }: Document,
  { body: { extract: asked }, formats, signal }: MainInputs,
): Promise<Parts | ApiError> {
  if (asked === undefined || extract === null || !isHtml(contentType)) return { seen };
  const mainOf = (part: Uint8Array, type: string): Promise<Uint8Array> =>
    platform.background.run(extract, { bytes: new Uint8Array(part), contentType: type }, signal);
  try {
    const needsHtml = formats.includes("html");
    const needsText = formats.some((format) => format !== "html");
    const kept =
      needsHtml || (needsText && seen === undefined) ? await mainOf(bytes, contentType) : undefined;
    const text = needsText && seen !== undefined ? await mainOf(seen, UTF8_HTML) : undefined;
    return { kept, seen: text };
  } catch (error) {
    if (error instanceof ApiError && !signal.aborted) return error;
    throw error;
  }
}

function contentsOf({ html, markdown }: ConvertedPage): [CrawlFormat, Uint8Array][] {
  return [
    ...(html === undefined ? [] : [["html", html] satisfies [CrawlFormat, Uint8Array]]),
    ...(markdown === undefined ? [] : [["markdown", markdown] satisfies [CrawlFormat, Uint8Array]]),
  ];
}

async function dataOf(
  { json }: CrawlWork,
  text: string,
  { jsonOptions = {} }: CrawlBody,
  signal: AbortSignal,
): Promise<{ readonly value: unknown } | ApiError> {
  return askJson(json, text, jsonOptions, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof ApiError) return error;
    throw error;
  });
}
