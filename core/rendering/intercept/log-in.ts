import { ApiError } from "../../http/api-error.ts";
import type { ProxyLogin } from "../../ports.ts";
import type { Cdp } from "../cdp/cdp.ts";

/**
 * Has a blank tab show its proxy the login, which its browser context then shows on every connection. The documents of the tab
 * cannot do that by themselves: Chromium answers no proxy that a picture of another site meets first, and WebSockets and workers
 * are not intercepted. Their files would be missing without a word.
 */
export async function logIn(
  cdp: Cdp,
  session: string | undefined,
  login: ProxyLogin | null,
): Promise<void> {
  if (login === null) return;
  const url = JSON.stringify(login.url);
  const expression = `fetch(${url}, { mode: "no-cors", credentials: "include" }).then(() => performance.clearResourceTimings())`;
  const params = { expression, awaitPromise: true };
  const answer = await cdp.call("Runtime.evaluate", params, session);
  if (answer["exceptionDetails"] !== undefined)
    throw new ApiError("no_browser", { message: "The browser cannot reach its proxy" });
}
