import { type Context, Hono, type MiddlewareHandler } from "hono";
import { ApiError } from "../../http/api-error.ts";
import { packedText } from "../../http/built-text.ts";
import { envelope } from "../../http/envelope.ts";
import { readJson } from "../../http/fields/body.ts";
import { allowOriginsBy } from "../../http/origins/cors.ts";
import { noteResponse, responseNote } from "../../http/response-note.ts";
import { closeRoutes, onError } from "../../http/routes.ts";
import { clientAddress, clientNetwork } from "../../net/client-address.ts";
import { type Instance, instanceAt } from "../actor/instance-client.ts";
import {
  isEndpointId,
  publicEndpointsKind,
  publicEndpointsOf,
} from "../directory/public-endpoints.ts";
import { shownFailure } from "../answer/hidden-failures.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { mayAsk, type PublicEndpoint } from "../state/public-endpoint.ts";
import {
  VISITOR_BODY_LIMIT,
  visitorChatSchema,
  visitorSearchSchema,
} from "../state/visitor-schema.ts";
import { answerChat, answerSearch, tracedBy } from "./query-answers.ts";
import { questionClick } from "./question-routes.ts";

/** The public endpoints, by their ids. */
const PUBLIC = "/ai-search/:endpoint_id";

/** A public endpoint that is open, and the instance that it is of. */
interface OpenEndpoint {
  readonly id: string;
  readonly account: string;
  readonly params: PublicEndpoint;
  readonly instance: Instance;
}

/**
 * Makes the routes that need no token: search and chat of the instances that have a public endpoint, and the script of the
 * page's search box. Callers choose neither models nor prompts nor filters.
 */
export function publicRoutes(given: SearchOptions): Hono {
  const { platform } = given;
  const options: SearchOptions = { ...given, hidesFailures: true };
  platform.actors.define(publicEndpointsKind);
  const app = new Hono();
  app.use(`${PUBLIC}/*`, findsEndpoint(options), allowOriginsBy(mayRead), notesVisitor(options));
  app.get(`${PUBLIC}/search.js`, async (c) => {
    endpointOf(c);
    const { searchScript } = await import("../snippet/search-script.ts");
    return packedText(c.req.raw, searchScript, {
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=3600",
      // A script of the package: pages of every origin may load it, and ask only where they are allowed to.
      "access-control-allow-origin": "*",
      "cross-origin-resource-policy": "cross-origin",
    });
  });
  const reading = { limit: VISITOR_BODY_LIMIT, platform };
  app.post(`${PUBLIC}/search`, admits("search_endpoint", options), async (c) => {
    const body = await readJson(c, visitorSearchSchema, reading);
    return answerSearch(c, endpointOf(c).instance, body, tracedBy(c, options));
  });
  app.post(
    `${PUBLIC}/chat/completions`,
    admits("chat_completions_endpoint", options),
    async (c) => {
      const body = await readJson(c, visitorChatSchema, reading);
      return answerChat(c, endpointOf(c).instance, body, tracedBy(c, options));
    },
  );
  app.post(`${PUBLIC}/clicks`, admits("search_endpoint", options), async (c) => {
    const { query } = await readJson(c, questionClick, reading);
    return envelope({ counted: await endpointOf(c).instance.clickQuestion(query) });
  });
  closeRoutes(app, ["/ai-search/*"], "api", platform);
  app.onError((error, c) => onError(shownFailure(error, options), c, "api", platform));
  return app;
}

const FOUND = "causey.public-endpoint";

function found(c: Context): OpenEndpoint | null {
  // `as`: set below, and nowhere else.
  return (c.get(FOUND) as OpenEndpoint | undefined) ?? null;
}

function findsEndpoint({ platform }: SearchOptions): MiddlewareHandler {
  return async (c, next) => {
    c.set(FOUND, await openEndpoint(platform, c.req.param("endpoint_id") ?? ""));
    await next();
  };
}

async function openEndpoint(
  platform: SearchOptions["platform"],
  id: string,
): Promise<OpenEndpoint | null> {
  const place = isEndpointId(id) ? await publicEndpointsOf(platform).find(id) : null;
  if (place === null) return null;
  const instance = instanceAt(platform, place);
  try {
    const { public_endpoint_id: own, public_endpoint_params: params } = await instance.read();
    const isOpen = own === id && params?.enabled === true;
    return isOpen ? { id, account: place.account, params, instance } : null;
  } catch (error) {
    // It was deleted.
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** The endpoint of a request. Closed ones, those of deleted instances and those that never were get the same answer. */
function endpointOf(c: Context): OpenEndpoint {
  const endpoint = found(c);
  if (endpoint !== null) return endpoint;
  throw new ApiError("not_found", {
    message:
      "There is no open public endpoint at this address: its instance has it in public_endpoint_params",
  });
}

function mayRead(origin: string, c: Context): boolean {
  const endpoint = found(c);
  return endpoint !== null && mayAsk(endpoint.params, origin);
}

/** Lets in requests from pages that may ask, as many as the endpoint allows. */
function admits(
  route: "search_endpoint" | "chat_completions_endpoint",
  options: SearchOptions,
): MiddlewareHandler {
  return async (c, next) => {
    const { id, params, instance } = endpointOf(c);
    if (params[route].disabled)
      throw new ApiError("not_found", {
        message: `This public endpoint does not serve ${route === "search_endpoint" ? "search" : "chat/completions"}: its instance has switched it off`,
      });
    if (!mayAsk(params, c.req.header("origin") ?? null))
      throw new ApiError("forbidden", {
        message:
          c.req.header("origin") === undefined
            ? "This public endpoint answers pages only: the request has no Origin"
            : "Pages of this origin may not ask here: public_endpoint_params.authorized_hosts of the instance does not name it",
      });
    const wait = await instance.admitVisit(id, networkOf(c, options));
    if (wait === null) c.set(FOUND, null);
    endpointOf(c);
    if (wait !== null && wait > 0) {
      const seconds = Math.ceil(wait / 1000);
      throw new ApiError("rate_limited", {
        message: `Too many requests to this public endpoint: ask again in ${seconds} s`,
        headers: { "retry-after": String(seconds) },
      });
    }
    await next();
  };
}

function networkOf(c: Context, { platform, proxies = 0 }: SearchOptions): string {
  return clientNetwork(clientAddress(c.req.raw, platform, proxies));
}

/** Notes for the log who asked: nobody has a token here. */
function notesVisitor(options: SearchOptions): MiddlewareHandler {
  return async (c, next) => {
    await next();
    const endpoint = found(c);
    if (endpoint === null) return;
    const site = c.req.header("origin")?.slice(0, 100) ?? "no page";
    const visitor = {
      account: endpoint.account,
      name: `${site} from ${networkOf(c, options) || "an unknown address"}`,
    };
    noteResponse(c.res, { ...responseNote(c.res), visitor });
  };
}
