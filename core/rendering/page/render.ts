import { ApiError } from "../../http/api-error.ts";
import { isTunnelFailure, networkFailure, renderFailure } from "../input/errors.ts";
import type { PageDescription } from "../describe/page-description.ts";
import { evaluate } from "./evaluate.ts";
import type { Job } from "../job/job.ts";
import type { AdLists } from "../job/request-gate.ts";
import { loadPage } from "./load.ts";
import { readFacts } from "./scripts/page-scripts.ts";
import type { RefusedNavigation } from "../intercept/intercept.ts";
import type { FairSlots } from "../../work/fair-slots.ts";
import type { Hop } from "./main-document.ts";
import type { Page } from "./page.ts";
import { awaitResources, checkShown, checkStatus } from "./page-checks.ts";
import type { MissingFont } from "../input/missing-fonts.ts";
import type { FailedFile } from "./page-files.ts";
import { isUploaded } from "../job/uploaded-files.ts";
import { within } from "../input/timers.ts";
import { whyUnreached } from "../input/unreached.ts";
import type { Transport } from "../../ports.ts";
import { type PageDeps, withPage } from "./with-page.ts";

/** The parts that all renderings share. */
export interface RenderDeps extends PageDeps {
  readonly slots: FairSlots;
  /** Reaches sites as the browser does. */
  readonly documents: Transport;
  /** The hosts that pages with `blockAds` do without. */
  readonly ads: AdLists;
}

/** Facts about a page that travel beside the result. */
export interface PageMeta extends PageDescription {
  readonly status?: number;
  /** How the document was read, where the caller left that open. */
  readonly render?: "static" | "browser";
  /** Why it may not be all of the page: the wait that was given up by `bestAttempt`. */
  readonly partial?: string;
  readonly title: string;
  /** The address of the document that was rendered. */
  readonly finalUrl?: string;
  /** The headers of its answer, in lower case; repeated ones are joined by newlines, credentials are left out. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The redirects on the way to it, oldest first. */
  readonly redirectChain?: readonly Hop[];
  /** Navigations of the page that were refused: the document that had been loaded was rendered. */
  readonly refusedNavigations?: readonly RefusedNavigation[];
  /** Fonts that the browser lacks: characters of the page are drawn as boxes. */
  readonly missingFonts?: readonly MissingFont[];
  /** Files of the page that are missing in it, the first ten. */
  readonly failedFiles?: readonly FailedFile[];
  /** The number of all missing files, counted up to a thousand, where `failedFiles` does not name them all. */
  readonly failedFilesTotal?: number;
}

export interface Rendered<T> {
  readonly result: T;
  readonly meta: PageMeta;
}

/** Facts about the loaded document. */
export interface DocumentFacts {
  readonly title: string;
  /** Its own address; null for `html` without a URL. */
  readonly url: string | null;
  /** The URL that relative links start from; null for `html` without a URL. */
  readonly base: string | null;
  /** Whether all fonts are there, and no letter is one that they may lack. */
  readonly drawable: boolean;
}

/** The owner of renderings that the server makes for itself. */
const OWN = "";

/** A function that takes a result from a loaded page. */
export type Action<T> = (page: Page, facts: DocumentFacts, signal: AbortSignal) => Promise<T>;

/** The action on the loaded page, and the receiver of the browser's time. */
export interface RenderInputs<T> {
  readonly signal: AbortSignal;
  /** Receives how long a browser was busy, whatever the outcome. */
  readonly onBrowserMs: (ms: number) => void;
  readonly action: Action<T>;
  /** Reads what the page says about itself, for `meta`. @default nothing is read */
  readonly describe?: Action<PageDescription> | undefined;
}

/**
 * Runs one rendering: a slot, a page, the load with its waits, then the action under its timer. `onBrowserMs`
 * is told how long a browser was busy, whatever the outcome.
 *
 * @throws ApiError of the table's rendering rows; `request_timeout` when queue and work take too long
 */
export async function render<T>(
  deps: RenderDeps,
  job: Job,
  { signal, onBrowserMs, ...actions }: RenderInputs<T>,
): Promise<Rendered<T>> {
  return within(
    { ms: deps.requestMs, system: deps.system, signal, expired: tooLate },
    async (inner) => {
      const { ready, missed } = await withoutAds(job, deps.ads);
      const free = await deps.slots.take(job.owner ?? OWN, inner);
      const started = deps.system.monotonic();
      try {
        const { result, meta } = await withPage(deps, ready, inner, (page) =>
          use(page, ready, inner, actions),
        );
        return { result, meta: missed === null ? meta : { partial: missed, ...meta } };
      } catch (error) {
        throw renderFailure(await withReason(error, job, deps, inner));
      } finally {
        onBrowserMs(Math.max(0, Math.round(deps.system.monotonic() - started)));
        free();
      }
    },
  );
}

