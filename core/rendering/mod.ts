/**
 * Page rendering: an address or HTML to PDF, Markdown and more.
 *
 * @module
 */
import { Hono, type Context, type Handler, type MiddlewareHandler } from "hono";
import { authorize, type Auth, requesterOf, workOwner } from "../auth/authorize.ts";
import { storedTokens } from "../auth/mod.ts";
import { ApiError } from "../http/api-error.ts";
import { refuseUnknown } from "../http/fields/body.ts";
import { checkQuery } from "../http/fields/query.ts";
import { closeRoutes } from "../http/routes.ts";
import { noteUnknownFields } from "../http/fields/unknown-fields.ts";
import { setAnswerHeader } from "../http/response-note.ts";
import { wholeRequest } from "../http/whole-request.ts";
import type { Platform, SiteCrawler } from "../ports.ts";
import { devtoolsRoutes, pdfRoutes } from "./devtools.ts";
import { jobPolicy } from "./job/job.ts";
import {
  type OperationName,
  renderDeps,
  type RenderOperation,
  renderOperations,
} from "./operations.ts";
import { type CrawlDeps, crawlLimits, crawlSlots } from "./crawl/crawl-deps.ts";
import { crawlRoutes } from "./crawl/begin/crawl-routes.ts";
import { siteCrawler } from "./crawl/begin/site-crawler.ts";
import { jsonDeps } from "./actions/json-answer.ts";
import type { AskPage } from "./mcp/page-tools.ts";
import { renderMcpRoutes } from "./mcp/render-mcp.ts";
import type { RenderDeps } from "./page/render.ts";
import { traceOf, type Tracer } from "../trace/trace-context.ts";
import { errorType } from "../trace/traced-work.ts";
import type { RenderingOptions } from "./job/options.ts";
import { renderBinding, type RenderBinding } from "./render-binding.ts";

export type { RenderBinding, Scraped } from "./render-binding.ts";
export type { CrawlOptions, RenderingOptions } from "./job/options.ts";
export type { TimerCaps } from "./input/timers.ts";
export type { McpContent, McpTool, McpToolResult, McpTools, ServeMcp } from "../mcp/mcp-tool.ts";

/** Options of {@link rendering}. */
export interface RenderingSettings extends RenderingOptions {
  readonly platform: Platform;
  /** Authenticates callers; `"off"` leaves that to the host app. @default the platform's stored tokens */
  readonly auth?: Auth;
  /** The origin under which clients reach the server; the MCP endpoint refuses pages of other origins. @default this machine's */
  readonly publicUrl?: string | undefined;
  /** Sends a webhook to the account's outbound endpoints when a crawl ends; needs `webhooksManagement()`. @default false */
  readonly sendsWebhooks?: boolean;
}

/** Both prefixes under which clients look for these routes. */
const prefixes = ["/accounts/:account_id/browser-rendering", "/accounts/:account_id/browser-run"];

/** Routes of the hosted platform that are not here, and what to do instead. */
const notHere: readonly (readonly [path: string, message: string])[] = [
  ...devtoolsRoutes,
  ...pdfRoutes,
];

/**
 * The rendering endpoints below `/accounts/:account_id/browser-rendering/` (and `browser-run`): `/pdf`, `/pdf/edit`,
 * `/markdown`, `/json`, `/content`, `/screenshot`, `/links`, `/scrape`, `/accessibilityTree`, `/snapshot`, `/crawl`.
 *
 * @example
 * ```ts
 * import { rendering } from "causey/rendering";
 * import { memoryPlatform } from "causey/memory";
 * import { Hono } from "hono";
 *
 * const platform = await memoryPlatform();
 * const app = new Hono().route("/client/v4", rendering({ platform }));
 * const answer = await app.request("/client/v4/accounts/local/browser-rendering/markdown", {
 *   method: "POST",
 *   headers: { "Content-Type": "application/json" },
 *   body: '{"html":"<h1>Invoice</h1>"}',
 * });
 * ```
 */
export function rendering(options: RenderingSettings): Hono {
  return renderingParts(options).routes;
}

/** The result of {@link renderingParts}: routes, and operations for code of the same process. */
export interface RenderingParts {
  readonly routes: Hono;
  /** The operations for code of the same process, e.g. for the agents' `agent.render`. */
  readonly binding: RenderBinding;
  /** Crawls websites for search instances: `search({ crawler })`. */
  readonly crawler: SiteCrawler;
}

/**
 * Makes the routes of {@link rendering}, and its operations for code of the same process. Both share the browser's limits.
 *
 * @example
 * ```ts
 * import { renderingParts } from "causey/rendering";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const { routes, binding } = renderingParts({ platform });
 * const markdown = await binding.markdown({ html: "<h1>Invoice</h1>" });
 * ```
 */
