import type * as v from "valibot";
import { sha256Hex } from "../crypto/digest.ts";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { readJsonBytes, withBytes } from "../http/fields/body.ts";
import type { Background, Platform } from "../ports.ts";
import type { TraceContext } from "../trace/trace-context.ts";
import type { FairSlots } from "../work/fair-slots.ts";
import { type OwnedWork, workFor } from "../work/owned-work.ts";
import type { AroundRendering } from "./actions/json-answer.ts";
import type { PageDescription } from "./describe/page-description.ts";
import type { RenderBody } from "./input/body.ts";
import { isPdfFailure } from "./input/errors.ts";
import { type Job, type JobPolicy, jobPolicy, namedTo, prepareJob } from "./job/job.ts";
import type { RenderingOptions } from "./job/options.ts";
import { type Action, render, type RenderDeps, type Rendered } from "./page/render.ts";
import { readCacheTtl, type RenderCache, renderCache } from "./render-cache.ts";
import { checkSelectors } from "./select/check-selectors.ts";
import { type SentParts, sentParts } from "./sent-parts.ts";
import {
  renderFilled,
  renderPdf,
  renderStatic,
  type StaticDeps,
  staticDepsOf,
} from "./static/render-static.ts";
import { fieldForBrowser } from "./static/static-fields.ts";
import type { Shortcut } from "./static/shortcut.ts";
import type { StaticAction } from "./static/static-page.ts";
import { uploadedTo, withUploadedPage } from "./upload/read-upload.ts";

/** One request to render, and everything that follows it. */
export interface RenderCall {
  readonly request: Request;
  readonly query: URLSearchParams;
  /** The caller that answers are kept for, and for no other; null = they are not kept. */
  readonly caller: string | null;
  /** The owner of the work: places and threads are shared fairly between owners. */
  readonly owner: string;
  /** A caller that has proved its identity: pages may be kept for it. @default no pages are kept */
  readonly requester?: string | null;
  /** Receives how long a browser was busy. */
  readonly onBrowserMs: (ms: number) => void;
  /** Receives the fields of the body that have no effect. */
  readonly onUnknown: (messages: readonly string[]) => void;
  /** The span of the request. @default none */
  readonly trace?: TraceContext | null;
  /** Names the rendering's span to the origin that is rendered. @default no tracing */
  readonly traceparent?: string;
}

/** One of the operations: its body, the work that a body asks for, and the answer to the result. */
export interface Operation<B extends RenderBody, T> {
  readonly schema: v.GenericSchema<unknown, B>;
  readonly actionOf: (body: B, background: Background) => Action<T>;
  /** The action that reads what the page says about itself, where the body asks for it. @default none */
  readonly describeOf?: (body: B, background: Background) => Action<PageDescription> | undefined;
  readonly answer: (
    rendered: Rendered<T>,
    body: B,
    signal: AbortSignal,
  ) => Response | Promise<Response>;
  /** Answers before a browser is asked. @default nothing does */
  readonly shortcut?: Shortcut;
  /** Returns the action of a body with `render: false`, and of a page that is a PDF. @default refused */
  readonly withoutBrowser?: (body: B) => StaticAction;
  /** Whether it can do with a document as the site sends it, where that is filled (`render: "auto"`). @default false */
  readonly takesStatic?: boolean;
  /** Whether the page and its files may come as a form. @default false */
  readonly takesUpload?: boolean;
  /** The steps around the rendering. @default it is all that there is */
  readonly around?: AroundRendering<B>;
}

/** The parts that all operations share. */
export interface OperationParts {
  readonly platform: Platform;
  readonly deps: RenderDeps;
  readonly staticDeps: StaticDeps;
  readonly policy: JobPolicy;
  readonly cache: RenderCache;
  /** Bytes of a body. */
  readonly limit: number;
}

/** Bytes that a body may have unless the operator says otherwise. */
const BODY_LIMIT = 50 * 1024 * 1024;

/** Makes what all operations share; `conversions` bounds the work beside the event loop. */
export function operationParts(
  options: RenderingOptions,
  deps: RenderDeps,
  conversions: FairSlots,
): OperationParts {
  const { platform, maxBodyBytes = BODY_LIMIT } = options;
  return {
    platform,
    deps,
    staticDeps: staticDepsOf(options, deps, conversions),
    policy: jobPolicy(options),
    cache: renderCache(platform.system, platform.browser.lasting === true),
    limit: maxBodyBytes,
  };
}

