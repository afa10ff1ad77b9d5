import type { ProxyLogin, System } from "../../ports.ts";
import {
  answerAuth,
  answerLogin,
  answerRequest,
  passResponse,
  type InterceptAnswer,
  pageRequest,
  refuseRequest,
  type RefusedNavigation,
  type RequestContext,
} from "../intercept/intercept.ts";
import { logIn } from "../intercept/log-in.ts";
import type { Job } from "../job/job.ts";
import type { GateDecision } from "../job/request-gate.ts";
import { requestTurns, type RequestTurns } from "../job/request-turns.ts";
import type { Cdp, CdpData, CdpEvent } from "../cdp/cdp.ts";
import { followLifecycle, type Lifecycle } from "./lifecycle.ts";
import { noteConsoleError } from "./console-errors.ts";
import { followDocument, type MainDocument } from "./main-document.ts";
import { followNetwork, type NetworkActivity } from "./network-idle.ts";
import { followFiles, type PageFiles } from "./page-files.ts";
import { crashFailure, followTargets, isCrash, type Target, type TargetHooks } from "./targets.ts";

export interface TabDeps {
  readonly system: System;
  /** Whether an egress proxy guards the browser. Without one, WebSockets cannot be checked and are refused. */
  readonly guarded: boolean;
  /** Returns the login that this proxy asks for. @default none */
  readonly login?: (() => ProxyLogin | null) | undefined;
}

/** A tab in a browser context of its own, and everything of its targets that is followed. */
export interface Tab {
  readonly cdp: Cdp;
  readonly context: string;
  readonly guarded: boolean;
  readonly login: ProxyLogin | null;
  readonly system: System;
  readonly lifecycle: Lifecycle;
  readonly network: NetworkActivity;
  readonly files: PageFiles;
  readonly turns: RequestTurns;
  readonly document: MainDocument;
  readonly refused: RefusedNavigation[];
  /** The first errors of the page's scripts, where the job asks for them. */
  readonly consoleErrors: string[];
  readonly asked: Set<string>;
  /** The job of the tab; null while it is blank, when nothing may be requested. */
  job: Job | null;
  /** Whether its document has done anything but be shown: asked for something, opened a dialog, a window, a frame or a worker. */
  hasActed: boolean;
  /** Whether nothing may be asked for and no script runs: the tab has shown plain documents before. */
  isPlain: boolean;
  /** How the window was set for the last job, as text; null when that may have been changed since. */
  look: string | null;
  /** When the browser last answered for a page that is kept, of `monotonic()`. */
  answeredAt: number;
  main: Target | null;
  readonly world: World;
  /** Whether `html` has been delivered under the URL of the job already. */
  delivered: boolean;
  /** The requests that load the page itself, and whether the next one of the main frame is such. */
  readonly own: Set<string>;
  isNextOwn: boolean;
}

/** The JavaScript world in which our functions run, apart from the scripts of a document. */
export interface World {
  /** DevTools' id of it. */
  context: unknown;
}

/** A call of a target's set-up: method and parameters. */
export type SetUpCall = readonly [method: string, params: CdpData];

/** The window of pages whose caller asks for no other. */
export const defaultViewport = { width: 1920, height: 1080 } as const;

/** A tab before its target is there. */
function blankTab(cdp: Cdp, deps: TabDeps, context: string): Tab {
  const tab: Tab = {
    cdp,
    context,
    guarded: deps.guarded,
    login: deps.login?.() ?? null,
    system: deps.system,
    lifecycle: followLifecycle(() => tab.main?.id ?? ""),
    network: followNetwork(deps.system),
    files: followFiles({
      system: deps.system,
      mainFrame: () => tab.main?.id ?? "",
      decided: (file) => tab.turns.decided(file),
      needsAll: () => tab.job?.body.failOnResource === true,
    }),
    turns: requestTurns({
      system: deps.system,
      rules: () => tab.job?.rules ?? null,
      fail: (error) => cdp.fail(error),
    }),
    asked: new Set(),
    job: null,
    hasActed: false,
    isPlain: false,
    look: null,
    answeredAt: Number.NEGATIVE_INFINITY,
    main: null,
    world: { context: null },
    delivered: false,
    document: followDocument(() => tab.main?.id ?? ""),
    refused: [],
    consoleErrors: [],
    own: new Set(),
    isNextOwn: false,
  };
  return tab;
}

/**
 * Opens a blank tab in a browser context: requests are intercepted, downloads refused, its window has the usual
 * size, and the proxy knows it. The calls do not wait for each other: the browser takes them in their order.
 */
export async function openTab(cdp: Cdp, deps: TabDeps, context: string): Promise<Tab> {
  const tab = blankTab(cdp, deps, context);
  cdp.on((event) => {
    tab.hasActed ||= isAct(tab, event);
    handle(tab, event);
  });
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
  await Promise.all([
    cdp.call("Browser.setDownloadBehavior", { behavior: "deny", browserContextId: context }),
    cdp.call("Target.createTarget", {
      url: "about:blank",
      browserContextId: context,
      ...defaultViewport,
    }),
    opened,
  ]);
  await logIn(cdp, tab.main?.session, tab.login);
  // The login was ours.
  tab.hasActed = false;
  return tab;
}

