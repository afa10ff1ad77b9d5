import type { AllowHosts } from "../../net/allow-hosts.ts";
import { checkUrl } from "../../net/check-url.ts";
import type { Matcher } from "./patterns.ts";

/** Hosts of advertisements and trackers, and all hosts below them. */
export interface AdHosts {
  has(host: string): boolean;
}

/** The hosts of the operator's lists. */
export interface AdLists {
  /** Returns them, read at the first call and once a day. @throws ApiError `unavailable` with the list that cannot be read, and why */
  hosts(): Promise<AdHosts>;
}

/** The rules for what a page may request. */
export interface RequestRules {
  readonly allow: AllowHosts;
  readonly allowPatterns: readonly Matcher[];
  readonly rejectPatterns: readonly Matcher[];
  readonly allowTypes: readonly string[];
  readonly rejectTypes: readonly string[];
  /** Hosts that files of the page may not come from, but for the site itself. @default none */
  readonly ads?: { readonly hosts: AdHosts; readonly site: string };
}

export interface PageRequest {
  readonly url: string;
  /** One of the 18 values of `rejectResourceTypes`. */
  readonly type: string;
  /** The load of the page itself, as opposed to frames and everything else. */
  readonly main: boolean;
}

/** `"blocked"`: not wanted by the caller; `"forbidden"`: not allowed to anyone. */
export type GateDecision = "continue" | "blocked" | "forbidden";

/**
 * Decides on one request, in steps of one pattern each. The address policy comes first and cannot be overridden; then
 * reject lists, then allow lists. The load of the page itself is exempt from the allow lists, because a list without
 * `document` would otherwise render nothing; a reject list does apply to it.
 */
export function* decideSteps(
  request: PageRequest,
  rules: RequestRules,
): Generator<void, GateDecision, void> {
  const scheme = request.url.slice(0, request.url.indexOf(":")).toLowerCase();
  // Inline data never leaves the browser; as the page itself it is refused before navigation.
  if (scheme === "data" || scheme === "blob") return request.main ? "forbidden" : "continue";
  if (scheme !== "ws" && scheme !== "wss" && !checkUrl(request.url, rules.allow).ok)
    return "forbidden";
  if (rules.rejectTypes.includes(request.type)) return "blocked";
  if (yield* matchesAny(rules.rejectPatterns, request.url)) return "blocked";
  if (request.main) return "continue";
  if (isAd(request.url, rules)) return "blocked";
  if (rules.allowTypes.length > 0 && !rules.allowTypes.includes(request.type)) return "blocked";
  if (rules.allowPatterns.length === 0) return "continue";
  return (yield* matchesAny(rules.allowPatterns, request.url)) ? "continue" : "blocked";
}

function isAd(url: string, { ads }: RequestRules): boolean {
  if (ads === undefined) return false;
  // A name may end in a dot, and is the same.
  const host = (URL.parse(url)?.hostname ?? "").replace(/\.$/u, "");
  return !isBelow(host, ads.site) && !isBelow(ads.site, host) && ads.hosts.has(host);
}

function isBelow(host: string, parent: string): boolean {
  return host === parent || host.endsWith(`.${parent}`);
}

function* matchesAny(matchers: readonly Matcher[], url: string): Generator<void, boolean, void> {
  for (const matches of matchers) {
    if (matches(url)) return true;
    yield;
  }
  return false;
}
