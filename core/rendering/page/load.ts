import { ApiError } from "../../http/api-error.ts";
import type { RenderBody, Tag, WaitUntil } from "../input/body.ts";
import {
  fileFailure,
  hasNoDocument,
  isTransient,
  networkFailure,
  noDocument,
} from "../input/errors.ts";
import { evaluate } from "./evaluate.ts";
import { type Job, pageBytes } from "../job/job.ts";
import { longText } from "../../http/json/long-json.ts";
import type { Page } from "./page.ts";
import { act, waitForFunction, waitForSelector } from "./page-actions.ts";
import {
  addTag,
  hideCovers,
  lastSheetLoaded,
  neverSubmit,
  stayOnPage,
} from "./scripts/page-scripts.ts";
import { within } from "../input/timers.ts";

/** The pause between two looks at a style sheet, in ms. */
const LOOK_MS = 20;

interface LoadOutcome {
  /** The failure of the load itself that was passed over. */
  readonly missed: ApiError | null;
  /** The first failure that was passed over, in words. */
  readonly partial: string | null;
}

/** A page that is loaded for a job. */
interface Loading {
  readonly page: Page;
  readonly job: Job;
  /** The failures that were passed over. */
  readonly passed: ApiError[];
  readonly signal: AbortSignal;
}

/** A step of a load. */
interface LoadStep {
  readonly ms: number;
  /** Names the step in the failure of one that took too long. */
  readonly what: () => string;
}

/**
 * Loads the page of a job and does its waits (load, tags, selector, expression, fixed wait) and its actions. With `bestAttempt`, a wait
 * that fails or times out is passed over; a page that cannot be reached or is not allowed still fails, and so does one
 * of which nothing came.
 */
export async function loadPage(page: Page, job: Job, signal: AbortSignal): Promise<LoadOutcome> {
  const { body, timers } = job;
  const passed: ApiError[] = [];
  const loading: Loading = { page, job, passed, signal };
  await attempt(loading, { ms: timers.goto, what: () => "gotoOptions.timeout" }, async (inner) => {
    await open(page, job, inner);
    await waitForLoad(page, job, inner);
    if (page.lifecycle.isCut) await loadAndStay(page, job, inner);
  });
  const [missed = null] = passed;
  if (missed !== null && job.url !== null && page.load().response === null) throw missed;
  await checkArrival(page);
  const tags = { ms: timers.goto, what: () => "addScriptTag or addStyleTag" };
  await attempt(loading, tags, async (inner) => {
    await addTags(page, "style", body.addStyleTag ?? [], inner);
    await addTags(page, "script", body.addScriptTag ?? [], inner);
  });
  if (isLeftOpen(body)) await fill(page, signal);
  await doWaits(loading);
  await uncover(page, body, signal);
  if ((body.actions ?? []).length > 0) {
    await doActions(loading);
    // One of them may have led to another page.
    await checkArrival(page);
    await uncover(page, body, signal);
  }
  // A page that went elsewhere meanwhile, by a refresh or a script, is empty as the next one begins.
  await attempt(loading, { ms: timers.goto, what: () => "where the page went" }, (inner) =>
    page.lifecycle.reached(["DOMContentLoaded"], inner),
  );
  return { missed, partial: passed[0]?.message ?? null };
}

/** Whether the caller of `render: "auto"` left it open when the page is filled, too. */
function isLeftOpen(body: RenderBody): boolean {
  const asked = [(body.gotoOptions ?? body.goToOptions)?.waitUntil, body.waitForTimeout];
  const shown = [body.waitForSelector, body.waitForFunction];
  const isOpen = [...asked, ...shown].every((wait) => wait === undefined);
  return body.render === "auto" && body.setJavaScriptEnabled !== false && isOpen;
}

/** Whether a page shows something: text, or what has none. */
const SHOWS = `document.body.innerText.trim() !== "" || document.querySelector("img, svg, canvas, video, iframe") !== null`;

