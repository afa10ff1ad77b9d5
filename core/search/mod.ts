import { type Context, Hono } from "hono";
import { workOwner } from "../auth/authorize.ts";
import { storedTokens } from "../auth/mod.ts";
import { readJson, type ReadJsonOptions } from "../http/fields/body.ts";
import { envelope } from "../http/envelope.ts";
import { closeRoutes, onError } from "../http/routes.ts";
import { chooseModel } from "./answer/chat.ts";
import { directoryKind } from "./directory/directory.ts";
import { searchBinding, type SearchBinding } from "./search-binding.ts";
import { findAcross } from "./answer/find-across.ts";
import { instanceKind } from "./actor/instance-actor.ts";
import { instanceRoutes } from "./routes/instance-routes.ts";
import { itemRoutes } from "./routes/item-routes.ts";
import { mcpRoutes } from "./routes/mcp-routes.ts";
import { jobRoutes } from "./routes/job-routes.ts";
import { questionRoutes } from "./routes/question-routes.ts";
import { publicRoutes } from "./routes/public-routes.ts";
import {
  answerChat,
  answerSearch,
  messagesOf,
  replyWith,
  tracedBy,
} from "./routes/query-answers.ts";
import { tokenRoutes } from "./routes/token-routes.ts";
import { namespaceRoutes } from "./routes/namespace-routes.ts";
import { rewrittenQuery } from "./answer/rewrite-query.ts";
import {
  accountOf,
  instanceRoots,
  namespaceOf,
  type RouteContext,
  routeContext,
  withNearInstance,
} from "./routes/route-context.ts";
import { withModelDeadlines } from "./models/model-deadlines.ts";
import type { SearchOptions } from "./models/search-deps.ts";
import {
  chatSchema,
  modelParameters,
  queryOf,
  SEARCH_BODY_LIMIT,
  searchSchema,
} from "./state/search-schema.ts";

export type { CountTokens } from "./text/count-tokens.ts";
export type { HtmlToMarkdown } from "./read/html-text.ts";
export {
  openAiChatModel,
  openAiEmbedder,
  type OpenAiEmbeddings,
  type OpenAiEndpoint,
} from "./answer/openai.ts";
export {
  gatewayChatModel,
  gatewayEmbedder,
  type GatewayEmbeddings,
  type GatewayModel,
  type GatewayRun,
  type GatewayStep,
} from "./answer/gateway-models.ts";
export { modelOcr } from "./answer/model-ocr.ts";
export { httpReranker } from "./answer/http-reranker.ts";
export type {
  BucketEndpoint,
  NamedChatModel,
  Ocr,
  OcrPicture,
  Reranker,
  SearchOptions,
} from "./models/search-deps.ts";
export type { McpContent, McpTool, McpToolResult, McpTools, ServeMcp } from "../mcp/mcp-tool.ts";
export type { SearchBinding } from "./search-binding.ts";

const ROOT = "/accounts/:account_id/ai-search";

/** The result of {@link searchParts}: routes, and instances for code of the same process. */
export interface SearchParts {
  readonly routes: Hono;
  /** Routes of instances with a public endpoint, for callers without a token. Mount them at the root of the host. */
  readonly publicRoutes: Hono;
  /** An instance for code of the same process, e.g. for the agents' `agent.search`. */
  readonly binding: (instance: string, namespace?: string) => SearchBinding;
}

/** Options of {@link searchParts}. */
export interface SearchPartsOptions extends SearchOptions {
  /** The account whose instances the binding searches. @default "local" */
  readonly accountId?: string;
}

/**
 * Makes the routes of search with and without generation, and the management of its instances, items, jobs and namespaces
 * (docs/search.md).
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { search } from "causey/search";
 * import { Hono } from "hono";
 *
 * const platform = await memoryPlatform();
 * // The app's own middleware authenticates callers.
 * const app = new Hono().route("/client/v4", search({ platform, auth: "off" }));
 * const made = await app.request("/client/v4/accounts/local/ai-search/instances", {
 *   method: "POST",
 *   headers: { "Content-Type": "application/json" },
 *   body: '{"id":"docs"}',
 * });
 * made.status; // → 200
 * await platform.close();
 * ```
 */
