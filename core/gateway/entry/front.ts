import type { Context } from "hono";
import { routePath } from "hono/route";
import { checkAccountId } from "../../auth/accounts.ts";
import { ApiError } from "../../http/api-error.ts";
import { json } from "../../http/envelope.ts";
import { methodNotAllowed, noRoute, noRouteBut } from "../../http/routes.ts";
import { meantPath, nearPath } from "../../text/path-hint.ts";
import { wholeRequest } from "../../http/whole-request.ts";
import type { GatewayAdmission, AdmitOptions } from "./admission.ts";
import { callerName } from "../call/caller.ts";
import type { Call, Step } from "../call/call.ts";
import { GATEWAY_ID, gatewayHeader } from "../call/controls.ts";
import { compatStepInSteps, unifiedPaths } from "../providers/unified-step.ts";
import { oneModel, usableModels, type UsableModelsParts } from "./usable-models.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { DEFAULT_GATEWAY } from "../account/settings/settings.ts";
import { headerPairs } from "../wire/header-hygiene.ts";
import { type RawTail, rawTail } from "../wire/raw-path.ts";
import { isWebSocketUpgrade } from "../../http/origins/websocket-upgrade.ts";
import { needsForm, requestBody } from "./request-body.ts";
import { callError } from "./call-error.ts";
import type { BodyBudget, BodyHold } from "../../work/body-budget.ts";
import type { Platform } from "../../ports.ts";
import type { Forward } from "../call/forward.ts";
import type { DeliverAnswer } from "./delivery.ts";
import { targetsOf, withUploadAddress } from "../providers/target.ts";
import { forwardSteps, readSteps, type StepsParts } from "./universal.ts";

/** A request below `/v1/:account_id/:gateway_id`. */
interface Arrival {
  readonly raw: Request;
  readonly name: GatewayName;
  /** The first segment behind the gateway: a provider, or `compat`. */
  readonly segment: string;
  readonly tail: RawTail;
}

const ROOT = "/v1/:account_id/:gateway_id";
/** Segments of {@link ROOT}, with the empty one in front of it. */
const ROOT_SEGMENTS = ROOT.split("/").length - 1;
const PROVIDER = `${ROOT}/:provider/*`;
const POSTED: AdmitOptions = { entry: { method: "POST", route: PROVIDER } };
const UNIVERSAL: AdmitOptions = { entry: { method: "POST", route: ROOT } };
const COMPAT: AdmitOptions = {
  entry: { method: "POST", route: `${ROOT}/compat/*` },
  tokenInAuthorization: true,
};

/** A client's request for a WebSocket to a provider: the path segment of the provider, and what stands behind it. */
export interface SocketRequest extends RawTail {
  readonly request: Request;
  readonly name: GatewayName;
  readonly segment: string;
}

/**
 * Paths of the unified endpoint right below `/v1`, so that `https://host/v1` is a base URL of OpenAI's and Anthropic's clients,
 * and their methods.
 */
export const BARE_PATHS: readonly (readonly [method: string, path: string])[] = [
  ["GET", "models"],
  ...unifiedPaths.map((path) => ["POST", path] as const),
];

export interface FrontParts extends StepsParts, UsableModelsParts {
  /** The account of {@link BARE_PATHS}. */
  readonly account: string;
  readonly platform: Pick<Platform, "received">;
  readonly admission: Pick<GatewayAdmission, "admit">;
  /** Answers a step by its provider. */
  readonly forward: Forward;
  /** Answers a step by whatever it names. */
  readonly answer: Forward;
  readonly deliver: DeliverAnswer;
  /** The memory for the bodies of all requests. */
  readonly bodies: BodyBudget;
  /** Whether something would read a step's body, or send it twice. */
  readonly needsBody: (step: Step, call: Call) => boolean;
  readonly sockets: { connect(request: Request, name: GatewayName): Promise<Response> };
  readonly providerSocket: (asked: SocketRequest) => Promise<Response>;
}

/**
 * Answers everything below `/v1/:account_id/:gateway_id` by its first segment: without one it is the universal endpoint,
 * over HTTP and WebSocket; `compat` is the unified one; any other is a provider, with any method and path. `refuse` turns
 * errors into answers.
 */