/**
 * Waits until the network is quiet and something is shown, for as long as pages wait for their files: scripts fill a shell only after
 * `DOMContentLoaded`, and with what they ask for.
 */
async function fill(page: Page, signal: AbortSignal): Promise<void> {
  const { network, filesMs: ms, system } = page;
  const filled = async (inner: AbortSignal): Promise<void> => {
    await network.quiet(0, inner);
    await waitForFunction(page, { expression: SHOWS }, inner);
  };
  const late = expired("what scripts fill", ms);
  await within({ ms, system, signal, expired: () => late }, filled).catch((error: unknown) => {
    if (error !== late) throw error;
  });
}

async function doWaits(loading: Loading): Promise<void> {
  const { page, signal, job } = loading;
  const { timers, body } = job;
  const { waitForSelector: wanted, waitForFunction: truth } = body;
  if (wanted !== undefined) {
    const what = (): string => `waitForSelector "${wanted.selector.slice(0, 80)}"`;
    await attempt(loading, { ms: timers.selector, what }, (inner) =>
      waitForSelector(page, wanted, inner),
    );
  }
  if (truth !== undefined) {
    const what = (): string => `waitForFunction "${truth.expression.slice(0, 80)}"`;
    await attempt(loading, { ms: timers.function, what }, (inner) =>
      waitForFunction(page, truth, inner),
    );
  }
  if (timers.wait > 0) await page.system.sleep(timers.wait, signal);
}

/** Does what the body wants done before the capture, all under one timer. */
async function doActions(loading: Loading): Promise<void> {
  const { page, job } = loading;
  const { timers, body } = job;
  const { system } = page;
  let at = 0;
  const what = (): string => `actions.${at}`;
  await attempt(loading, { ms: timers.actions, what }, async (all) => {
    for (const action of body.actions ?? []) {
      const ms =
        action.type === "wait" && action.selector === undefined
          ? timers.actions
          : (timers.eachAction[at] ?? 0);
      await within({ ms, system, signal: all, expired: () => expired(what(), ms) }, (inner) =>
        act(page, action, inner),
      );
      at += 1;
    }
    await page.lifecycle.reached(["DOMContentLoaded"], all);
  });
}

/** Does a step in its time. Passes its failure over, and adds it to `passed`, when the caller wants the best attempt. */
async function attempt(
  { page, job, passed, signal }: Loading,
  { ms, what }: LoadStep,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  try {
    const { system } = page;
    await within({ ms, system, signal, expired: () => expired(what(), ms) }, work);
  } catch (error) {
    if (job.body.bestAttempt !== true || !(error instanceof ApiError)) throw error;
    const isBroken = isTransient(error) && page.load().response !== null;
    if (error.kind !== "render_timeout" && error.kind !== "context_destroyed" && !isBroken)
      throw error;
    // A navigation that has not arrived would hold up everything that is asked of the page.
    page.call("Page.stopLoading").catch(() => undefined);
    passed.push(error);
  }
}

function expired(what: string, ms: number): ApiError {
  return new ApiError("render_timeout", { message: `Timeout of ${ms} ms exceeded: ${what}` });
}

/** Waits for every event that the body names; idle includes that the document has been read to its end. */
async function waitForLoad(page: Page, job: Job, signal: AbortSignal): Promise<void> {
  const wanted = (job.body.gotoOptions ?? job.body.goToOptions)?.waitUntil ?? "domcontentloaded";
  const events: readonly WaitUntil[] = [wanted].flat();
  await page.lifecycle.reached(
    events.includes("load") ? ["DOMContentLoaded", "load"] : ["DOMContentLoaded"],
    signal,
  );
  if (events.includes("networkidle0")) await page.network.quiet(0, signal);
  else if (events.includes("networkidle2")) await page.network.quiet(2, signal);
}

