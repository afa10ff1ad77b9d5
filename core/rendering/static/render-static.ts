import { utf8 } from "../../crypto/encoding.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { type AllowHosts, parseAllowHosts } from "../../net/allow-hosts.ts";
import type { System, Transport } from "../../ports.ts";
import { envelopeBody } from "../../http/envelope.ts";
import { longResponse } from "../../http/long-response.ts";
import { type FairSlots, fairSlots, inSlot } from "../../work/fair-slots.ts";
import type { OwnedWork } from "../../work/owned-work.ts";
import { tooManyRenderings } from "../input/errors.ts";
import type { RenderBody } from "../input/body.ts";
import type { MarkdownEngine } from "../input/engine.ts";
import type { ContentExtractor } from "../input/extractor.ts";
import { type Job, pageBytes } from "../job/job.ts";
import type { RenderingOptions } from "../job/options.ts";
import { documentHead } from "../input/markdown.ts";
import { describePage } from "../describe/describe-page.ts";
import type { PageDescription } from "../describe/page-description.ts";
import { decideOne } from "../job/request-turns.ts";
import { isPdf, PDF, type PdfReader, type SourceDocument } from "../pdf/pdf-reader.ts";
import { checkStatus } from "../page/page-checks.ts";
import { type RenderDeps, tooLate } from "../page/render.ts";
import { within } from "../input/timers.ts";
import { selectParts } from "../select/select-parts.ts";
import { isEmptyShell } from "./empty-shell.ts";
import { type FetchedDocument, type FetchOptions, fetchDocument } from "./fetch-document.ts";
import { jsonAnswer } from "./shortcut.ts";
import { checkStatic } from "./static-fields.ts";
import {
  type DocumentAction,
  isHtml,
  staticPage,
  type StaticAction,
  type StaticPage,
} from "./static-page.ts";

/** The parts that renderings without a browser share. */
export interface StaticDeps {
  readonly documents: Transport;
  readonly system: System;
  readonly requestMs: number;
  /** Documents that are loaded, and that are converted, at a time. */
  readonly loads: FairSlots;
  readonly conversions: FairSlots;
  /** Finds main content; null where the operator brings nothing that does. */
  readonly extract: ContentExtractor | null;
  /** Reads PDFs; null where the operator brings nothing that does. */
  readonly readPdf: PdfReader | null;
  /** @default causey's converter */
  readonly engine: MarkdownEngine | undefined;
  readonly allow: AllowHosts;
}

/** The same for one rendering. */
export type StaticWork = StaticDeps & OwnedWork;

/** Documents that are loaded without a browser at a time; each may be held in memory. */
const LOADS = 16;

/** Makes them from the operator's options. */
export function staticDepsOf(
  options: RenderingOptions,
  { requestMs }: RenderDeps,
  conversions: FairSlots,
): StaticDeps {
  const { platform } = options;
  return {
    documents: platform.browser.documents ?? platform.egress,
    system: platform.system,
    requestMs,
    loads: fairSlots({
      running: LOADS,
      waiting: options.maxQueue ?? 20,
      refuse: tooManyRenderings,
    }),
    conversions,
    extract: options.extract ?? null,
    readPdf: options.readPdf ?? null,
    engine: options.markdownEngine,
    allow: parseAllowHosts(options.allowHosts),
  };
}

/** Answers a job without a browser: loads its document, unless the caller brings it, and converts it beside the event loop. */
export async function renderStatic(
  deps: StaticWork,
  job: Job,
  action: StaticAction,
  signal: AbortSignal,
): Promise<Response> {
  checkStatic(job.body);
  return convertDocument(deps, job, { action, signal });
}

/** Answers a job without a browser, unless its document is an empty shell: then null. */
export async function renderFilled(
  deps: StaticWork,
  job: Job,
  action: StaticAction,
  signal: AbortSignal,
): Promise<Response | null> {
  return convertDocument(deps, job, { action, signal, isFilled: true }).catch((error: unknown) => {
    if (error instanceof EmptyShell) return null;
    throw error;
  });
}