/**
 * Has the page of a job do without the files of advertisers and trackers, if its body says so. With `bestAttempt` it has them
 * when no list can be read: `missed` says why.
 */
async function withoutAds(
  job: Job,
  ads: AdLists,
): Promise<{ readonly ready: Job; readonly missed: string | null }> {
  if (job.body.blockAds !== true) return { ready: job, missed: null };
  try {
    const rules = {
      ...job.rules,
      ads: { hosts: await ads.hosts(), site: job.url?.hostname ?? "" },
    };
    return { ready: { ...job, rules }, missed: null };
  } catch (error) {
    if (job.body.bestAttempt !== true || !(error instanceof ApiError)) throw error;
    return { ready: job, missed: error.message };
  }
}

/** The failure of a page whose site gave no connection, with the reason. */
async function withReason(
  error: unknown,
  { url }: Job,
  { documents }: RenderDeps,
  signal: AbortSignal,
): Promise<unknown> {
  if (url === null || !isTunnelFailure(error)) return error;
  return (await whyUnreached(documents, url.href, signal)) ?? error;
}

/** A client that retries by itself would only queue the same work again. */
export function tooLate(): ApiError {
  return new ApiError("request_timeout", { headers: { "x-should-retry": "false" } });
}

async function use<T>(
  page: Page,
  job: Job,
  signal: AbortSignal,
  { action, describe }: Pick<RenderInputs<T>, "action" | "describe">,
): Promise<Rendered<T>> {
  const { missed, partial } = await loadPage(page, job, signal);
  checkStatus(job.body, page.load().response?.status);
  const ms = job.timers.action;
  const expired = (): ApiError =>
    new ApiError("render_timeout", {
      message: `Timeout of ${ms} ms exceeded while the page was captured`,
    });
  return within({ ms, system: page.system, signal, expired }, async (inner) => {
    const facts = await readDocument(page, missed, inner);
    await awaitResources(job.body, page, inner);
    const result = await action(page, facts, inner);
    const said = await describe?.(page, facts, inner);
    checkShown(job.body, page);
    const how = job.body.render === "auto" ? ({ render: "browser" } as const) : {};
    const rest = partial === null ? {} : { partial };
    return { result, meta: { ...said, ...how, ...rest, ...metaOf(page, facts) } };
  });
}

/** Reads the facts of the loaded document; throws `missed`, why its load was cut short, if the document is empty. */
async function readDocument(
  page: Page,
  missed: ApiError | null,
  signal: AbortSignal,
): Promise<DocumentFacts> {
  const facts = await evaluate(page, readFacts, [], signal);
  if (facts.empty && (page.load().response?.status ?? 0) >= 400)
    throw new ApiError("empty_http_error");
  if (facts.empty && missed !== null) throw missed;
  // Chromium shows a page of its own when a site cannot be reached: that is not the caller's page.
  if (facts.url.startsWith("chrome-error:"))
    throw page.load().response?.proxyError ?? networkFailure("net::ERR_FAILED");
  const { title, drawable } = facts;
  return { title, drawable, url: webAddress(facts.url), base: webAddress(facts.base) };
}

/** The files of an upload have names, and no address that anybody else knows. */
function webAddress(url: string): string | null {
  return /^https?:/iu.test(url) && !isUploaded(url) ? url : null;
}

function metaOf(page: Page, { title, url }: DocumentFacts): PageMeta {
  const load = page.load();
  const { missingFonts, files } = page;
  const { failed: failedFiles, failedTotal } = files;
  const isOwn = load.response !== null && isUploaded(load.response.url);
  const { response, redirects } = isOwn ? { response: null, redirects: [] } : load;
  return {
    ...(response === null ? {} : { status: response.status }),
    title,
    ...(url === null ? {} : { finalUrl: url }),
    ...(response === null ? {} : { headers: response.headers }),
    ...(redirects.length === 0 ? {} : { redirectChain: redirects }),
    ...(page.refused.length === 0 ? {} : { refusedNavigations: page.refused }),
    ...(failedFiles.length === 0 ? {} : { failedFiles }),
    ...(missingFonts.length === 0 ? {} : { missingFonts }),
    ...(failedTotal === failedFiles.length ? {} : { failedFilesTotal: failedTotal }),
  };
}