export function search(options: SearchOptions): Hono {
  return searchParts(options).routes;
}

/**
 * Makes the routes of {@link search}, and a binding with which code of the same process searches instances.
 *
 * @example
 * ```ts
 * import { memoryPlatform } from "causey/memory";
 * import { searchParts } from "causey/search";
 *
 * const platform = await memoryPlatform();
 * const { routes, binding } = searchParts({ platform });
 * const found = await binding("docs").search({ query: "refunds" });
 * ```
 */
export function searchParts(options: SearchPartsOptions): SearchParts {
  const { platform, accountId: account = "local" } = options;
  const bounded = withModelDeadlines(options);
  // Not on first use: another process may call the actors in this one, and their alarms are due after a restart.
  for (const kind of [directoryKind, instanceKind(bounded)]) platform.actors.define(kind);
  const routes = new Hono();
  const context = routeContext(bounded, options.auth ?? storedTokens(platform));
  for (const root of instanceRoots) queryRoutes(routes, `${root}/:id`, context);
  crossRoutes(routes, context);
  instanceRoutes(routes, context);
  itemRoutes(routes, context);
  jobRoutes(routes, context);
  namespaceRoutes(routes, context);
  tokenRoutes(routes, context);
  questionRoutes(routes, context);
  mcpRoutes(routes, context);
  closeRoutes(routes, [`${ROOT}/*`], "api", platform);
  routes.onError(async (error, c) =>
    onError(await withNearInstance(error, c, platform), c, "api", platform),
  );
  return {
    routes,
    publicRoutes: publicRoutes(bounded),
    binding: (id, namespace) => searchBinding({ account, id, namespace }, bounded),
  };
}

const reading = (c: Context, { platform }: SearchOptions): ReadJsonOptions => ({
  limit: SEARCH_BODY_LIMIT,
  platform,
  owner: workOwner(c),
});

function queryRoutes(app: Hono, root: string, { options: all, may, instance }: RouteContext): void {
  app.post(`${root}/search`, may("AI Search Run"), async (c) => {
    const options = tracedBy(c, all);
    const body = await readJson(c, searchSchema, reading(c, options));
    return answerSearch(c, instance(c), body, options);
  });
  app.post(`${root}/chat/completions`, may("AI Search Run"), async (c) => {
    const options = tracedBy(c, all);
    const body = await readJson(c, chatSchema, reading(c, options));
    return answerChat(c, instance(c), body, options);
  });
}

function crossRoutes(app: Hono, { options: all, may }: RouteContext): void {
  const root = `${ROOT}/namespaces/:name`;
  app.post(`${root}/search`, may("AI Search Run"), async (c) => {
    const options = tracedBy(c, all);
    const body = await readJson(c, searchSchema, reading(c, options));
    const query = queryOf(body, "missing_query_search");
    const text = await rewrittenQuery(query.text, {
      body,
      settings: null,
      options,
      signal: c.req.raw.signal,
    });
    const { chunks, errors, facets, notes } = await findAcross(text, {
      account: accountOf(c),
      namespace: namespaceOf(c),
      options: body.ai_search_options,
      deps: options,
      signal: c.req.raw.signal,
    });
    const result = { search_query: text, query_kind: query.kind, chunks, errors, ...facets };
    return envelope(result, { messages: messagesOf(notes) });
  });
  app.post(`${root}/chat/completions`, may("AI Search Run"), async (c) => {
    const options = tracedBy(c, all);
    const body = await readJson(c, chatSchema, reading(c, options));
    const query = queryOf({ messages: body.messages }, "missing_query_chat");
    const text = await rewrittenQuery(query.text, {
      body,
      settings: null,
      options,
      signal: c.req.raw.signal,
    });
    const parameters = modelParameters(body);
    const { model, answerer } = chooseModel(body.model, "", parameters, options);
    const found = await findAcross(text, {
      account: accountOf(c),
      namespace: namespaceOf(c),
      options: body.ai_search_options,
      deps: options,
      signal: c.req.raw.signal,
    });
    return replyWith(c, {
      body,
      input: {
        query: text,
        messages: body.messages ?? [],
        model,
        parameters,
        wantsUsage: body.stream_options?.include_usage === true,
        ...found,
      },
      answerer,
      options,
    });
  });
}
