import { ApiError } from "../../http/api-error.ts";
import { runInSteps } from "../../work/background.ts";
import { JsonText } from "../../http/json/json-pieces.ts";
import type { Background } from "../../ports.ts";
import type { AccessibilityBody } from "../input/body.ts";
import { CdpError } from "../cdp/cdp.ts";
import { evaluate } from "../page/evaluate.ts";
import { PAGE_TEXT_LIMIT, tooLarge, type WantedText } from "../page/evaluate-text.ts";
import { MESSAGE_LIMIT } from "../cdp/long-answer.ts";
import { countNodes } from "../page/scripts/page-scripts.ts";
import type { Page } from "../page/page.ts";
import type { Action } from "../page/render.ts";
import { accessibilityTree } from "./accessibility-tree.ts";

/** Elements and texts of a page whose tree is made. */
const NODES = 20_000;

/** The number at which counting them stops: a page may have any number. */
const COUNTED = 10_000_000;

/** Characters of a tree that is made sooner than handed to a thread. */
const AT_ONCE = 64 * 1024;

const wanted: WantedText = {
  action: "accessibilityTree",
  what: "The page",
  hint: "take scrape or content for parts of it",
};

/**
 * The accessibility tree of the page, or of the element that `root` names; null when there is no such element. With
 * `interestingOnly`, the default without a `root`, nodes that say nothing to a user are left out and their children lifted.
 * A large one is made beside the event loop.
 */
export function accessibilityAction(
  { root, interestingOnly = root === undefined }: AccessibilityBody,
  background: Background,
): Action<JsonText> {
  return async (page, _facts, signal) => {
    const size = await evaluate(page, countNodes, [COUNTED], signal);
    if (size > NODES) throw tooLarge(wanted, `${size} elements and texts`, NODES);
    const answer = await page.call("Accessibility.getFullAXTree").catch((error: unknown) => {
      if (!(error instanceof CdpError) || error.size === undefined) throw error;
      throw tooLarge(wanted, `a tree of ${error.size} bytes`, MESSAGE_LIMIT);
    });
    const element = root === undefined ? null : await elementOf(page, root);
    signal.throwIfAborted();
    if (element === undefined) return new JsonText("null");
    const long = answer["text"];
    const text = typeof long === "string" ? long : JSON.stringify(answer);
    const request = { text, root: element, interestingOnly };
    const made =
      text.length > AT_ONCE
        ? await background.run(accessibilityTree, request, signal)
        : await runInSteps(accessibilityTree, request, signal, page.system);
    if (made.length > PAGE_TEXT_LIMIT)
      throw tooLarge(wanted, `a tree of ${made.length} characters`, PAGE_TEXT_LIMIT);
    return new JsonText(made);
  };
}

/** DevTools' number of the element that a selector names; undefined when there is none. */
async function elementOf(page: Page, selector: string): Promise<number | undefined> {
  const { root } = (await page.call("DOM.getDocument", { depth: 0 })) as {
    root: { nodeId: number };
  };
  const params = { nodeId: root.nodeId, selector };
  const found = await page.call("DOM.querySelector", params).catch((error: unknown) => {
    if (!(error instanceof CdpError)) throw error;
    throw new ApiError("invalid_request", {
      message: `root: "${selector.slice(0, 80)}" is not a selector`,
      cause: error,
    });
  });
  if (found["nodeId"] === 0) return undefined;
  const { node } = (await page.call("DOM.describeNode", { nodeId: found["nodeId"] })) as {
    node: { backendNodeId: number };
  };
  return node.backendNodeId;
}
