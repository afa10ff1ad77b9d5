/** The members of an access application that this rewrite reads. */
export type AccessApp = Readonly<Record<string, unknown>>;

/**
 * Old request to modern: without `destinations`, each of `self_hosted_domains` becomes a public destination; with
 * `destinations`, of whatever value, `self_hosted_domains` is ignored (docs/compatibility.md).
 *
 * @example
 * ```ts
 * import { domainsToDestinations } from "causey/deprecations";
 *
 * const app = domainsToDestinations({ self_hosted_domains: ["app.example.com"] });
 * app["destinations"]; // → [{ type: "public", uri: "app.example.com" }]
 * ```
 */
export function domainsToDestinations(app: AccessApp): AccessApp {
  if (!Object.hasOwn(app, "self_hosted_domains")) return app;
  const { self_hosted_domains: domains, ...rest } = app;
  if (Object.hasOwn(app, "destinations") || !Array.isArray(domains)) return rest;
  return { ...rest, destinations: domains.map((uri: unknown) => ({ type: "public", uri })) };
}

/**
 * Modern response to old: adds `self_hosted_domains` with the URIs of the public destinations, in their order.
 *
 * @example
 * ```ts
 * import { destinationsToDomains } from "causey/deprecations";
 *
 * const app = { destinations: [{ type: "public", uri: "app.example.com" }] };
 * destinationsToDomains(app)["self_hosted_domains"]; // → ["app.example.com"]
 * ```
 */
export function destinationsToDomains(app: AccessApp): AccessApp {
  const { destinations } = app;
  const domains = Array.isArray(destinations) ? destinations.flatMap(publicUri) : [];
  return { ...app, self_hosted_domains: domains };
}

/** The SDK types `type` as optional: a destination without it is public. */
function publicUri(destination: unknown): string[] {
  if (typeof destination !== "object" || destination === null) return [];
  const { type = "public", uri } = destination as {
    readonly type?: unknown;
    readonly uri?: unknown;
  };
  return type === "public" && typeof uri === "string" ? [uri] : [];
}
