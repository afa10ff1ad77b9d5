import { invalidRequest } from "../../http/api-error.ts";
import type { CdpData } from "../cdp/cdp.ts";
import { isContextLoss } from "../input/errors.ts";
import type { Page } from "./page.ts";
import type { PageScript } from "./scripts/page-functions.ts";

/** How often a page that keeps going elsewhere is asked again, and the pause in between in ms. */
const ATTEMPTS = 20;
const PAUSE_MS = 50;

/** A function that the page may run. */
type Runnable = (...args: never[]) => unknown;

/**
 * Runs a function in a world of its own beside the page's scripts, which therefore cannot
 * tamper with it, and returns its JSON result. A page that goes to another document meanwhile is asked again.
 *
 * @throws ApiError `context_destroyed` when the page does not settle, `invalid_request` when the function throws
 */
export async function evaluate<Run extends Runnable>(
  page: Page,
  script: PageScript<Run>,
  args: Parameters<Run>,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<Run>>> {
  for (let attempt = 1; ; attempt++) {
    const known = page.world.context;
    try {
      return (await evaluateOnce(page, script, args)) as Awaited<ReturnType<Run>>;
    } catch (error) {
      if (!isContextLoss(error)) throw error;
      page.world.context = null;
      // It was of a document before.
      if (known !== null && attempt === 1) continue;
      if (attempt === ATTEMPTS) throw error;
      await page.system.sleep(PAUSE_MS, signal);
    }
  }
}

async function evaluateOnce(
  page: Page,
  source: string,
  args: readonly unknown[],
): Promise<unknown> {
  if (page.world.context === null) {
    const params = { frameId: page.frame, worldName: "causey" };
    const made = await page.call("Page.createIsolatedWorld", params);
    page.world.context = made["executionContextId"];
  }
  const answer = await page.call("Runtime.callFunctionOn", {
    functionDeclaration: source,
    executionContextId: page.world.context,
    arguments: args.map((value) => ({ value })),
    returnByValue: true,
    awaitPromise: true,
  });
  const failure = answer["exceptionDetails"] as
    | { exception?: { description?: string }; text?: string }
    | undefined;
  if (failure !== undefined) {
    const text = failure.exception?.description ?? failure.text ?? "unknown";
    throw invalidRequest(`The page refused: ${text.split("\n")[0]?.slice(0, 200) ?? ""}`);
  }
  return (answer["result"] as CdpData)["value"];
}
