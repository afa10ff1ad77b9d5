import { invalidRequest } from "../../http/api-error.ts";
import type { FunctionWait, PageAction, SelectorWait } from "../input/body.ts";
import { isContextLoss, isExpressionEnd } from "../input/errors.ts";
import type { CdpData } from "../cdp/cdp.ts";
import { evaluate } from "./evaluate.ts";
import { keys } from "../cdp/keys.ts";
import { bringIntoView, findSelector, scrollByScreen } from "./scripts/page-scripts.ts";
import type { Page } from "./page.ts";

/** The pause between two looks at the page, in ms. */
const POLL_MS = 50;

/** How long an expression may hold up its page each time, in ms. */
const EXPRESSION_MS = 1000;

/** Waits until a selector's first match is there, visible or hidden, as it is wanted. */
export async function waitForSelector(
  page: Page,
  wanted: SelectorWait,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const state = await evaluate(page, findSelector, [wanted.selector], signal);
    if (wanted.hidden === true ? state !== "visible" : state === "visible") return;
    if (wanted.hidden !== true && wanted.visible !== true && state === "hidden") return;
    await page.system.sleep(POLL_MS, signal);
  }
}

/**
 * Waits until an expression of the page's own world is true. One that throws is not true yet: what it asks for may not be
 * there.
 *
 * @throws ApiError `invalid_request` for a text that is not an expression
 */
export async function waitForFunction(
  page: Page,
  { expression }: FunctionWait,
  signal: AbortSignal,
): Promise<void> {
  const params = { expression, awaitPromise: true, timeout: EXPRESSION_MS };
  for (;;) {
    const answer = await page.call("Runtime.evaluate", params).catch((error: unknown) => {
      if (!isContextLoss(error) && !isExpressionEnd(error)) throw error;
      return { result: { type: "undefined" } };
    });
    const { result, exceptionDetails } = answer as Evaluated;
    const { className, description = "" } = exceptionDetails?.exception ?? {};
    // An error with a stack was thrown by an expression that runs, such as `JSON.parse()`: its own syntax is right.
    if (className === "SyntaxError" && !description.includes("\n    at "))
      throw invalidRequest(
        `waitForFunction.expression: ${description.split("\n", 1)[0]?.slice(0, 200) ?? ""}`,
      );
    if (exceptionDetails === undefined && isTrue(result)) return;
    await page.system.sleep(POLL_MS, signal);
  }
}

interface Evaluated {
  readonly result: RemoteValue;
  readonly exceptionDetails?: {
    readonly exception?: { readonly className?: string; readonly description?: string };
  };
}

/** A value of the page, as DevTools describes it. */
interface RemoteValue {
  readonly type: string;
  readonly subtype?: string;
  readonly value?: unknown;
  readonly unserializableValue?: string;
}

function isTrue({ type, subtype, value, unserializableValue }: RemoteValue): boolean {
  if (unserializableValue !== undefined) return !/^(?:NaN|-0|0n)$/u.test(unserializableValue);
  if (type === "object") return subtype !== "null";
  return type === "function" || type === "symbol" || Boolean(value);
}

/** Does one thing with the page, as a user would. Elements that it needs are waited for, under the caller's timer. */
export async function act(page: Page, action: PageAction, signal: AbortSignal): Promise<void> {
  switch (action.type) {
    case "wait":
      if (action.selector !== undefined)
        return waitForSelector(page, { selector: action.selector, visible: true }, signal);
      return page.system.sleep(action.milliseconds ?? 0, signal);
    case "click":
      return click(page, action.selector, signal);
    case "write":
      if (action.selector !== undefined) await click(page, action.selector, signal);
      return void (await page.call("Input.insertText", { text: action.text }));
    case "press": {
      const { code, number, text } = keys[action.key];
      const key = { key: text === " " ? text : action.key, code, windowsVirtualKeyCode: number };
      const down = text === undefined ? { type: "rawKeyDown" } : { type: "keyDown", text };
      await page.call("Input.dispatchKeyEvent", { ...key, ...down });
      return void (await page.call("Input.dispatchKeyEvent", { ...key, type: "keyUp" }));
    }
    case "scroll": {
      const { selector = null, direction = "down" } = action;
      while (!(await evaluate(page, scrollByScreen, [selector, direction], signal)))
        await page.system.sleep(POLL_MS, signal);
      // Listeners for scrolling run with the next frame.
      return page.system.sleep(POLL_MS, signal);
    }
  }
}

async function click(page: Page, selector: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const place = await evaluate(page, bringIntoView, [selector], signal);
    if (place === null) {
      await page.system.sleep(POLL_MS, signal);
      continue;
    }
    const mouse = (type: string, more: CdpData = {}): Promise<CdpData> =>
      page.call("Input.dispatchMouseEvent", { type, ...place, ...more });
    const button = { button: "left", clickCount: 1 };
    await mouse("mouseMoved");
    await mouse("mousePressed", button);
    await mouse("mouseReleased", button);
    return;
  }
}
