import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { RefusedNavigation } from "../intercept/intercept.ts";
import type { Job } from "../job/job.ts";
import type { CdpData } from "../cdp/cdp.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Load, MainResponse } from "./main-document.ts";
import type { NetworkActivity } from "./network-idle.ts";
import type { MissingFont } from "../input/missing-fonts.ts";
import type { PageFiles } from "./page-files.ts";
import {
  defaultViewport,
  metrics,
  networkCalls,
  type SetUpCall,
  type Tab,
  type World,
} from "./tab.ts";

/** For so many ms after an answer, a browser is not asked whether it still answers. */
const FRESH_MS = 1000;

/** An open page in a browser context of its own. */
export interface Page {
  /** Calls a method of the page's target. */
  call(method: string, params?: CdpData): Promise<CdpData>;
  readonly frame: string;
  /** The world of ours in the document that is shown; its `context` is null until it is needed. */
  readonly world: World;
  /** Pixels of the screen for each CSS pixel. */
  readonly density: number;
  /** Whether the document's own scripts run. */
  readonly hasScripts: boolean;
  readonly lifecycle: Lifecycle;
  readonly network: NetworkActivity;
  readonly files: PageFiles;
  /** Fonts that the browser lacks for what it has drawn. */
  readonly missingFonts: MissingFont[];
  /** How long a capture waits for files, in ms; 0 where the caller says what the load waits for. */
  readonly filesMs: number;
  /** Whether it may ask for nothing: it has shown plain documents before, and this is one. */
  readonly isPlain: boolean;
  readonly system: System;
  /** How the document that is shown came to be there. */
  load(): Load;
  /** The last answer to a load of the page itself, whether or not its document came to be shown. */
  lastResponse(): MainResponse | null;
  /** Announces that the next request for the main frame's document is the caller's load, and not the page's own doing. */
  navigating(): void;
  /** The first errors of the page's scripts, where the job asks for them. */
  readonly consoleErrors: readonly string[];
  /** Navigations away from the page that came to nothing: the page stays. */
  readonly refused: readonly RefusedNavigation[];
}

/**
 * Gives a blank tab to a job: what that wants of cookies, network and window is in force before its first request. The
 * tab may have waited for long, so that the browser has to show that it still answers.
 *
 * @param isUsed Whether the tab has shown plain documents before, and this is one: it may ask for nothing
 */
export async function openPage(tab: Tab, job: Job, isUsed = false): Promise<Page> {
  const { cdp, main } = tab;
  const session = main?.session ?? "";
  tab.job = job;
  tab.delivered = job.url === null;
  tab.files.restart();
  const calls = isUsed ? renewal(tab, job) : [...networkCalls(tab.guarded, job), ...emulation(job)];
  const isFresh = isUsed && tab.system.monotonic() - tab.answeredAt < FRESH_MS;
  tab.isPlain = isUsed;
  tab.look = lookOf(job);
  await Promise.all([
    ...(isFresh ? [] : [cdp.call("Browser.getVersion")]),
    ...(isUsed ? [] : [setCookies(tab, job)]),
    ...calls.map(([method, params]) => cdp.call(method, params, session)),
  ]);
  return {
    call(method, params) {
      if (method.startsWith("Emulation.")) tab.look = null;
      return cdp.call(method, params, session);
    },
    // The main frame's id is its target's.
    frame: main?.id ?? "",
    world: tab.world,
    density: job.body.viewport?.deviceScaleFactor ?? 1,
    hasScripts: job.body.setJavaScriptEnabled !== false && !isUsed,
    lifecycle: tab.lifecycle,
    network: tab.network,
    files: tab.files,
    missingFonts: [],
    filesMs: filesMs(job),
    isPlain: isUsed,
    system: tab.system,
    load: () => tab.document.load(),
    lastResponse: () => tab.document.lastResponse(),
    navigating: () => {
      tab.isNextOwn = true;
      tab.delivered = false;
    },
    consoleErrors: tab.consoleErrors,
    refused: tab.refused,
  };
}

/** Ms that a capture waits for files at most; the capture itself needs time, too. */
const FILES_MS = 5000;

function filesMs({ body, timers }: Job): number {
  const isTold = (body.gotoOptions ?? body.goToOptions)?.waitUntil !== undefined;
  return isTold && body.failOnResource !== true ? 0 : Math.min(FILES_MS, timers.action / 2);
}

/** Returns the calls that set up what differs from the window of a blank tab. */
function emulation({ body }: Job): SetUpCall[] {
  const calls: SetUpCall[] = [];
  if (body.viewport !== undefined)
    calls.push(["Emulation.setDeviceMetricsOverride", metrics(body.viewport)]);
  if (body.viewport?.hasTouch === true)
    calls.push(["Emulation.setTouchEmulationEnabled", { enabled: true }]);
  if (body.emulateMediaType !== undefined)
    calls.push(["Emulation.setEmulatedMedia", { media: body.emulateMediaType }]);
  if (body.failOnConsoleError === true) calls.push(["Runtime.enable", {}]);
  if (body.setJavaScriptEnabled === false)
    calls.push(["Emulation.setScriptExecutionDisabled", { value: true }]);
  return calls;
}

/** Describes, to be compared, what a plain document may ask for beside its contents: its window and medium. */
function lookOf({ body }: Job): string {
  return JSON.stringify([metrics(body.viewport ?? defaultViewport), body.emulateMediaType ?? ""]);
}

/** Returns the calls that undo what the plain document before has left. Each may redraw the page, so none is made in vain. */
function renewal({ isPlain, look }: Tab, job: Job): SetUpCall[] {
  const { body } = job;
  return [
    ...(isPlain ? [] : [["Emulation.setScriptExecutionDisabled", { value: true }] as const]),
    ...(look === lookOf(job)
      ? []
      : ([
          ["Emulation.setDeviceMetricsOverride", metrics(body.viewport ?? defaultViewport)],
          ["Emulation.setEmulatedMedia", { media: body.emulateMediaType ?? "" }],
          ["Emulation.setDefaultBackgroundColorOverride", {}],
        ] as const)),
  ];
}

async function setCookies({ cdp, context }: Tab, job: Job): Promise<void> {
  const cookies = (job.body.cookies ?? []).map(({ partitionKey, ...cookie }) => {
    if (cookie.url === undefined && cookie.domain === undefined && job.url === null) {
      throw invalidRequest(`cookies: "${cookie.name.slice(0, 60)}" needs a domain or url`);
    }
    const place =
      cookie.url === undefined && cookie.domain === undefined ? { url: job.url?.href } : {};
    const partition =
      partitionKey === undefined
        ? {}
        : { partitionKey: { topLevelSite: partitionKey, hasCrossSiteAncestor: false } };
    // Chromium has forgotten sameParty; the field is accepted and means nothing.
    return { ...cookie, sameParty: undefined, ...place, ...partition };
  });
  if (cookies.length === 0) return;
  const params = { cookies, browserContextId: context };
  await cdp.call("Storage.setCookies", params).catch((error: unknown) => {
    throw new ApiError("invalid_request", {
      message: "cookies: The browser refused a cookie",
      cause: error,
    });
  });
}
