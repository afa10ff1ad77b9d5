import type { RenderingOptions } from "./job/options.ts";
import type * as v from "valibot";
import { ApiError } from "../http/api-error.ts";
import { sha256Hex } from "../crypto/digest.ts";
import { withBytes, readJsonBytes } from "../http/fields/body.ts";
import type { Background, Platform } from "../ports.ts";
import { type FairSlots, fairSlots } from "../work/fair-slots.ts";
import { type OwnedWork, workFor } from "../work/owned-work.ts";
import type { TraceContext } from "../trace/trace-context.ts";
import { linksAction, pictureAction, scrapeAction } from "./actions/actions.ts";
import type { DocumentBody, PdfBody, RenderBody } from "./input/body.ts";
import { answerInEnvelope, answerPdf, answerPicture } from "./actions/answers.ts";
import { type OnMissingGlyphs, warnOfMissingGlyphs } from "./actions/missing-glyphs.ts";
import { documentAction, markdownAction, snapshotAction, treeAction } from "./actions/documents.ts";
import { type ContentExtractor, extractorFor } from "./input/extractor.ts";
import { jsonAnswerOf } from "./actions/json-answer.ts";
import { printAction } from "./actions/print.ts";
import { jobPolicy, namedTo, prepareJob } from "./job/job.ts";
import { keptPages, noKeptPages } from "./page/kept-pages.ts";
import { noPagesAhead, pagesAhead } from "./page/pages-ahead.ts";
import { render, type Action, type RenderDeps, type Rendered } from "./page/render.ts";
import {
  accessibilitySchema,
  documentSchema,
  linksSchema,
  pdfSchema,
  jsonSchema,
  scrapeSchema,
  screenshotSchema,
  snapshotSchema,
} from "./job/schema.ts";
import { sentParts } from "./sent-parts.ts";
import { readCacheTtl, renderCache } from "./render-cache.ts";
import { uploadedTo, withUploadedPage } from "./upload/read-upload.ts";
import { staticShortcut, type Shortcut } from "./static/shortcut.ts";
import { checkSelectors } from "./select/check-selectors.ts";
import { renderPdf, renderStatic, staticDepsOf } from "./static/render-static.ts";
import { isPdfFailure, tooManyRenderings } from "./input/errors.ts";
import { type StaticAction, staticLinks, staticScrape } from "./static/static-page.ts";

/** One request to render, and what wants to hear of it. */
export interface RenderCall {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** The caller that answers are kept for, and for no other; null = they are not kept. */
  readonly caller: string | null;
  /** The owner of the work: places and threads are shared fairly between owners. */
  readonly owner: string;
  /** A caller that has proved its identity: pages may be kept for it. @default no pages are kept */
  readonly requester?: string | null;
  /** Is told how long a browser was busy. */
  readonly onBrowserMs: (ms: number) => void;
  /** Is told of fields of the body that have no effect. */
  readonly onUnknown: (messages: readonly string[]) => void;
  /** The span of the request. @default none */
  readonly trace?: TraceContext | null;
  /** Names the rendering's span to the origin that is rendered. @default no tracing */
  readonly traceparent?: string;
}

/** Answers one request. */
export type RenderOperation = (call: RenderCall) => Promise<Response>;

const BODY_LIMIT = 50 * 1024 * 1024;

/** The last segment of an operation's path. */
export type OperationName =
  | "pdf"
  | "markdown"
  | "json"
  | "content"
  | "screenshot"
  | "links"
  | "scrape"
  | "accessibilityTree"
  | "snapshot";

