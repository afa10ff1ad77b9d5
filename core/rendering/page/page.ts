import { ApiError } from "../../http/api-error.ts";
import type { Browser, System } from "../../ports.ts";
import type { Cdp, CdpData, CdpEvent } from "./cdp.ts";
import { answerAuth, answerRequest, type RefusedNavigation } from "../intercept/intercept.ts";
import type { Job } from "../job.ts";
import {
  followDocument,
  type Load,
  type MainDocument,
  type MainResponse,
} from "./main-document.ts";
import { followLifecycle, type Lifecycle } from "./lifecycle.ts";
import { followNetwork, type NetworkActivity } from "./network-idle.ts";
import { crashFailure, followTargets, isCrash, type Target, type TargetHooks } from "./targets.ts";

/** What a page needs from its surroundings. */
export interface PageDeps {
  readonly browser: Browser;
  readonly system: System;
  /** Whether an egress proxy guards the browser. Without one, WebSockets cannot be checked and are refused. */
  readonly guarded: boolean;
  /** The whole request, queue included, in ms. */
  readonly requestMs: number;
}

/** An open page in a browser context of its own. */
export interface Page {
  /** Calls a method of the page's target. */
  call(method: string, params?: CdpData): Promise<CdpData>;
  readonly frame: string;
  readonly lifecycle: Lifecycle;
  readonly network: NetworkActivity;
  readonly system: System;
  /** How the document that is shown came to be there. */
  load(): Load;
  /** The last answer to a load of the page itself, whether or not its document came to be shown. */
  lastResponse(): MainResponse | null;
  /** Whoever asks next for the document of the main frame does so for the caller, and not for the page. */
  navigating(): void;
  /** Navigations away from the page that came to nothing: the page stays. */
  readonly refused: readonly RefusedNavigation[];
}

interface Tab {
  readonly cdp: Cdp;
  readonly job: Job;
  readonly guarded: boolean;
  readonly lifecycle: Lifecycle;
  readonly network: NetworkActivity;
  readonly document: MainDocument;
  readonly refused: RefusedNavigation[];
  readonly asked: Set<string>;
  main: Target | null;
  delivered: boolean;
  /** The requests that load the page itself, and whether the next one of the main frame is such. */
  readonly own: Set<string>;
  isNextOwn: boolean;
}

/** Opens a page in a browser context: everything is in force before its first request. */
export async function openPage(cdp: Cdp, deps: PageDeps, job: Job, context: string): Promise<Page> {
  const tab: Tab = {
    cdp,
    job,
    guarded: deps.guarded,
    lifecycle: followLifecycle(() => tab.main?.id ?? ""),
    network: followNetwork(deps.system),
    asked: new Set(),
    main: null,
    delivered: job.url === null,
    document: followDocument(() => tab.main?.id ?? ""),
    refused: [],
    own: new Set(),
    isNextOwn: false,
  };
  cdp.on((event) => handle(tab, event));
  const opened = new Promise<void>((resolve, reject) => {
    const hooks: TargetHooks = {
      setUp: (target) => setUp(tab, target),
      onMain: (target, ready) => {
        tab.main = target;
        ready.then(() => resolve(), reject);
      },
    };
    followTargets(cdp, context, hooks).catch(reject);
  });
  await cdp.call("Browser.setDownloadBehavior", { behavior: "deny", browserContextId: context });
  await setCookies(cdp, job, context);
  const { width, height } = viewportOf(job);
  const [target] = await Promise.all([
    cdp.call("Target.createTarget", {
      url: "about:blank",
      browserContextId: context,
      width,
      height,
    }),
    opened,
  ]);
  const session = tab.main?.session ?? "";
  await configure(tab, session);
  return {
    call: (method, params) => cdp.call(method, params, session),
    // The main frame's id is its target's.
    frame: String(target["targetId"]),
    lifecycle: tab.lifecycle,
    network: tab.network,
    system: deps.system,
    load: () => tab.document.load(),
    lastResponse: () => tab.document.lastResponse(),
    navigating: () => {
      tab.isNextOwn = true;
      tab.delivered = false;
    },
    refused: tab.refused,
  };
}

/** Everything that must be in force before a frame's first request. */
async function setUp(tab: Tab, target: Target): Promise<void> {
  const { session } = target;
  const { userAgent } = tab.job.body;
  const calls: [string, CdpData][] = [
    [
      "Fetch.enable",
      {
        handleAuthRequests: true,
        patterns: [
          { urlPattern: "*", requestStage: "Request" },
          // What answers a navigation decides whether the page is left at all.
          { urlPattern: "*", resourceType: "Document", requestStage: "Response" },
        ],
      },
    ],
    ["Network.enable", { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }],
  ];
  if (refusesSockets(tab)) calls.push(["Network.setBlockedURLs", { urls: ["ws://*", "wss://*"] }]);
  if (userAgent !== undefined) calls.push(["Network.setUserAgentOverride", { userAgent }]);
  if (target.type === "page" || target.type === "iframe") {
    calls.push(
      ["Page.enable", {}],
      ["Page.setLifecycleEventsEnabled", { enabled: true }],
      ["Inspector.enable", {}],
    );
  }
  await Promise.all(calls.map(([method, params]) => tab.cdp.call(method, params, session)));
}