/** The document is an empty shell, which its caller does without. */
class EmptyShell extends Error {}

/** Answers a job whose `url` a browser could not show, because it is a PDF: it is loaded once more, and read. */
export async function renderPdf(
  deps: StaticWork,
  job: Job,
  action: StaticAction,
  signal: AbortSignal,
): Promise<Response> {
  return convertDocument(deps, job, {
    action,
    signal,
    follow: async (url) => {
      const request = { url: url.href, type: "document", main: true };
      if ((await decideOne(request, job.rules, deps.system)) === "continue") return;
      throw new ApiError("blocked_url", {
        message: "A redirect: its address matches rejectRequestPattern",
      });
    },
  });
}

interface Conversion {
  readonly action: StaticAction;
  readonly signal: AbortSignal;
  readonly follow?: ((url: URL) => Promise<void>) | undefined;
  /** Whether an empty shell is not answered. @default false */
  readonly isFilled?: boolean;
}

async function convertDocument(
  deps: StaticWork,
  job: Job,
  { action, signal, follow, isFilled = false }: Conversion,
): Promise<Response> {
  const { background, owner, system, requestMs } = deps;
  return within({ ms: requestMs, system, signal, expired: tooLate }, async (inner) => {
    const takesPdf = deps.readPdf !== null || action.kind === "pdf";
    const page = await inSlot(deps.loads, owner, inner, () =>
      documentOf(deps, job, { signal: inner, takesPdf, follow }),
    );
    if (action.kind === "pdf") return passPdf(page);
    const expired = (): ApiError => timeout(job.timers.action, "while the page was converted");
    const body = await inSlot(deps.conversions, owner, inner, () =>
      within({ ms: job.timers.action, system, signal: inner, expired }, async (last) => {
        if (isFilled && (await isEmptyShell(deps, page, last))) throw new EmptyShell();
        const read = await readable(deps, page, last);
        const meta = { ...(await describedMain(deps, read, action, last)), ...read.meta };
        const part = await mainPart(deps, read, action, last);
        if (deps.engine !== undefined && action.kind === "markdown" && isHtml(part.contentType))
          return convertWith(deps.engine, deps, { ...read, ...part, meta, action }, last);
        return background.run(staticPage, { ...read, ...part, meta, action }, last);
      }),
    );
    return jsonAnswer(body);
  });
}

/** The answer that is the document itself. @throws ApiError when it is none to pass on */
function passPdf({ bytes, contentType }: Pick<StaticPage, "bytes" | "contentType">): Response {
  if (isPdf(contentType))
    return longResponse(bytes, {
      "content-type": PDF,
      "content-length": String(bytes.byteLength),
    });
  throw invalidRequest(
    "render: The URL is a page, and only a browser prints one: leave render out",
  );
}

/** A document as HTML or text: what a PDF says in its place. */
async function readable(
  { background, readPdf }: Pick<StaticWork, "background" | "readPdf">,
  page: Omit<StaticPage, "action">,
  signal: AbortSignal,
): Promise<Omit<StaticPage, "action">> {
  if (readPdf === null || !isPdf(page.contentType)) return page;
  const { bytes, pages } = await background.run(readPdf, { bytes: page.bytes }, signal);
  const document: SourceDocument = { type: PDF, pages };
  const meta = { ...page.meta, document };
  return { ...page, bytes: new Uint8Array(bytes), contentType: UTF8_HTML, meta };
}

/** Reduces a document to the parts of it, or to its main content, if the action asks for no more. */
async function mainPart(
  { background, extract, engine }: StaticWork,
  page: Pick<StaticPage, "bytes" | "contentType">,
  action: DocumentAction,
  signal: AbortSignal,
): Promise<Pick<StaticPage, "bytes" | "contentType">> {
  if ((action.kind !== "markdown" && action.kind !== "content") || !isHtml(page.contentType))
    return page;
  const { main, includeTags, excludeTags } = action;
  let { bytes, contentType } = page;
  // An engine gets text, which is decoded there too.
  const isText = engine !== undefined && action.kind === "markdown";
  if (includeTags.length + excludeTags.length > 0 || isText) {
    const wanted = { bytes, contentType, includeTags, excludeTags };
    bytes = new Uint8Array(await background.run(selectParts, wanted, signal));
    contentType = UTF8_HTML;
  }
  if (main && extract !== null) {
    bytes = new Uint8Array(await background.run(extract, { bytes, contentType }, signal));
    contentType = UTF8_HTML;
  }
  return { bytes, contentType };
}