/** The operations by the last segment of their path. */
export function renderOperations(
  options: RenderingOptions,
  deps: RenderDeps,
): Readonly<Record<OperationName, RenderOperation>> {
  const frontmatter = options.frontmatter !== false;
  const engine = options.markdownEngine;
  const { maxQueue: waiting = 20 } = options;
  const conversions = fairSlots({ running: CONVERSIONS, waiting, refuse: tooManyRenderings });
  const operation = operationOver(options, deps, conversions);
  const only = (asked: "main" | undefined): ContentExtractor | null =>
    extractorFor(asked, options.extract);
  const onMissing = warnOfMissingGlyphs(options.platform.log);
  const { system } = options.platform;
  const inEnvelope = <T>(rendered: Rendered<T>, _body: unknown, signal: AbortSignal) =>
    answerInEnvelope(rendered, system, signal);
  const asMarkdown = (body: DocumentBody, background: Background): Action<string> =>
    markdownAction(frontmatter, background, { extract: only(body.extract), body, engine });
  const partsOf = ({ extract, includeTags = [], excludeTags = [] }: DocumentBody) => {
    return { main: only(extract) !== null, includeTags, excludeTags };
  };
  const withoutBrowser = (body: DocumentBody): StaticAction => {
    return { kind: "markdown", frontmatter, ...partsOf(body) };
  };
  return {
    pdf: operation(pdfSchema, printing(onMissing), answerPdf, {
      withoutBrowser: passedPdf,
      takesUpload: true,
    }),
    markdown: operation(documentSchema, asMarkdown, inEnvelope, {
      shortcut: staticShortcut(options, deps, conversions),
      withoutBrowser,
      takesUpload: true,
    }),
    json: operation(jsonSchema, asMarkdown, inEnvelope, {
      withoutBrowser,
      ...jsonAnswerOf(options),
    }),
    content: operation(
      documentSchema,
      (body, background) => documentAction(body, background, only(body.extract)),
      inEnvelope,
      { withoutBrowser: (body) => ({ kind: "content", ...partsOf(body) }), takesUpload: true },
    ),
    screenshot: operation(
      screenshotSchema,
      (body) => pictureAction(body.screenshotOptions ?? {}, onMissing, body),
      (rendered, body, signal) => answerPicture(rendered, body, system, signal),
      { takesUpload: true },
    ),
    links: operation(linksSchema, linksAction, inEnvelope, { withoutBrowser: staticLinks }),
    scrape: operation(scrapeSchema, scrapeAction, inEnvelope, { withoutBrowser: staticScrape }),
    accessibilityTree: operation(accessibilitySchema, treeAction, inEnvelope),
    snapshot: operation(
      snapshotSchema,
      (body, background) => snapshotAction(body, { frontmatter, background, onMissing, engine }),
      inEnvelope,
      { takesUpload: true },
    ),
  };
}

/** Makes an operation from a schema, the action that a body asks for, the answer to its result, and what needs no browser. */
type MakeOperation = <B extends RenderBody, T>(
  schema: v.GenericSchema<unknown, B>,
  actionOf: (body: B, background: Background) => Action<T>,
  answer: (rendered: Rendered<T>, body: B, signal: AbortSignal) => Response | Promise<Response>,
  more?: {
    readonly shortcut?: Shortcut;
    /** Returns the action of a body with `render: false`. @default refused */
    readonly withoutBrowser?: (body: B) => StaticAction;
    /** Whether the page and its files may come as a form. @default false */
    readonly takesUpload?: boolean;
    /** Checks what a schema cannot, before anything is loaded. */
    readonly before?: (body: B, work: OwnedWork, signal: AbortSignal) => Promise<void>;
    /** Makes the answer of that of the rendering, whose place another one may have by then. */
    readonly after?: (
      rendered: Response,
      body: B,
      work: OwnedWork,
      signal: AbortSignal,
    ) => Promise<Response>;
  },
) => RenderOperation;