export function gatewayFront(
  parts: FrontParts,
  refuse: (error: unknown, c: Context) => Response,
): (c: Context) => Promise<Response> {
  return async (c) => {
    let call: Call | undefined;
    try {
      const raw = await wholeRequest(c.req);
      const arrival = arrivalAt(c, raw, parts.account);
      const other = elsewhere(arrival, c, parts);
      if (other !== null) return await other;
      const { method } = arrival.raw;
      const how = method === "POST" ? POSTED : { entry: { method, route: PROVIDER } };
      const accepted = await accept(arrival, how, parts);
      call = accepted.call;
      const forwarded = await parts.forward(accepted.step, 0, true, call);
      const { segment: slug, tail } = arrival;
      return await parts.deliver(
        withUploadAddress(
          forwarded,
          { url: arrival.raw.url, slug, tail },
          targetsOf(parts.targets, call.name),
        ),
      );
    } catch (error) {
      return refuse(meantBare(c, error) ?? callError(call, error), c);
    } finally {
      call?.held?.release();
    }
  };
}

const BARE_TEMPLATES = BARE_PATHS.map(([, path]) => `/v1/${path}`);

/** Refusals of a caller or a gateway, which a path that nearly is one of {@link BARE_PATHS} gets too. */
const REFUSALS = new Set<string>(["gateway_unauthorized", "gateway_unknown"]);

/**
 * Returns the 404 for a refused request that meant one of {@link BARE_PATHS}: its first two parts were read as account and
 * gateway. Null for all others.
 */
function meantBare(c: Context, error: unknown): ApiError | null {
  if (c.req.param("account_id") === undefined) return null;
  if (!(error instanceof ApiError) || !REFUSALS.has(error.kind)) return null;
  // A host app may have mounted this one below a prefix.
  const own = c.req.path.split("/").slice(1 + segmentsBeforeTail(routePath(c)) - ROOT_SEGMENTS);
  const meant = nearPath(own.join("/"), BARE_TEMPLATES);
  return meant === null ? null : noRouteBut(c, meantPath(meant));
}

/** Answers a request that is not HTTP to a provider; null for one that is. */
function elsewhere(arrival: Arrival, c: Context, parts: FrontParts): Promise<Response> | null {
  const { raw, name, segment, tail } = arrival;
  if (segment === "") {
    if (tail.rest !== "") throw noRoute(c);
    return universal(arrival, parts);
  }
  const answer = segment === "compat" ? unified(arrival, parts) : null;
  if (answer !== null) return answer;
  // Looking at `Headers` makes them, which a request with a body need not.
  return raw.method === "GET" && isWebSocketUpgrade(raw)
    ? parts.providerSocket({ request: raw, name, segment, ...tail })
    : null;
}

function arrivalAt(c: Context, raw: Request, account: string): Arrival {
  const owner = c.req.param("account_id");
  if (owner === undefined) return bareArrival(c, raw, account);
  // `/v1/models/{model}`: names of models have slashes, so it has as many segments as a request to a provider.
  return owner === "models" && raw.method === "GET"
    ? modelArrival(c, raw, account)
    : arrivalOf(c, raw);
}

function arrivalOf(c: Context, raw: Request): Arrival {
  const account = c.req.param("account_id") ?? "";
  checkAccountId(account);
  const name = { account, gateway: c.req.param("gateway_id") ?? "" };
  const { rest, query } = rawTail(raw.url, segmentsBeforeTail(routePath(c)));
  const slash = rest.indexOf("/");
  const segment = decoded(slash === -1 ? rest : rest.slice(0, slash));
  return { raw, name, segment, tail: { rest: slash === -1 ? "" : rest.slice(slash + 1), query } };
}

