/**
 * Stateful agents: {@link defineAgent} describes a class, {@link agents} serves `/:class/:name` over HTTP and
 * WebSocket to the public agent client.
 *
 * @module
 */
import { Hono, type Context } from "hono";
import type { Auth } from "../auth/authorize.ts";
import { storedTokens } from "../auth/mod.ts";
import { whilePermitted } from "../auth/while-permitted.ts";
import type { Retention } from "../entity/event.ts";
import { eventCountsKind } from "../entity/event-counts.ts";
import { webhookIndexKind } from "../entity/webhook-index.ts";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { envelope } from "../http/envelope.ts";
import { addsUnknownFields } from "../http/fields/unknown-fields.ts";
import { closeRoutes, methodNotAllowed, noRouteBut } from "../http/routes.ts";
import { sseResponse } from "../http/sse.ts";
import { copyOf } from "../net/client-address.ts";
import type { ActorKind, Platform } from "../ports.ts";
import { traceparentOf, type Tracer } from "../trace/trace-context.ts";
import { refuse, type Access } from "./access/access.ts";
import { needsEdit, startAdmission } from "./access/admission.ts";
import { type AppAuth, startReviewer } from "./access/reviewer.ts";
import { allowOrigins, checkOrigins } from "../http/origins/cors.ts";
import { isWebSocketUpgrade } from "../http/origins/websocket-upgrade.ts";
import { webhookAgent, type AgentClass } from "./kind/define-agent.ts";
import { eventStream } from "./feed/read-feed.ts";
import { agentKind } from "./kind/agent-kind.ts";
import type { AgentGateway, AgentRender, AgentSearch, AgentServices } from "./define/services.ts";
import { positionOf } from "./session/session.ts";
import { agentStub, type AgentStub, type CallableClass } from "./define/agent-stub.ts";

export { defineAgent, webhookAgent, type AgentClass } from "./kind/define-agent.ts";
export { getCurrentAgent } from "./handlers/current-agent.ts";
export type { OutboundWebhook } from "./define/agent.ts";
export type {
  AgentAnswer,
  AgentCall,
  AgentChunk,
  AgentConversation,
  AgentFindings,
  AgentGateway,
  AgentMessage,
  AgentPage,
  AgentQuestion,
  AgentRender,
  AgentRenderings,
  AgentSearch,
} from "./define/services.ts";
export type { AgentReach } from "./define/agent.ts";
export type { AgentTransaction } from "./define/agent.ts";
export type { AgentStub, CallableClass } from "./define/agent-stub.ts";
export {
  type AgentDefinition,
  type Callable,
  type Callables,
  type StreamReply,
} from "./define/definition.ts";
export type { Agent, AgentConnection, AgentEvent, EventQuery } from "./define/agent.ts";
export {
  NonRetryableError,
  type DeadLetter,
  type QueuedTask,
  type AgentScheduleOptions,
  type QueueOptions,
  type RetryOptions,
  type Run,
  type Schedule,
  type ScheduleFilter,
  type When,
} from "./define/tasks.ts";

/** Options of {@link agents}. */
export interface AgentsOptions {
  readonly platform: Platform;
  /** The account that tokens must cover. @default "local" */
  readonly accountId?: string;
  /** Authenticates callers; `"off"` leaves that to the host app. @default the tokens stored through the API */
  readonly auth?: Auth;
  /** Classes beside the built-in `webhook-agent`; one of that name replaces it. @default [] */
  readonly agents?: readonly AgentClass[];
  /**
   * Origins whose pages may connect and use the routes over HTTP (CORS), e.g. `["https://app.example"]`. Clients that
   * send no origin are always allowed. @default every page may connect, no page may read answers over HTTP
   */
  readonly origins?: readonly string[];
  /** Serves `GET …/events` as server-sent events; false leaves the path to `onRequest`. @default true */
  readonly eventStream?: boolean;
  /**
   * Retention of webhook events, as the sources configure it. With it, an instance that receives no further events
   * applies a changed setting too, at its next start or alarm. @default as the instance's last event said
   */
  readonly retention?: Retention;
  /** Has `agent.webhooks` send to the account's endpoints, which `webhooksManagement()` serves. @default false */
  readonly sendsWebhooks?: boolean;
  /** Finds the gateway for `agent.gateway(name)`, e.g. `gatewayParts().aiBinding`. @default none: it throws */
  readonly gateway?: (name: string) => AgentGateway;
  /** Finds the instance for `agent.search(id)`, e.g. `searchParts().binding`. @default none: it throws */
  readonly search?: (id: string, namespace?: string) => AgentSearch;
  /** The renderer behind `agent.render`, e.g. `renderingParts().binding`. @default none: it rejects */
  readonly render?: AgentRender;
  /** Receives a span for each run of an event or a task. @default no tracing */
  readonly tracer?: Tracer | undefined;
}