async function open(page: Page, job: Job, signal: AbortSignal): Promise<void> {
  if (job.url === null) {
    // Without an address there is nothing to navigate to: the markup is written into the blank page.
    await page.lifecycle.reached(["load"], signal);
    page.lifecycle.restart("rewritten");
    const html = longText(pageBytes(job));
    await page.call("Page.setDocumentContent", { frameId: page.frame, html });
    return;
  }
  const load = job.body.gotoOptions ?? job.body.goToOptions;
  page.lifecycle.restart("replaced");
  page.navigating();
  const answer = await page.call("Page.navigate", {
    url: job.url.href,
    ...(load?.referer === undefined ? {} : { referrer: load.referer }),
    ...(load?.referrerPolicy === undefined
      ? {}
      : { referrerPolicy: referrerPolicy(load.referrerPolicy) }),
  });
  const failure = answer["errorText"];
  if (typeof failure === "string" && failure !== "")
    throw page.lastResponse()?.proxyError ?? explain(page, failure);
}

/**
 * Loads the page once more without leaving it: a script that navigates stops the parser, so that nothing below it would
 * be there. Navigations are cancelled in a world of its own, where the page cannot undo it. Chromium has no such event
 * for pages without an address: there the markup is read with scripts off.
 */
async function loadAndStay(page: Page, job: Job, signal: AbortSignal): Promise<void> {
  const scripts = (value: boolean): Promise<unknown> =>
    page.call("Emulation.setScriptExecutionDisabled", { value });
  if (job.url === null) await scripts(true);
  else {
    const script = "Page.addScriptToEvaluateOnNewDocument";
    await page.call(script, { source: `(${stayOnPage})()`, worldName: "causey" });
    await page.call(script, { source: `(${neverSubmit})()` });
  }
  await open(page, job, signal);
  await waitForLoad(page, job, signal);
  if (job.url === null) await scripts(job.body.setJavaScriptEnabled === false);
}

/** DevTools writes `no-referrer` as `noReferrer`. */
function referrerPolicy(policy: string): string {
  return policy.replaceAll(/-(?<letter>[a-z])/gu, (_, letter: string) => letter.toUpperCase());
}

/** Types that Chromium shows; it saves other texts, such as `text/csv`. */
const SHOWN = /html|xml|json|javascript|image|^text\/(?:plain|css|markdown)/u;

function explain(page: Page, failure: string): ApiError {
  const last = page.lastResponse();
  if (last !== null && hasNoDocument(last.status)) return noDocument(last.status);
  if (!failure.includes("ERR_ABORTED")) return networkFailure(failure);
  // Chromium does not say more of a 304.
  if (last === null || last.type === "")
    return networkFailure(`${failure}: the site sent no document`);
  const isSaved = /^\s*attachment/iu.test(last.headers["content-disposition"] ?? "");
  return isSaved || !SHOWN.test(last.type) ? fileFailure(last.type) : networkFailure(failure);
}

/** A plain-http page that the egress proxy could not reach arrives as the proxy's own answer. */
async function checkArrival(page: Page): Promise<void> {
  const failure = page.load().response?.proxyError ?? null;
  if (failure !== null) throw failure;
}

async function addTags(
  page: Page,
  kind: "script" | "style",
  tags: readonly Tag[],
  signal: AbortSignal,
): Promise<void> {
  const { hasScripts, system } = page;
  for (const tag of tags) {
    await evaluate(page, addTag, [kind, tag, hasScripts], signal);
    // Without scripts no listener hears that a style sheet has loaded, so it is looked for; a script would never load.
    if (hasScripts || kind === "script" || tag.url === undefined) continue;
    while (!(await evaluate(page, lastSheetLoaded, [], signal)))
      await system.sleep(LOOK_MS, signal);
  }
}

/** Hides what covers the page, as the body asks for it. */
async function uncover(
  page: Page,
  { hideCookieBanners: banners = false, removeOverlays: overlays = false }: RenderBody,
  signal: AbortSignal,
): Promise<void> {
  if (banners || overlays) await evaluate(page, hideCovers, [banners, overlays], signal);
}