/** Returns what a document says about itself, where its main content is asked for. */
async function describedMain(
  { background }: StaticWork,
  page: Pick<StaticPage, "bytes" | "contentType" | "url">,
  action: DocumentAction,
  signal: AbortSignal,
): Promise<PageDescription> {
  if (!("main" in action) || !action.main || !isHtml(page.contentType)) return {};
  const { contentType, url } = page;
  // What a thread gets is gone here.
  const bytes = page.bytes.slice();
  return background.run(describePage, { bytes, contentType, url }, signal);
}

/** Answers with the Markdown of an operator's engine. */
async function convertWith(
  engine: MarkdownEngine,
  { background }: StaticWork,
  { bytes, url, meta, action }: StaticPage,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const html = new TextDecoder().decode(bytes);
  const frontmatter = action.kind === "markdown" && action.frontmatter;
  const { head, title } = await background.run(
    documentHead,
    { html, base: url, frontmatter },
    signal,
  );
  const markdown = head + (await engine.convert(html, url));
  return utf8(JSON.stringify(envelopeBody(markdown, { meta: { ...meta, title } })));
}

const UTF8_HTML = "text/html;charset=utf-8";

async function documentOf(
  { documents, system, allow }: StaticWork,
  job: Job,
  { signal, ...how }: Pick<FetchOptions, "signal" | "takesPdf" | "follow">,
): Promise<Omit<StaticPage, "action">> {
  const { url, body, timers } = job;
  if (body.html !== undefined || url === null) {
    const contentType = UTF8_HTML;
    const meta = { ...renderMeta(body), ...(url === null ? {} : { finalUrl: url.href }) };
    const bytes = pageBytes(job);
    return { bytes, contentType, url: url?.href ?? null, meta, status: 200 };
  }
  const expired = (): ApiError => timeout(timers.goto, "the page did not load");
  let soFar: (() => FetchedDocument | null) | undefined;
  let partial: { readonly partial?: string } = {};
  const onPart =
    body.bestAttempt === true ? (part: typeof soFar) => void (soFar = part) : undefined;
  const { bytes, contentType, response, redirects } = await within(
    { ms: timers.goto, system, signal, expired },
    (inner) => fetchDocument(documents, { ...job, url }, { ...how, allow, onPart, signal: inner }),
  ).catch((error: unknown) => {
    const part = isCutShort(error) ? (soFar?.() ?? null) : null;
    if (part === null) throw error;
    partial = { partial: messageOf(error) };
    return part;
  });
  checkStatus(body, response.status);
  const meta = {
    ...renderMeta(body),
    ...partial,
    status: response.status,
    finalUrl: response.url,
    headers: { ...response.headers },
    ...(redirects.length === 0
      ? {}
      : { redirectChain: redirects.map((hop) => ({ ...hop, headers: { ...hop.headers } })) }),
  };
  return { bytes, contentType, url: response.url, meta, status: response.status };
}

/** Whether a document was coming when its load ended: its time was over, or its body broke off. */
function isCutShort(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.kind === "render_timeout" || error.kind === "connection_closed")
  );
}

function messageOf(error: unknown): string {
  return error instanceof ApiError ? error.message : String(error);
}

/** Says how a document was read whose caller left that open. */
function renderMeta({ render }: RenderBody): { readonly render?: "static" } {
  return render === "auto" ? { render: "static" } : {};
}

function timeout(ms: number, what: string): ApiError {
  return new ApiError("render_timeout", { message: `Timeout of ${ms} ms exceeded: ${what}` });
}