export function renderingParts(options: RenderingSettings): RenderingParts {
  const { platform } = options;
  const app = new Hono();
  const auth = options.auth ?? storedTokens(platform);
  const deps = renderDeps(options);
  const operations = tracedOperations(renderOperations(options, deps), options.tracer);
  for (const prefix of prefixes) {
    for (const [name, operation] of Object.entries(operations)) {
      app.post(
        `${prefix}/${name}`,
        browserTime,
        authorize(auth, "Browser Rendering Edit"),
        handle(name, operation),
      );
    }
    for (const [path, message] of notHere) {
      app.all(`${prefix}/${path}`, authorize(auth, "Browser Rendering Edit"), () => {
        throw new ApiError("not_part", { message, headers: { "x-should-retry": "false" } });
      });
    }
  }
  const crawls = crawlDeps(options, deps);
  crawlRoutes(app, prefixes, crawls, [browserTime, authorize(auth, "Browser Rendering Edit")]);
  renderMcpRoutes(app, prefixes, {
    endpoint: options,
    crawls,
    hasModel: options.chatModel !== undefined,
    guard: authorize(auth, "Browser Rendering Edit"),
    askFor: (c, request) => askFor(operations, c, request),
  });
  closeRoutes(
    app,
    prefixes.map((prefix) => `${prefix}/*`),
    "api",
    platform,
  );
  return { routes: app, binding: renderBinding(operations), crawler: siteCrawler(crawls) };
}

function crawlDeps(options: RenderingSettings, render: RenderDeps): CrawlDeps {
  const { platform, sendsWebhooks = false } = options;
  return {
    platform,
    documents: platform.browser.documents ?? platform.egress,
    policy: jobPolicy(options),
    allowHosts: options.allowHosts ?? [],
    render,
    json: jsonDeps(options),
    frontmatter: options.frontmatter !== false,
    extract: options.extract ?? null,
    readPdf: options.readPdf ?? null,
    ...crawlSlots(options),
    limits: crawlLimits(options),
    secrets: {
      master: options.masterSecret ?? null,
      former: options.formerMasterSecrets ?? [],
    },
    sendsWebhooks,
    tracer: options.tracer,
  };
}

interface BrowserTime {
  readonly Variables: { browserMs?: number };
}

/** Every answer says how long a browser was busy for it, failures and cache hits too. */
const browserTime: MiddlewareHandler<BrowserTime> = async (c, next) => {
  await next();
  setAnswerHeader(c, "x-browser-ms-used", String(c.get("browserMs") ?? 0));
};

function handle(name: string, operation: RenderOperation): Handler<BrowserTime> {
  return async (c: Context<BrowserTime>) => {
    checkQuery(c, name === "pdf/edit" ? [] : ["cacheTTL"]);
    const requester = requesterOf(c);
    return operation({
      request: await wholeRequest(c.req),
      query: new URL(c.req.url).searchParams,
      caller: callerOf(c, name),
      owner: workOwner(c),
      requester,
      onBrowserMs: (ms) => c.set("browserMs", ms),
      onUnknown: (messages) => noteUnknownFields(c, messages),
      trace: traceOf(c.req.raw),
    });
  };
}

/** Makes the operations' function for tools that are called by one request. */
function askFor(operations: Operations, c: Context, { url, signal }: Request): AskPage {
  return (name, body) =>
    operations[name]({
      request: new Request(url, { method: "POST", body: JSON.stringify(body), signal }),
      query: new URLSearchParams(),
      caller: callerOf(c, name),
      owner: workOwner(c),
      requester: requesterOf(c),
      // The answer may have begun by then, so no header can tell it.
      onBrowserMs: () => undefined,
      onUnknown: refuseUnknown,
      trace: traceOf(c.req.raw),
    });
}

/** Returns the caller whose answers are kept for it. */
function callerOf(c: Context, operation: string): string {
  return [c.req.param("account_id"), c.req.header("authorization"), operation].join("\n");
}

type Operations = Readonly<Record<OperationName, RenderOperation>>;

/** The operations with a span of each rendering, which is named to the origin that is rendered. */
function tracedOperations(operations: Operations, tracer: Tracer | undefined): Operations {
  if (tracer === undefined) return operations;
  const entries = Object.entries(operations).map(([name, operation]) => [
    name,
    traced(name, operation, tracer),
  ]);
  // `as`: the same names.
  return Object.fromEntries(entries) as Operations;
}

function traced(name: string, operation: RenderOperation, tracer: Tracer): RenderOperation {
  return async (call) => {
    const span = tracer.begin(call.trace ?? null);
    let browserMs = 0;
    const onBrowserMs = (ms: number): void => {
      browserMs = ms;
      call.onBrowserMs(ms);
    };
    const end = (error: string | null): void =>
      span.end({
        name: `render ${name}`,
        kind: "internal",
        attributes: {
          "causey.part": "rendering",
          "causey.browser_ms": browserMs,
          "error.type": error,
        },
        isError: error !== null,
      });
    try {
      const answer = await operation({ ...call, onBrowserMs, traceparent: span.traceparent });
      end(null);
      return answer;
    } catch (error) {
      end(errorType(error));
      throw error;
    }
  };
}
