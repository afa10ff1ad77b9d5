import { retryAfterMs } from "../../http/fields/retry-after.ts";
import { utf8 } from "../../crypto/encoding.ts";
import { selectParts } from "../select/select-parts.ts";
import { compileUrlPatterns } from "./rules/scope.ts";
import { ApiError } from "../../http/api-error.ts";
import { askJson } from "../json/ask-json.ts";
import { isHtml } from "../static/static-page.ts";
import { within } from "../input/timers.ts";
import { type ConvertedPage, convertPage } from "./convert-page.ts";
import type { CrawlWork } from "./crawl-deps.ts";
import {
  type DocumentParts,
  type LoadedDocument,
  loadCrawled,
  type PageVisit,
  UTF8_HTML,
} from "./load-page.ts";
import type { PageMetadata, PageOutcome } from "./rows/page-outcome.ts";
import type { CrawlBody, CrawlFormat } from "./rows/crawl-schema.ts";

/** Characters of a page that a model gets. */
const MODEL_TEXT = 200_000;
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
    const document = await loadCrawled(deps, visit, inner);
    if (!visit.isLast && (document.status === 429 || document.status === 503))
      return { later: true, ms: retryAfterMs(document.headers["retry-after"], system.now()) };
    if (document.status === 304) return { status: "skipped" };
    return convert(deps, visit, document, inner);
  });
}

function isOld({ headers, status }: LoadedDocument, { modifiedSince }: CrawlBody): boolean {
  if (modifiedSince === undefined || status >= 400) return false;
  return Date.parse(headers["last-modified"] ?? "") < modifiedSince * 1000;
}

/** Whether a page asks not to be stored, and the crawl obeys. */
function isUnwanted({ noindex }: ConvertedPage, { options }: CrawlBody): boolean {
  return noindex && options?.obeyNoindex === true;
}

async function convert(
  deps: CrawlWork,
  visit: PageVisit,
  document: LoadedDocument,
  signal: AbortSignal,
): Promise<PageOutcome> {
  const { body } = visit;
  const { status, browserMs } = document;
  const isFailure = status >= 400;
  const old = isOld(document, body);
  const formats = old ? [] : (body.formats ?? ["html"]);
  const parts = isFailure ? document : await mainParts(deps, document, { visit, formats, signal });
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
  const meta = metadataOf(document, page.title);
  const { links, canonical } = page;
  const read = { meta, browserMs, links, canonical };
  if (isFailure)
    return { ...read, status: "errored", error: `HTTP ${status}`, contents: contentsOf(page) };
  if (old || isUnwanted(page, body)) return { ...read, status: "skipped" };
  if (parts instanceof ApiError) return { ...read, status: "errored", error: parts.message };
  const found = page.text === undefined ? null : await dataOf(deps, page.text, body, signal);
  const contents = contentsOf(page);
  if (found instanceof ApiError)
    return { ...read, status: "errored", error: found.message, contents };
  if (found !== null) contents.push(["json", utf8(JSON.stringify(found.value))]);
  return { ...read, status: "completed", contents };
}

function metadataOf(
  { url, status, source, render }: LoadedDocument,
  title: string | undefined,
): PageMetadata {
  return {
    status,
    url: url.replace(/#.*$/su, ""),
    ...(title === undefined ? {} : { title }),
    ...(render === undefined ? {} : { render }),
    ...(source === undefined ? {} : { document: source }),
  };
}

interface PartInputs {
  readonly visit: PageVisit;
  readonly wanted: readonly CrawlFormat[] | "failure";
  readonly main: { readonly parts: DocumentParts; readonly signal: AbortSignal };
}

/** Makes formats of a document; of one that is a failure, what the site said. */
function convertParts(
  { platform, frontmatter }: CrawlWork,
  { bytes, contentType, url, headers }: LoadedDocument,
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
    robotsTag: headers["x-robots-tag"] ?? "",
  };
  return platform.background.run(convertPage, page, signal);
}

interface MainInputs {
  readonly visit: PageVisit;
  readonly formats: readonly CrawlFormat[];
  readonly signal: AbortSignal;
}

/** Makes the part that is wanted of a document. */
type Reduce = (part: Uint8Array, contentType: string) => Promise<Uint8Array>;

/** Returns how a page is reduced: to the part that the crawl selects on it, else to its main content; null for whole pages. */
function reducerFor(
  { extract, platform: { background } }: CrawlWork,
  { url, body }: PageVisit,
  signal: AbortSignal,
): Reduce | null {
  const wanted = (body.parts ?? []).find(({ path }) =>
    compileUrlPatterns([path], "parts").some((matches) => matches(url)),
  );
  if (wanted !== undefined) {
    const { selector } = wanted;
    const tags = { includeTags: [selector], excludeTags: [], isNeeded: true };
    return async (part, contentType) => {
      const page = { bytes: new Uint8Array(part), contentType, ...tags };
      const found = await background.run(selectParts, page, signal);
      if (found.length > 0) return found;
      const message = `Nothing on the page matches the selector "${selector}"`;
      throw new ApiError("load_aborted", { message });
    };
  }
  if (body.extract === undefined || extract === null) return null;
  return (part, contentType) =>
    background.run(extract, { bytes: new Uint8Array(part), contentType }, signal);
}

/** Returns the part of a document that is stored, and the one that Markdown is made of. */
async function mainParts(
  deps: CrawlWork,
  { bytes, contentType, seen }: LoadedDocument,
  { visit, formats, signal }: MainInputs,
): Promise<DocumentParts | ApiError> {
  const mainOf = isHtml(contentType) ? reducerFor(deps, visit, signal) : null;
  if (mainOf === null) return { seen };
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
