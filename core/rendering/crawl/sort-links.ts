import { parseAllowHosts } from "../../net/allow-hosts.ts";
import type { FoundPage } from "./rows/crawl-pages.ts";
import { compileScope, pageAddress, type ScopeOptions } from "./rules/scope.ts";

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
  const found = new Map<string, FoundPage>();
  let count = 0;
  for (const { url: link, isOld = false } of links) {
    if (found.size >= most) break;
    if (++count % STEP === 0) yield;
    const url = pageAddress(link);
    if (url === null || found.has(url.href)) continue;
    found.set(url.href, { url: url.href, within: !isOld && scope.holds(url, homes) });
  }
  return [...found.values()];
}