/** Answers one request of an operation. */
export async function perform<B extends RenderBody, T>(
  operation: Operation<B, T>,
  call: RenderCall,
  parts: OperationParts,
): Promise<Response> {
  const { platform, deps, limit } = parts;
  const { request, owner } = call;
  const { shortcut = passOn, takesUpload = false } = operation;
  const work = workFor(owner, platform.background);
  const maxAgeMs = readCacheTtl(call.query);
  return withBytes(request, limit, platform, async (bytes) => {
    // 1. What was sent is taken apart: the body, and the page that came with it. A shortcut answers at once.
    const { requestMs } = deps;
    const reading = { takesUpload, shortcut, platform, work, requestMs, reportable };
    const sent = await sentParts(bytes, call, reading);
    if (sent instanceof Response) return sent;
    // 2. The body is checked, and becomes a job within the operator's bounds.
    const body = readBody(operation.schema, sent, call);
    const job = await toJob(body, sent, call, parts.policy);
    // 3. The job's work: an action in a browser, or one that needs none.
    const rendering = { operation, body, job, work, action: actionFor(operation, body, work) };
    await checkSelectors(body);
    // 4. A kept answer, or the page's: checked before, rendered, and finished after (`renderAnswer`).
    const run = (signal: AbortSignal): Promise<Response> =>
      renderAnswer(rendering, call, parts, signal);
    // Answers about a caller's own `html` are not kept: keeping is there to spare sites.
    if (call.caller === null || maxAgeMs === 0 || job.url === null || body.html !== undefined)
      return run(request.signal);
    const key = `${call.caller}\n${await sha256Hex(sent.bytes)}`;
    return parts.cache.share({ key, maxAgeMs, signal: request.signal, render: run });
  });
}

function readBody<B extends RenderBody>(
  schema: v.GenericSchema<unknown, B>,
  { bytes, upload }: SentParts,
  { onUnknown }: RenderCall,
): B {
  const { output, unknown } = readJsonBytes(bytes, schema);
  onUnknown(unknown);
  return upload === null ? output : withUploadedPage(output);
}

async function toJob(
  body: RenderBody,
  { upload, page }: SentParts,
  { owner, requester = null, traceparent }: RenderCall,
  policy: JobPolicy,
): Promise<Job> {
  const prepared = { ...(await prepareJob(body, policy)), page, owner, requester };
  return namedTo(traceparent, uploadedTo(upload, prepared));
}

function actionFor<B extends RenderBody, T>(
  { actionOf, withoutBrowser = refuseStatic }: Operation<B, T>,
  body: B,
  { background }: OwnedWork,
): Action<T> | StaticAction {
  return body.render === false ? withoutBrowser(body) : actionOf(body, background);
}

/** A checked body, and the work that it asks for. */
interface Rendering<B extends RenderBody, T> {
  readonly operation: Operation<B, T>;
  readonly body: B;
  readonly job: Job;
  readonly work: OwnedWork;
  readonly action: Action<T> | StaticAction;
}

async function renderAnswer<B extends RenderBody, T>(
  rendering: Rendering<B, T>,
  call: RenderCall,
  parts: OperationParts,
  signal: AbortSignal,
): Promise<Response> {
  const { operation, body, work, job } = rendering;
  const { around } = operation;
  try {
    await around?.before(body, work, signal);
    const rendered = await load(rendering, call, parts, signal);
    if (around === undefined) return rendered;
    return await around.after(rendered, body, { ...work, upload: job.upload }, signal);
  } catch (error) {
    throw reportable(error, parts.platform, signal);
  }
}

/** Renders the page, with a browser where the action needs one. */
async function load<B extends RenderBody, T>(
  { operation, body, job, work, action }: Rendering<B, T>,
  { onBrowserMs }: RenderCall,
  { platform, deps, staticDeps }: OperationParts,
  signal: AbortSignal,
): Promise<Response> {
  const withWork = { ...staticDeps, ...work };
  if (typeof action !== "function") return renderStatic(withWork, job, action, signal);
  // A second way of reading has the time that the first one left.
  const began = deps.system.monotonic();
  const left = (): { readonly requestMs: number } => {
    return { requestMs: Math.max(1, deps.requestMs - (deps.system.monotonic() - began)) };
  };
  const { withoutBrowser, takesStatic = false } = operation;
  if (withoutBrowser !== undefined && takesStatic && mayBeStatic(job)) {
    const read = platform.capabilities.browser === true ? renderFilled : renderStatic;
    const filled = await read(withWork, job, withoutBrowser(body), signal);
    if (filled !== null) return filled;
  }
  try {
    const describe = operation.describeOf?.(body, work.background);
    const inputs = { signal, onBrowserMs, action, describe };
    return await operation.answer(await render({ ...deps, ...left() }, job, inputs), body, signal);
  } catch (error) {
    if (withoutBrowser === undefined || !isPdfFailure(error)) throw error;
    return renderPdf({ ...withWork, ...left() }, job, withoutBrowser(body), signal);
  }
}

/** Whether a page whose caller leaves it open is to be read without a browser first. */
function mayBeStatic({ body, upload }: Job): boolean {
  return body.render === "auto" && upload === undefined && fieldForBrowser(body) === undefined;
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

/** Refuses a body that needs a browser and asks for none. */
export function refuseStatic(): never {
  throw invalidRequest(
    "render: false works with markdown, json, content, links and scrape; this needs a browser",
  );
}
