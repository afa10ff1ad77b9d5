import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { eventually } from "../cases/eventually.ts";
import { chromium } from "../../adapters/shared/chromium/chromium.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import type { ProxyLogin, Wire } from "../../core/ports.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page of a real browser. */
export interface BrowserPage {
  evaluate<T>(expression: string): Promise<T>;
  /** Waits until an expression is true in the page. */
  until(condition: string): Promise<void>;
  /** Whether an expression becomes true within these milliseconds. */
  comesTrue(condition: string, ms: number): Promise<boolean>;
  /** Types into what a selector finds, as its `input` event tells it. */
  fill(selector: string, text: string): Promise<void>;
  click(selector: string): Promise<void>;
  /** Presses a key where the focus is. */
  press(key: string): Promise<void>;
  /** The serious and critical findings of axe, one line each. */
  findings(): Promise<readonly string[]>;
  scheme(scheme: "light" | "dark"): Promise<void>;
  width(pixels: number, height?: number): Promise<void>;
  /** A PNG of the whole page, in base64. */
  picture(): Promise<string>;
  /** What the page wrote to its console as an error, violations of the policy included. */
  readonly errors: readonly string[];
}

/** A browser for the tests of the console. */
export interface TestBrowser {
  open(url: string): Promise<BrowserPage>;
  close(): Promise<void>;
}

type Send = (
  method: string,
  params: object,
  sessionId?: string,
) => Promise<Record<string, unknown>>;

/** Starts a browser, which may reach loopback. */
export async function startBrowser(stateDir: string): Promise<TestBrowser> {
  const log = (): void => undefined;
  const browser = chromium({ stateDir, log, system: localSystem(log), allowHosts: ["127.0.0.1"] });
  const wire = await browser.connect();
  const errors = new Map<string, string[]>();
  const send = sender(wire, errors, () => browser.proxyLogin?.() ?? null);
  return {
    open: (url) => openPage(send, url, errors),
    async close() {
      wire.close();
      await browser.close();
    },
  };
}

/** The errors of each page by its session: a page that stays open asks for what its test has deleted. */
type Errors = Map<string, string[]>;

function sender(wire: Wire, errors: Errors, login: () => ProxyLogin | null): Send {
  let last = 0;
  const request: Send = (method, params, sessionId) => {
    const id = ++last;
    const reply = Promise.withResolvers<Record<string, unknown>>();
    waiting.set(id, reply);
    wire.send(
      JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }),
    );
    return reply.promise;
  };
  const waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  wire.onMessage((text) => {
    const { id, result, error, method, params, sessionId } = JSON.parse(text) as {
      id?: number;
      result?: Record<string, unknown>;
      error?: { message: string };
      method?: string;
      params?: EventParams;
      sessionId?: string;
    };
    const answer = method === undefined ? undefined : passOn(method, params, login);
    // A page that was closed meanwhile takes no answer.
    if (answer !== undefined) request(...answer, sessionId).catch(() => undefined);
    const own = errors.get(sessionId ?? "");
    if (method === "Log.entryAdded" && params?.entry?.level === "error")
      own?.push(`${params.entry.text} ${params.entry.url ?? ""}`.trim());
    if (method === "Runtime.exceptionThrown") own?.push(JSON.stringify(params));
    if (id === undefined) return;
    const found = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) found?.resolve(result ?? {});
    else found?.reject(new Error(error.message));
  });
  return request;
}

interface EventParams {
  readonly entry?: { readonly level: string; readonly text: string; readonly url?: string };
  readonly requestId?: string;
}

/** What lets an intercepted request go on: requests are intercepted to tell the egress proxy its login. */
function passOn(
  method: string,
  params: EventParams | undefined,
  login: () => ProxyLogin | null,
): readonly [method: string, params: object] | undefined {
  const requestId = params?.requestId;
  if (method === "Fetch.requestPaused") return ["Fetch.continueRequest", { requestId }];
  if (method !== "Fetch.authRequired") return undefined;
  const authChallengeResponse = { response: "ProvideCredentials", ...login() };
  return ["Fetch.continueWithAuth", { requestId, authChallengeResponse }];
}

async function openPage(send: Send, url: string, all: Errors): Promise<BrowserPage> {
  const { browserContextId } = await send("Target.createBrowserContext", {});
  const { targetId } = await send("Target.createTarget", { url: "about:blank", browserContextId });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const session = String(sessionId);
  const errors: string[] = [];
  all.set(session, errors);
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`, {}, session);
  await send("Fetch.enable", { handleAuthRequests: true }, session);
  await send("Page.navigate", { url }, session);
  const evaluate = async <T>(expression: string): Promise<T> => {
    const params = { expression, awaitPromise: true, returnByValue: true };
    const reply = (await send("Runtime.evaluate", params, session)) as {
      result: { value: T };
      exceptionDetails?: { exception?: { description?: string } };
    };
    if (reply.exceptionDetails !== undefined)
      throw new Error(reply.exceptionDetails.exception?.description ?? expression);
    return reply.result.value;
  };
  const size = (width: number, height: number): Promise<unknown> =>
    send(
      "Emulation.setDeviceMetricsOverride",
      { width, height, deviceScaleFactor: 1, mobile: width < 600 },
      session,
    );
  await size(1200, 800);
  const isTrue = (condition: string): Promise<boolean> =>
    evaluate<boolean>(`Boolean(${condition})`).catch(() => false);
  return {
    evaluate,
    errors,
    until: (condition) => eventually(() => isTrue(condition), condition),
    async comesTrue(condition, ms) {
      const late = Date.now() + ms;
      while (!(await isTrue(condition))) {
        if (Date.now() > late) return false;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return true;
    },
    async fill(selector, text) {
      await evaluate(`{
        const field = document.querySelector(${JSON.stringify(selector)});
        const proto = Object.getPrototypeOf(field);
        Object.getOwnPropertyDescriptor(proto, "value").set.call(field, ${JSON.stringify(text)});
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.dispatchEvent(new Event("change", { bubbles: true }));
      }`);
    },
    async click(selector) {
      await evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
    },
    async press(key) {
      const code = { Tab: 9, Enter: 13, Escape: 27, ArrowRight: 39, ArrowDown: 40 }[key] ?? 0;
      const params = {
        key,
        code: key,
        windowsVirtualKeyCode: code,
        ...(key === "Enter" ? { text: "\r" } : {}),
      };
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...params }, session);
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...params }, session);
    },
    async findings() {
      await send("Runtime.evaluate", { expression: axe }, session);
      return evaluate<string[]>(`axe.run(document).then(({ violations }) => violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => id + ": " + nodes.map(({ html, failureSummary }) => html + " " + failureSummary).join(" | ")))`);
    },
    async scheme(value) {
      const features = [{ name: "prefers-color-scheme", value }];
      await send("Emulation.setEmulatedMedia", { features }, session);
    },
    async width(pixels, height = 800) {
      await size(pixels, height);
    },
    async picture() {
      const { data } = await send(
        "Page.captureScreenshot",
        { format: "png", captureBeyondViewport: true },
        session,
      );
      return String(data);
    },
  };
}