/** Everything that must be in force before a frame's first request. */
async function setUp(tab: Tab, target: Target): Promise<void> {
  const { session } = target;
  const calls: SetUpCall[] = [
    [
      "Fetch.enable",
      {
        handleAuthRequests: true,
        patterns: [
          { urlPattern: "*", requestStage: "Request" },
          // The answer to a navigation decides whether the page is left at all.
          { urlPattern: "*", resourceType: "Document", requestStage: "Response" },
        ],
      },
    ],
    ["Network.enable", { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }],
    ...networkCalls(tab.guarded, tab.job),
  ];
  if (target.type === "page" || target.type === "iframe") {
    calls.push(
      ["Page.enable", {}],
      ["Page.setLifecycleEventsEnabled", { enabled: true }],
      ["Inspector.enable", {}],
    );
  }
  if (tab.job?.body.failOnConsoleError === true) calls.push(["Runtime.enable", {}]);
  if (tab.main === null || tab.main.id === target.id)
    calls.push(["Emulation.setDeviceMetricsOverride", metrics(defaultViewport)]);
  await Promise.all(calls.map(([method, params]) => tab.cdp.call(method, params, session)));
}

/** Returns the calls that set up every target's network for a job. */
export function networkCalls(guarded: boolean, job: Job | null): SetUpCall[] {
  const userAgent = job?.body.userAgent;
  return [
    ...(refusesSockets(guarded, job)
      ? [["Network.setBlockedURLs", { urls: ["ws://*", "wss://*"] }] as const]
      : []),
    ...(userAgent === undefined ? [] : [["Network.setUserAgentOverride", { userAgent }] as const]),
  ];
}

/** WebSockets pass interception by: they are refused unless a proxy checks them and no rule is against them. */
function refusesSockets(guarded: boolean, job: Job | null): boolean {
  if (!guarded || job === null) return !guarded;
  const { allowTypes, rejectTypes } = job.rules;
  return (
    rejectTypes.includes("websocket") ||
    (allowTypes.length > 0 && !allowTypes.includes("websocket"))
  );
}

/** The parameters of a window's size. */
export function metrics(view: NonNullable<Job["body"]["viewport"]>): CdpData {
  return {
    width: view.width,
    height: view.height,
    deviceScaleFactor: view.deviceScaleFactor ?? 1,
    mobile: view.isMobile === true,
    screenOrientation:
      view.isLandscape === true
        ? { angle: 90, type: "landscapePrimary" }
        : { angle: 0, type: "portraitPrimary" },
  };
}

function handle(tab: Tab, event: CdpEvent): void {
  const isMain = event.session !== undefined && event.session === tab.main?.session;
  if (isMain) {
    tab.lifecycle.see(event);
    tab.document.see(event);
    // Another document: what was known of the one before means nothing there.
    if (event.method === "Page.frameNavigated") tab.world.context = null;
  }
  tab.network.see(event);
  tab.files.see(event);
  noteConsoleError(tab.consoleErrors, event);
  if (isMain && isCrash(event)) return tab.cdp.fail(crashFailure());
  if (event.method === "Page.downloadWillBegin" && event.params["frameId"] === tab.main?.id)
    return noteRefused(tab, String(event.params["url"]), "download");
  if (event.method === "Fetch.requestPaused") return pause(tab, event, isMain);
  if (event.method === "Fetch.authRequired") return answer(tab, event, answerAuth(event, tab));
  if (event.method === "Page.javascriptDialogOpening") {
    // beforeunload dialogs are accepted so that the page can be left; all others are dismissed.
    const accept = event.params["type"] === "beforeunload";
    return answer(tab, event, { method: "Page.handleJavaScriptDialog", params: { accept } });
  }
}

const acts = new Set([
  "Fetch.requestPaused",
  "Fetch.authRequired",
  "Network.requestWillBeSent",
  "Page.downloadWillBegin",
  "Page.javascriptDialogOpening",
]);

/** Whether a document did something. The blank one that a tab begins with asks for nothing. */
function isAct({ main, context }: Tab, { method, params }: CdpEvent): boolean {
  if (method !== "Target.attachedToTarget") return acts.has(method);
  const { browserContextId } = params["targetInfo"] as { browserContextId?: string };
  return main !== null && browserContextId === context;
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
  const context = { mainFrame, later, onRefused: noteRefused.bind(null, tab) };
  const reply = answerLogin(event, tab.login) ?? answerAtOnce(tab, event, context);
  if (reply !== null) return answer(tab, event, reply);
  tab.turns.decide(pageRequest(event, mainFrame), (decision) =>
    answer(tab, event, answerFor(tab, event, context, decision)),
  );
}

type Place = Omit<RequestContext, "delivered">;

/** Answers what needs no decision. */
function answerAtOnce(tab: Tab, event: CdpEvent, place: Place): InterceptAnswer | null {
  if (tab.job === null || tab.isPlain) return refuseRequest(event);
  return passResponse(event, place);
}

function answerFor(
  tab: Tab,
  event: CdpEvent,
  place: Place,
  decision: GateDecision,
): InterceptAnswer {
  if (tab.job === null) return refuseRequest(event);
  const reply = answerRequest(event, tab.job, { ...place, delivered: tab.delivered }, decision);
  if (reply.method === "Fetch.fulfillRequest") tab.delivered = true;
  return reply;
}

/** Refused navigations that are told: a page may try without end. */
const REFUSED_LIMIT = 10;

function noteRefused(tab: Tab, url: string, reason: RefusedNavigation["reason"]): void {
  const isNew = tab.refused.every((refused) => refused.url !== url);
  if (isNew && tab.refused.length < REFUSED_LIMIT)
    tab.refused.push({ url: url.slice(0, 2000), reason });
}

/** Replies to an event, and ignores a failure: the target may be gone by now. */
function answer(tab: Tab, event: CdpEvent, reply: { method: string; params: CdpData }): void {
  tab.cdp.call(reply.method, reply.params, event.session).catch(() => undefined);
}
