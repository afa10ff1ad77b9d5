import { parseAllowHosts } from "../net/allow-hosts.ts";
import { fairSlots } from "../work/fair-slots.ts";
import { AD_LISTS, adLists } from "./ads/ad-lists.ts";
import { tooManyRenderings } from "./input/errors.ts";
import type { RenderingOptions } from "./job/options.ts";
import { keptPages, noKeptPages } from "./page/kept-pages.ts";
import { noPagesAhead, pagesAhead } from "./page/pages-ahead.ts";
import type { RenderDeps } from "./page/render.ts";

/** Makes what all renderings share: one browser, and one bound on how much it does at a time. */
export function renderDeps(options: RenderingOptions): RenderDeps {
  const { platform, maxConcurrency = 2 } = options;
  const most = Math.min(maxConcurrency, 4);
  const { pagesAhead: ahead = most, pagesKept: kept = most + 1 } = options;
  const documents = platform.browser.documents ?? platform.egress;
  const deps = {
    browser: platform.browser,
    system: platform.system,
    guarded: platform.browser.guarded === true,
    login: () => platform.browser.proxyLogin?.() ?? null,
    requestMs: options.requestTimeout ?? 180_000,
  };
  return {
    ...deps,
    documents,
    ads: adLists({
      urls: options.adLists ?? AD_LISTS,
      documents,
      allow: parseAllowHosts(options.allowHosts),
      platform,
    }),
    ahead: platform.browser.lasting === true ? pagesAhead(ahead, deps) : noPagesAhead,
    kept: platform.browser.lasting === true ? keptPages(kept, deps) : noKeptPages,
    slots: fairSlots({
      running: maxConcurrency,
      waiting: options.maxQueue ?? 20,
      reserve: 1,
      refuse: tooManyRenderings,
    }),
  };
}