/** Options of {@link getAgentByName}. */
export interface CallSettings {
  /** Longest time of a call in ms, if it is shorter than the callable's own. @default the callable's own */
  readonly timeoutMs?: number;
}

/**
 * Returns a stub of an instance, for code of the server: its callables, `edit` or not, are typed methods. The class has
 * to be served on the same platform. Throws 400 for an invalid name.
 *
 * @example
 * ```ts
 * import { defineAgent, getAgentByName } from "causey/agents";
 * import { memoryPlatform } from "causey/memory";
 *
 * const Greeter = defineAgent({
 *   name: "greeter",
 *   callable: { hello: (_agent, name: string) => `Hello ${name}` },
 * });
 * const platform = await memoryPlatform();
 * const greeting = await getAgentByName(platform, Greeter, "main").hello("Ada");
 * ```
 */
export function getAgentByName<Calls extends object>(
  platform: Pick<Platform, "actors">,
  of: CallableClass<Calls>,
  name: string,
  { timeoutMs }: CallSettings = {},
): AgentStub<Calls> {
  return agentStub(platform.actors, of, name, () => ({ chain: [], ms: timeoutMs }));
}

/**
 * Serves agents at `/:class/:name` (HTTP, WebSocket), `/:class/:name/events` (server-sent events) and `POST
 * /:class/:name/ticket` (the ticket with which a browser connects).
 *
 * @example
 * ```ts
 * import { agents, webhookAgent } from "causey/agents";
 * import { memoryPlatform } from "causey/memory";
 * import { Hono } from "hono";
 *
 * const platform = await memoryPlatform();
 * const app = new Hono().route("/agents", agents({ platform, agents: [webhookAgent] }));
 * ```
 */
export function agents(options: AgentsOptions): Hono {
  const { platform, accountId = "local", origins } = options;
  const auth = options.auth ?? storedTokens(platform);
  const classes = defineClasses(options, auth);
  const admission = startAdmission({ platform, accountId, auth, classes, origins });
  const app = new Hono();
  if (origins !== undefined) {
    checkOrigins(origins);
    app.use("/:class/:name/*", allowOrigins(origins));
  }

  async function connect(c: Context): Promise<Response> {
    const request = c.req.raw;
    const { access, found, ref } = await admission.visitor(c);
    if (c.req.query("__agents_transport") === "capnweb") throw new ApiError("not_found");
    // Sent in a call of its own, because runtimes upgrade only the very request that they received, which cannot carry
    // more.
    const key = request.headers.get("sec-websocket-key");
    if (key !== null && makesDifference(found, access)) await ref.call("admit", key);
    return ref.fetch(request);
  }

  async function handle(c: Context): Promise<Response> {
    if (isWebSocketUpgrade(c.req.raw))
      return connect(c).catch((error: unknown) => {
        const refused = refuse(platform.webSockets, c.req.raw, error);
        if (refused === null) throw error;
        return refused;
      });
    const access = await admission.caller(c);
    const reads = c.req.method === "GET" || c.req.method === "HEAD";
    if (!reads && !access.edit) throw needsEdit();
    return admission.find(c).ref.fetch(forInstance(c.req.raw));
  }

  if (options.eventStream !== false) {
    app.get("/:class/:name/events", async (c) => {
      if (isWebSocketUpgrade(c.req.raw)) return handle(c);
      const { ref, review } = await admission.visitor(c);
      const signals = [c.req.raw.signal, platform.system.closing];
      checkSince(c.req.query("since"));
      const since = positionOf(c.req.header("last-event-id") ?? c.req.query("since") ?? null);
      const events = eventStream(ref, since ?? -1, signals);
      return sseResponse(whilePermitted(events, review, platform.system));
    });
  }
  app.post("/:class/:name/ticket", addsUnknownFields, async (c) =>
    envelope(await admission.ticket(c), { status: 201 }),
  );
  app.all("/:class/:name/ticket", async (c) => {
    const { definition } = admission.find(c).found;
    // A class with answers of its own may have one there.
    const isOwn = typeof definition.onRequest === "function";
    if (isOwn || isWebSocketUpgrade(c.req.raw)) return handle(c);
    await admission.caller(c);
    throw methodNotAllowed(["POST"], c.req.method);
  });
  app.all("/:class/:name", handle);
  app.all("/:class/:name/*", handle);
  for (const path of ["/:class", "/:class/"]) app.all(path, needsName);
  closeRoutes(app, ["/*"], "api", platform);
  return app;
}