/** Reads and checks a body, then renders it with the action that the body asks for. */
function operationOver(
  options: RenderingOptions,
  deps: RenderDeps,
  conversions: FairSlots,
): MakeOperation {
  const { platform } = options;
  const policy = jobPolicy(options);
  const cache = renderCache(platform.system, platform.browser.lasting === true);
  const shared = staticDepsOf(options, deps, conversions);
  const reading = { platform, requestMs: deps.requestMs, reportable };
  return (
    schema,
    actionOf,
    answer,
    { shortcut = passOn, withoutBrowser = refuseStatic, takesUpload = false, before, after } = {},
  ) =>
    async (call) => {
      const { request, query, caller, owner, requester = null, onBrowserMs, traceparent } = call;
      const work = workFor(owner, platform.background);
      const staticDeps = { ...shared, ...work };
      const maxAgeMs = readCacheTtl(query);
      const limit = options.maxBodyBytes ?? BODY_LIMIT;
      return withBytes(request, limit, platform, async (sent) => {
        const parts = await sentParts(sent, call, { takesUpload, shortcut, work, ...reading });
        if (parts instanceof Response) return parts;
        const { upload, bytes, page } = parts;
        const { output, unknown } = readJsonBytes(bytes, schema);
        call.onUnknown(unknown);
        const body = upload === null ? output : withUploadedPage(output);
        const prepared = { ...prepareJob(body, policy), page, owner, requester };
        const job = namedTo(traceparent, uploadedTo(upload, prepared));
        const action =
          body.render === false ? withoutBrowser(body) : actionOf(body, work.background);
        await checkSelectors(body);
        const load = async (signal: AbortSignal): Promise<Response> => {
          if (typeof action !== "function") return renderStatic(staticDeps, job, action, signal);
          const inBrowser = async (): Promise<Response> =>
            answer(await render(deps, job, signal, onBrowserMs, action), body, signal);
          if (withoutBrowser === refuseStatic) return inBrowser();
          return orAsPdf(deps, inBrowser, (requestMs) =>
            renderPdf({ ...staticDeps, requestMs }, job, withoutBrowser(body), signal),
          );
        };
        const run = async (signal: AbortSignal): Promise<Response> => {
          try {
            await before?.(body, work, signal);
            const rendered = await load(signal);
            return after === undefined ? rendered : await after(rendered, body, work, signal);
          } catch (error) {
            throw reportable(error, platform, signal);
          }
        };
        // Answers about a caller's own `html` are not kept: keeping is there to spare sites.
        if (caller === null || maxAgeMs === 0 || job.url === null || body.html !== undefined)
          return run(request.signal);
        const key = `${caller}\n${await sha256Hex(bytes)}`;
        return cache.share({ key, maxAgeMs, signal: request.signal, render: run });
      });
    };
}

/** Renders a page in a browser; one that is a PDF is read in the time that is left. */
async function orAsPdf(
  { system, requestMs }: RenderDeps,
  inBrowser: () => Promise<Response>,
  read: (ms: number) => Promise<Response>,
): Promise<Response> {
  const began = system.monotonic();
  try {
    return await inBrowser();
  } catch (error) {
    if (!isPdfFailure(error)) throw error;
    return read(Math.max(1, requestMs - (system.monotonic() - began)));
  }
}

/** Makes what all renderings share: one browser, and one bound on how much it does at a time. */
export function renderDeps(options: RenderingOptions): RenderDeps {
  const { platform, maxConcurrency = 2 } = options;
  const most = Math.min(maxConcurrency, 4);
  const { pagesAhead: ahead = most, pagesKept: kept = most + 1 } = options;
  const deps = {
    browser: platform.browser,
    system: platform.system,
    guarded: platform.browser.guarded === true,
    login: () => platform.browser.proxyLogin?.() ?? null,
    requestMs: options.requestTimeout ?? 180_000,
  };
  return {
    ...deps,
    ahead: platform.browser.lasting === true ? pagesAhead(ahead, deps) : noPagesAhead,
    kept: platform.browser.lasting === true ? keptPages(kept, deps) : noKeptPages,
    slots: fairSlots({
      running: maxConcurrency,
      waiting: options.maxQueue ?? 20,
      reserve: 1,
      refuse: tooManyRenderings,
    }),
  };
}

/** Turns a failure that no row of the table describes into an internal error, whose details go to the log only. */
function reportable(error: unknown, { log, system }: Platform, signal: AbortSignal): ApiError {
  if (error instanceof ApiError) return error;
  if (signal.aborted) return new ApiError("request_timeout", { message: "The client went away" });
  const id = system.id();
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  log("error", "Rendering failed", { request_id: id, error: text.slice(0, 500) });
  return new ApiError("render_internal", { message: `Internal Error, request id ${id}` });
}

const passOn: Shortcut = (bytes) => Promise.resolve(bytes);

/** Conversions without a browser at a time; each has a thread where the runtime has threads. */
const CONVERSIONS = 4;

function refuseStatic(): never {
  throw new ApiError("invalid_request", {
    message:
      "render: false works with markdown, json, content, links and scrape; this needs a browser",
  });
}

/** A PDF is printed already. */
function passedPdf({ html }: PdfBody): StaticAction {
  if (html !== undefined) return refuseStatic();
  return { kind: "pdf" };
}

function printing(onMissing: OnMissingGlyphs): (body: PdfBody) => Action<Uint8Array<ArrayBuffer>> {
  return ({ pdfOptions = {} }) => printAction(pdfOptions, onMissing);
}