/** The same for one of {@link BARE_PATHS}. */
function bareArrival(c: Context, raw: Request, account: string): Arrival {
  const [, rest = ""] = routePath(c).split("/v1/");
  const taken = BARE_PATHS.filter(([, path]) => path === rest).map(([method]) => method);
  if (taken.includes("GET")) taken.push("HEAD");
  if (!taken.includes(raw.method)) throw methodNotAllowed(taken, raw.method);
  const { query } = rawTail(raw.url, 0);
  return atDefaultGateway(raw, account, { rest, query });
}

/** The same for one model of the list. */
function modelArrival(c: Context, raw: Request, account: string): Arrival {
  const { rest, query } = rawTail(raw.url, segmentsBeforeTail(routePath(c)) - 1);
  return atDefaultGateway(raw, account, { rest: `models/${rest}`, query });
}

function atDefaultGateway(raw: Request, account: string, tail: RawTail): Arrival {
  const gateway = gatewayHeader(headerPairs(raw), GATEWAY_ID) ?? DEFAULT_GATEWAY;
  return { raw, name: { account, gateway }, segment: "compat", tail };
}

/** Returns a path segment as a router reads it. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

async function universal({ raw, name }: Arrival, parts: FrontParts): Promise<Response> {
  if (raw.method === "GET") return parts.sockets.connect(raw, name);
  if (raw.method !== "POST")
    throw new ApiError("method_not_allowed", { headers: { allow: "GET, HEAD, POST" } });
  const how = { ...UNIVERSAL, client: raw };
  const call = await parts.admission.admit(name, headerPairs(raw), raw.signal, how);
  const held = parts.bodies.hold();
  try {
    const steps = await readSteps(raw, held, parts.system, parts.pools(name));
    return await parts.deliver(await forwardSteps(steps, { ...call, held }, parts), true);
  } catch (error) {
    throw callError(call, error);
  } finally {
    held.release();
  }
}

/** Null for what the unified endpoint has no answer for. */
function unified(arrival: Arrival, parts: FrontParts): Promise<Response> | null {
  const { raw, name, tail } = arrival;
  if (raw.method === "POST")
    return accept(arrival, COMPAT, parts).then(async ({ call, step }) => {
      try {
        const { caller, signal } = call;
        const named = await compatStepInSteps(step, parts.pools(name), () => ({
          system: parts.system,
          owner: callerName(caller) ?? caller?.tokenHash ?? "",
          signal,
        }));
        return await parts.deliver(await parts.answer(named, 0, true, call));
      } catch (error) {
        throw callError(call, error);
      } finally {
        call.held?.release();
      }
    });
  const asked = /^(?:v1\/)?models(?:\/(.+))?$/.exec(tail.rest);
  if (raw.method !== "GET" || asked === null) return null;
  const how = { ...COMPAT, client: raw, entry: { ...COMPAT.entry, method: "GET" } };
  return parts.admission.admit(name, headerPairs(raw), raw.signal, how).then(async (call) => {
    const list = await usableModels(call, parts);
    return json(asked[1] === undefined ? list : oneModel(list, decoded(asked[1])));
  });
}

async function accept(
  { raw, name, segment, tail }: Arrival,
  how: AdmitOptions,
  parts: FrontParts,
): Promise<{ call: Call; step: Step }> {
  const received = parts.platform.received?.(raw) ?? null;
  const headers = received?.headers ?? headerPairs(raw);
  const asked = { ...how, client: raw, query: tail.query };
  const call = await parts.admission.admit(name, headers, raw.signal, asked);
  let held: BodyHold | undefined;
  const reading = { bytes: null, text: null, value: null };
  const step = { slug: segment, ...tail, method: raw.method, headers, body: null, reading };
  try {
    const body = await requestBody(raw, headers, received, {
      system: parts.system,
      hold: () => (held = parts.bodies.hold()),
      mayPass: () => !parts.needsBody(step, call),
      readsForm: () => step.slug === "compat" || needsForm(call),
    });
    return { call: held === undefined ? call : { ...call, held }, step: { ...step, body } };
  } catch (error) {
    held?.release();
    throw callError(call, error);
  }
}

/** Returns the tail's place in the raw URL, also when a host app mounted this one below a prefix. */
function segmentsBeforeTail(path: string): number {
  let slashes = 0;
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) slashes++;
  return slashes - 1;
}
