import { parseAllowHosts } from "../../net/allow-hosts.ts";
import type { FoundPage } from "./rows/page-outcome.ts";
import { pageIdentity } from "./rules/page-identity.ts";
import { compileScope, type ScopeOptions } from "./rules/scope.ts";
import { trapPatternOf } from "./rules/trap-pattern.ts";

/** The scope of a crawl, as a thread takes it. */
export type ScopeInput = {
  readonly options: ScopeOptions;
  readonly homes: readonly string[];
  readonly allowHosts: readonly string[];
};

/** Addresses that are looked at between two yields. */
const STEP = 10;

/** Lists each page once, with whether the crawl goes there; at most `most` of them. */
export function* sortLinks(
  links: Iterable<{ readonly url: string; readonly isOld?: boolean }>,
  { options, homes, allowHosts }: ScopeInput,
  most: number,
): Generator<void, FoundPage[]> {
  const scope = compileScope(options, parseAllowHosts(allowHosts));
  const { addressOf, keyOf } = pageIdentity(options);
  const found = new Map<string, FoundPage>();
  let count = 0;
  for (const { url: link, isOld = false } of links) {
    if (found.size >= most) break;
    if (++count % STEP === 0) yield;
    const url = addressOf(link);
    if (url === null) continue;
    const key = keyOf(url);
    if (found.has(key)) continue;
    const isWithin = !isOld && scope.holds(url, homes);
    found.set(key, { url: url.href, key, pattern: trapPatternOf(url), within: isWithin });
  }
  return [...found.values()];
}