/** WebSockets pass interception by: they are refused unless a proxy checks them and no rule is against them. */
function refusesSockets(tab: Tab): boolean {
  const { allowTypes, rejectTypes } = tab.job.rules;
  return (
    !tab.guarded ||
    rejectTypes.includes("websocket") ||
    (allowTypes.length > 0 && !allowTypes.includes("websocket"))
  );
}

async function configure(tab: Tab, session: string): Promise<void> {
  const { body } = tab.job;
  const view = viewportOf(tab.job);
  const landscape = view.isLandscape === true;
  const calls: [string, CdpData][] = [
    [
      "Emulation.setDeviceMetricsOverride",
      {
        width: view.width,
        height: view.height,
        deviceScaleFactor: view.deviceScaleFactor ?? 1,
        mobile: view.isMobile === true,
        screenOrientation: landscape
          ? { angle: 90, type: "landscapePrimary" }
          : { angle: 0, type: "portraitPrimary" },
      },
    ],
  ];
  if (view.hasTouch === true) calls.push(["Emulation.setTouchEmulationEnabled", { enabled: true }]);
  if (body.emulateMediaType !== undefined)
    calls.push(["Emulation.setEmulatedMedia", { media: body.emulateMediaType }]);
  if (body.setJavaScriptEnabled === false)
    calls.push(["Emulation.setScriptExecutionDisabled", { value: true }]);
  await Promise.all(calls.map(([method, params]) => tab.cdp.call(method, params, session)));
}

function viewportOf(job: Job): NonNullable<Job["body"]["viewport"]> {
  return job.body.viewport ?? { width: 1920, height: 1080 };
}

async function setCookies(cdp: Cdp, job: Job, browserContextId: string): Promise<void> {
  const cookies = (job.body.cookies ?? []).map(({ partitionKey, ...cookie }) => {
    if (cookie.url === undefined && cookie.domain === undefined && job.url === null) {
      throw new ApiError("invalid_request", {
        message: `cookies: "${cookie.name.slice(0, 60)}" needs a domain or url`,
      });
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
  await cdp.call("Storage.setCookies", { cookies, browserContextId }).catch((error: unknown) => {
    throw new ApiError("invalid_request", {
      message: "cookies: The browser refused a cookie",
      cause: error,
    });
  });
}

function handle(tab: Tab, event: CdpEvent): void {
  const isMain = event.session !== undefined && event.session === tab.main?.session;
  if (isMain) {
    tab.lifecycle.see(event);
    tab.document.see(event);
  }
  tab.network.see(event);
  if (isMain && isCrash(event)) return tab.cdp.fail(crashFailure());
  if (event.method === "Page.downloadWillBegin" && event.params["frameId"] === tab.main?.id)
    return noteRefused(tab, String(event.params["url"]), "download");
  if (event.method === "Fetch.requestPaused") return pause(tab, event, isMain);
  if (event.method === "Fetch.authRequired")
    return answer(tab, event, answerAuth(event, tab.job, tab.asked));
  if (event.method === "Page.javascriptDialogOpening") {
    // beforeunload dialogs are accepted so that the page can be left; all others are dismissed.
    const accept = event.params["type"] === "beforeunload";
    return answer(tab, event, { method: "Page.handleJavaScriptDialog", params: { accept } });
  }
}

function pause(tab: Tab, event: CdpEvent, isMain: boolean): void {
  const { params } = event;
  const mainFrame = isMain && params["frameId"] === tab.main?.id;
  const isDocument = mainFrame && params["resourceType"] === "Document";
  const network = String(params["networkId"]);
  if (isDocument && tab.isNextOwn) {
    tab.own.add(network);
    tab.isNextOwn = false;
  }
  const later = isDocument && !tab.own.has(network);
  if (later) tab.lifecycle.leaves();
  const reply = answerRequest(event, tab.job, {
    mainFrame,
    later,
    delivered: tab.delivered,
    onRefused: (url, reason) => noteRefused(tab, url, reason),
  });
  if (reply.method === "Fetch.fulfillRequest") tab.delivered = true;
  answer(tab, event, reply);
}

/** Refused navigations that are told: a page may try without end. */
const REFUSED_LIMIT = 10;

function noteRefused(tab: Tab, url: string, reason: RefusedNavigation["reason"]): void {
  const isNew = tab.refused.every((refused) => refused.url !== url);
  if (isNew && tab.refused.length < REFUSED_LIMIT)
    tab.refused.push({ url: url.slice(0, 2000), reason });
}

/** The target may be gone by now: nobody waits for the answer. */
function answer(tab: Tab, event: CdpEvent, reply: { method: string; params: CdpData }): void {
  tab.cdp.call(reply.method, reply.params, event.session).catch(() => undefined);
}
