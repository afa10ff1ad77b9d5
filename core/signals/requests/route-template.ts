import { ownMember } from "../../http/json.ts";
import type { Hono } from "hono";

/** The route that answers a request. */
export interface RouteTemplate {
  readonly route: string;
  /** The part of the platform that it belongs to. */
  readonly part: string;
}

export const GATEWAY_ROUTE: RouteTemplate = {
  route: "/v1/:account_id/:gateway_id/*",
  part: "gateway",
};
const NONE: RouteTemplate = { route: "*", part: "none" };

/** The parts of the platform; `platform` is everything that belongs to no other. */
export const partNames = [
  "gateway",
  "rendering",
  "search",
  "webhooks",
  "agents",
  "deprecations",
  "console",
  "platform",
] as const;

export type PartName = (typeof partNames)[number];

/** The parts by the segment of the API that names them. */
const parts: Readonly<Record<string, PartName>> = {
  "ai-gateway": "gateway",
  ai: "gateway",
  v1: "gateway",
  "browser-rendering": "rendering",
  "ai-search": "search",
  webhooks: "webhooks",
  "webhook-sources": "webhooks",
  agents: "agents",
  deprecations: "deprecations",
  console: "console",
};

/** Finds the templates of an app's routes: there are as many as routes, whatever callers ask for. */
export function routeTemplates(app: Hono): (method: string, path: string) => RouteTemplate {
  const known = new Map<string, RouteTemplate>();
  return (method, path) => {
    // The hot path has one route; the paths right below `/v1` have up to two parts and routes of their own.
    if (path.startsWith("/v1/") && hasThreeParts(path)) return GATEWAY_ROUTE;
    const [handlers] = app.router.match(method === "HEAD" ? "GET" : method, path);
    let route: string | undefined;
    for (const [[, { path: own, method: verb }]] of handlers) {
      // The most specific of the routes for all methods, middleware among them.
      if (verb !== "ALL" || own.length > (route?.length ?? 0)) route = own;
      if (verb !== "ALL") break;
    }
    if (route === undefined) return NONE;
    const found = known.get(route);
    if (found !== undefined) return found;
    const template = { route, part: partOf(route) };
    known.set(route, template);
    return template;
  };
}

/** Whether a path below `/v1` has an account, a gateway and more. */
function hasThreeParts(path: string): boolean {
  const first = path.indexOf("/", 4);
  return first !== -1 && path.includes("/", first + 1);
}

function partOf(route: string): PartName {
  for (const segment of route.split("/")) {
    const part = ownMember(parts, segment);
    if (part !== undefined) return part;
  }
  return "platform";
}
