import type { Context } from "hono";
import { routePath } from "hono/route";
import { checkAccountId } from "../../auth/account-id.ts";
import { ApiError } from "../../http/api-error.ts";
import { json } from "../../http/envelope.ts";
import { noRoute } from "../../http/routes.ts";
import { wholeRequest } from "../../http/whole-request.ts";
import { admit, type AdmitOptions } from "./admit.ts";
import type { Call, GatewayDeps, Step } from "../call/call.ts";
import { compatStep } from "./compat.ts";
import { deliver } from "./deliver.ts";
import { forwardAny } from "../choose/dynamic/forward-route.ts";
import { forward } from "../call/forward.ts";
import type { GatewayName } from "../gateways/gateway-name.ts";
import { headerPairs } from "../wire/header-hygiene.ts";
import { modelList } from "./model-list.ts";
import { type RawTail, rawTail } from "../wire/raw-path.ts";
import { isUpgrade, type UniversalSockets, universalSockets } from "../realtime/connect.ts";
import { providerSocket } from "../realtime/provider-socket.ts";
import { requestBody } from "./request-body.ts";
import { callError } from "./call-error.ts";
import type { BodyHold } from "../../body-budget.ts";
import { needsBody } from "./needs-body.ts";
import { withUploadAddress } from "../providers/upload-address.ts";
import { forwardSteps, readSteps } from "./universal.ts";

/** A request below `/v1/:account_id/:gateway_id`. */
interface Arrival {
  readonly raw: Request;
  readonly name: GatewayName;
  /** The first segment behind the gateway: a provider, or `compat`. */
  readonly segment: string;
  readonly tail: RawTail;
}

const ROOT = "/v1/:account_id/:gateway_id";
const PROVIDER = `${ROOT}/:provider/*`;
const POSTED: AdmitOptions = { entry: { method: "POST", route: PROVIDER } };
const UNIVERSAL: AdmitOptions = { entry: { method: "POST", route: ROOT } };
const COMPAT: AdmitOptions = {
  entry: { method: "POST", route: `${ROOT}/compat/*` },
  tokenInAuthorization: true,
};

/**
 * Answers everything below `/v1/:account_id/:gateway_id`, as its first segment says: none is the universal
 * endpoint, over HTTP and WebSocket; `compat` the unified one; any other a provider, with any method and path.
 * What is thrown becomes the answer that `refuse` makes of it.
 */
export function gatewayFront(
  deps: GatewayDeps,
  refuse: (error: unknown, c: Context) => Response,
): (c: Context) => Promise<Response> {
  const sockets = universalSockets(deps);
  return async (c) => {
    let call: Call | undefined;
    try {
      const raw = wholeRequest(c.req);
      const arrival = arrivalOf(c, raw instanceof Promise ? await raw : raw);
      const other = elsewhere(arrival, c, sockets, deps);
      if (other !== null) return await other;
      const { method } = arrival.raw;
      const how = method === "POST" ? POSTED : { entry: { method, route: PROVIDER } };
      const accepted = await accept(arrival, how, deps);
      call = accepted.call;
      const forwarded = await forward(accepted.step, 0, true, call, deps);
      const { segment: slug, tail } = arrival;
      const answer = deliver(
        withUploadAddress(forwarded, { url: arrival.raw.url, slug, tail }, deps),
        deps,
      );
      return answer instanceof Promise ? await answer : answer;
    } catch (error) {
      return refuse(callError(call, error), c);
    } finally {
      call?.held?.release();
    }
  };
}

/** The answer to what is no HTTP request to a provider; null for one that is. */
function elsewhere(
  arrival: Arrival,
  c: Context,
  sockets: UniversalSockets,
  deps: GatewayDeps,
): Promise<Response> | null {
  const { raw, name, segment, tail } = arrival;
  if (segment === "") {
    if (tail.rest !== "") throw noRoute(c);
    return universal(arrival, sockets, deps);
  }
  const answer = segment === "compat" ? unified(arrival, deps) : null;
  if (answer !== null) return answer;
  // Looking at `Headers` makes them, which a request with a body need not.
  return raw.method === "GET" && isUpgrade(raw)
    ? providerSocket({ request: raw, name, segment, ...tail }, deps)
    : null;
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

/** A path segment as a router reads it. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

async function universal(
  { raw, name }: Arrival,
  sockets: UniversalSockets,
  deps: GatewayDeps,
): Promise<Response> {
  if (raw.method === "GET") return sockets.connect(raw, name);
  if (raw.method !== "POST")
    throw new ApiError("method_not_allowed", { headers: { allow: "GET, HEAD, POST" } });
  const call = await admit(name, headerPairs(raw), raw.signal, deps, UNIVERSAL);
  const held = deps.bodies.hold();
  try {
    const steps = await readSteps(raw, held, deps.platform.system);
    return await deliver(await forwardSteps(steps, { ...call, held }, deps), deps, true);
  } catch (error) {
    throw callError(call, error);
  } finally {
    held.release();
  }
}

/** Null for what the unified endpoint has no answer for. */
function unified(arrival: Arrival, deps: GatewayDeps): Promise<Response> | null {
  const { raw, name, tail } = arrival;
  if (raw.method === "POST")
    return accept(arrival, COMPAT, deps).then(async ({ call, step }) => {
      try {
        return await deliver(await forwardAny(compatStep(step), 0, true, call, deps), deps);
      } catch (error) {
        throw callError(call, error);
      } finally {
        call.held?.release();
      }
    });
  if (raw.method !== "GET" || !/^(?:v1\/)?models$/.test(tail.rest)) return null;
  const how = { ...COMPAT, entry: { ...COMPAT.entry, method: "GET" } };
  return admit(name, headerPairs(raw), raw.signal, deps, how).then(() =>
    json(modelList(deps.targets.demo, deps.router !== undefined)),
  );
}

async function accept(
  { raw, name, segment, tail }: Arrival,
  how: AdmitOptions,
  deps: GatewayDeps,
): Promise<{ call: Call; step: Step }> {
  const received = deps.platform.received?.(raw) ?? null;
  const headers = received?.headers ?? headerPairs(raw);
  const call = await admit(name, headers, raw.signal, deps, how);
  let held: BodyHold | undefined;
  const step = { slug: segment, ...tail, method: raw.method, headers, body: null };
  try {
    const body = await requestBody(raw, headers, received, {
      system: deps.platform.system,
      hold: () => (held = deps.bodies.hold()),
      mayPass: () => !needsBody(step, call, deps),
    });
    return { call: held === undefined ? call : { ...call, held }, step: { ...step, body } };
  } catch (error) {
    held?.release();
    throw callError(call, error);
  }
}

/** The tail's place in the raw URL, also when a host app mounted this one below a prefix. */
function segmentsBeforeTail(path: string): number {
  let slashes = 0;
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) slashes++;
  return slashes - 1;
}