function needsName(c: Context): never {
  const path = `${c.req.path.replace(/\/$/, "").slice(0, 200)}/{name}`;
  throw noRouteBut(c, `: add the name of an agent, as in "${path}"`);
}

/** Registers the classes; two with one kebab form would share their instances, so that is an error. */
function defineClasses(
  {
    accountId = "local",
    agents: own = [],
    gateway,
    platform,
    render,
    retention,
    search,
    sendsWebhooks = false,
    tracer,
  }: AgentsOptions,
  auth: Auth,
): Map<string, AgentClass> {
  const classes = new Map<string, AgentClass>();
  for (const one of own) {
    if (classes.has(one.name))
      throw new TypeError(`Two agents have the path form "${one.name}": rename one`);
    classes.set(one.name, one);
  }
  if (!classes.has(webhookAgent.name)) classes.set(webhookAgent.name, webhookAgent);
  const outboundAccount = sendsWebhooks ? accountId : undefined;
  const services: AgentServices = {
    retention,
    outboundAccount,
    gateway,
    search,
    render,
    tracer,
  };
  const app: AppAuth = { auth, account: accountId };
  const hasServices = Object.values(services).some((one) => one !== undefined);
  const reviewer = startReviewer({ platform, apps: [app] });
  for (const { definition } of classes.values())
    platform.actors.define(
      hasServices
        ? agentKind(definition, { ...services, reviewer })
        : kindWithApp(definition, app, platform),
    );
  platform.actors.define(eventCountsKind);
  platform.actors.define(webhookIndexKind);
  return classes;
}

/** The kinds of classes without services, of each platform: its log is the same in every copy of it. */
const plainKinds = new WeakMap<
  Platform["log"],
  Map<AgentClass["definition"], { readonly kind: ActorKind; readonly apps: AppAuth[] }>
>();

/** One kind of a class without services, so that an app may serve the same class twice. */
function kindWithApp(
  definition: AgentClass["definition"],
  app: AppAuth,
  platform: Platform,
): ActorKind {
  const kinds: NonNullable<ReturnType<typeof plainKinds.get>> =
    plainKinds.get(platform.log) ?? new Map();
  plainKinds.set(platform.log, kinds);
  const known = kinds.get(definition);
  if (known !== undefined) {
    known.apps.push(app);
    return known.kind;
  }
  const apps = [app];
  const kind = agentKind(definition, { reviewer: startReviewer({ platform, apps }) });
  kinds.set(definition, { kind, apps });
  return kind;
}

/** Whether "Agents Edit" matters to the class; most connections are spared the extra call. */
function makesDifference({ definition }: AgentClass, access: Access): boolean {
  if (!access.edit) return false;
  const operations = Object.values(definition.callable ?? {});
  return (
    definition.clientState === true ||
    operations.some((one) => typeof one === "object" && one.edit === true)
  );
}

/** Refuses a `since` that is not a position: the stream would begin with all events. */
function checkSince(since: string | undefined): void {
  if (since === undefined || since === "" || since === "-1" || positionOf(since) !== null) return;
  const message = `since: expected the number of an event, got "${since.slice(0, 32)}"`;
  throw invalidRequest(message);
}

/**
 * Names the request's span to the instance, and drops the official router's own header, which a caller must not set.
 */
function forInstance(request: Request): Request {
  const trace = traceparentOf(request);
  if (trace === null && !request.headers.has("x-agents-lifecycle-props")) return request;
  const headers = new Headers(request.headers);
  headers.delete("x-agents-lifecycle-props");
  if (trace !== null) headers.set("traceparent", trace);
  return copyOf(request, new Request(request, { headers }));
}
