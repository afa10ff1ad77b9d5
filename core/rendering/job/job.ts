import { utf8 } from "../../crypto/encoding.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { hopByHop } from "../../http/hop-by-hop.ts";
import { type AllowHosts, parseAllowHosts } from "../../net/allow-hosts.ts";
import { checkUrl } from "../../net/check-url.ts";
import type { PdfBody, RenderBody } from "../input/body.ts";
import type { Matcher, PatternOptions } from "./patterns.ts";
import type { RenderingOptions } from "./options.ts";
import type { RequestRules } from "./request-gate.ts";
import type { UploadedFiles } from "./uploaded-files.ts";
import { readTimers, type TimerCaps, type Timers } from "../input/timers.ts";

/** One rendering, checked and ready to run. */
export interface Job {
  readonly body: RenderBody;
  /** The `html` of a long request or an upload in UTF-8; {@link body} has a word in its place. @default that of the body */
  readonly page?: Uint8Array<ArrayBuffer> | null;
  /** The owner of the work: places are shared fairly between owners. @default the server itself */
  readonly owner?: string;
  /** The caller whose further plain documents (`page/plain-document.ts`) may be shown in the same page. @default none */
  readonly requester?: string | null;
  /** The page to load, or the base of `html`; null when only `html` is given. */
  readonly url: URL | null;
  readonly rules: RequestRules;
  readonly timers: Timers;
  /** Files that came with the page. @default none: everything is loaded */
  readonly upload?: UploadedFiles | undefined;
  /** Extra headers by lower-case name; they go to the origin of `url` only, because they are credentials. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The `html` of a job in UTF-8; empty when it has none. */
export function pageBytes({ page, body }: Job): Uint8Array<ArrayBuffer> {
  return page ?? utf8(body.html ?? "");
}

/** The operator's rules for jobs. */
export interface JobPolicy {
  readonly allow: AllowHosts;
  readonly caps: TimerCaps;
  readonly unsafeRegex: boolean;
}

/** Reads the rules for jobs from the operator's options. */
export function jobPolicy(options: RenderingOptions): JobPolicy {
  return {
    allow: parseAllowHosts(options.allowHosts),
    caps: options.timeouts ?? {},
    unsafeRegex: options.unsafeRegex === true,
  };
}

/** Headers that frame a request: a caller who sets them breaks it, or smuggles a second one into it. */
const framingHeaders: ReadonlySet<string> = new Set([...hopByHop, "content-length", "host"]);

/**
 * Checks what a schema cannot: the source, its address, patterns, timers and headers. What compiles patterns is large, so
 * the first body that has some loads it.
 *
 * @throws ApiError `invalid_request` or `blocked_url`
 */
export async function prepareJob(body: RenderBody & PdfBody, policy: JobPolicy): Promise<Job> {
  const { allowRequestPattern = [], rejectRequestPattern = [] } = body;
  if (allowRequestPattern.length + rejectRequestPattern.length === 0)
    return jobWith(() => () => [], body, policy);
  const { patternCompiler } = await import("./patterns.ts");
  return jobWith(patternCompiler, body, policy);
}

/** Does what {@link prepareJob} does, at once, with `patternCompiler()` of `patterns.ts`. */
export function jobWith(
  compiler: () => (patterns: readonly string[], options: PatternOptions) => readonly Matcher[],
  body: RenderBody & PdfBody,
  policy: JobPolicy,
): Job {
  if (body.url === undefined && body.html === undefined) {
    throw invalidRequest("One of url and html is needed");
  }
  const url = body.url === undefined ? null : allowedUrl("url", body.url, policy.allow);
  checkWindow(body);
  for (const tag of [...(body.addScriptTag ?? []), ...(body.addStyleTag ?? [])])
    if (tag.url !== undefined) allowedUrl("addScriptTag/addStyleTag.url", tag.url, policy.allow);
  const { unsafeRegex } = policy;
  const compile = compiler();
  return {
    body,
    url,
    timers: readTimers(body, policy.caps),
    headers: readHeaders(body.setExtraHTTPHeaders ?? {}),
    rules: {
      allow: policy.allow,
      allowPatterns: compile(body.allowRequestPattern ?? [], {
        field: "allowRequestPattern",
        unsafeRegex,
      }),
      rejectPatterns: compile(body.rejectRequestPattern ?? [], {
        field: "rejectRequestPattern",
        unsafeRegex,
      }),
      allowTypes: body.allowResourceTypes ?? [],
      rejectTypes: body.rejectResourceTypes ?? [],
    },
  };
}

/** Pixels of a window and of a picture: each takes some 18 bytes of memory while it is drawn. */
export const AREA_LIMIT = 40_000_000;

function checkWindow({ viewport }: RenderBody): void {
  if (viewport === undefined) return;
  const density = viewport.deviceScaleFactor ?? 1;
  const most = Math.floor(AREA_LIMIT / (viewport.width * density ** 2));
  if (viewport.height <= most) return;
  const sides = `${viewport.width} x ${viewport.height}`;
  const scale = density === 1 ? "" : ` with deviceScaleFactor ${density}`;
  throw invalidRequest(
    `viewport: ${sides}${scale} is more than ${AREA_LIMIT} pixels: a height of at most ${most} fits`,
  );
}

function allowedUrl(field: string, text: string, allow: AllowHosts): URL {
  const verdict = checkUrl(text, allow);
  if (!verdict.ok) throw new ApiError("blocked_url", { message: `${field}: ${verdict.reason}` });
  return verdict.url;
}

function readHeaders(headers: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!/^[!#$%&'*+.^_`|~\w-]{1,256}$/u.test(name) || framingHeaders.has(lower)) {
      throw invalidRequest(`setExtraHTTPHeaders: "${name.slice(0, 60)}" is not allowed`);
    }
    if (!/^[\t\x20-\x7e\x80-\xff]{0,8192}$/u.test(value)) {
      throw invalidRequest(`setExtraHTTPHeaders: The value of "${name}" is not a header value`);
    }
    read.set(lower, value);
  }
  return read;
}

/** A job whose origin gets a trace; what the caller sends there outranks it. */
export function namedTo(traceparent: string | undefined, job: Job): Job {
  if (traceparent === undefined) return job;
  return { ...job, headers: new Map([["traceparent", traceparent], ...job.headers]) };
}
