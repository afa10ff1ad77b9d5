import { type RouteFacts, satisfies } from "./condition.ts";
import type { ModelElement, RateElement } from "./element.ts";
import type { Graph } from "./graph.ts";

/** Where a route stops: it wants something counted, a model called, or is over. */
export type Stop = RateElement | ModelElement | { readonly kind: "end" };

/**
 * Follows a route from an element (null = the end) to the next stop. `random` gives numbers from 0 up to,
 * not including, 1: the only thing that makes two runs differ.
 */
export function advanceRoute(
  graph: Graph,
  from: string | null,
  facts: RouteFacts,
  random: () => number,
): Stop {
  let at = from;
  while (at !== null) {
    const element = graph.elements.get(at);
    switch (element?.kind) {
      case undefined:
      case "end":
        return { kind: "end" };
      case "start":
        at = element.next;
        break;
      case "conditional":
        at = satisfies(element.condition, facts) ? element.yes : element.no;
        break;
      case "percentage":
        // Shares of 100 % in sum may miss the last number by a rounding error.
        at =
          chosen(element.shares, random()) ??
          element.otherwise ??
          element.shares.at(-1)?.to ??
          null;
        break;
      case "rate":
      case "model":
        return element;
    }
  }
  return { kind: "end" };
}

/** The branch that a number from 0 to 1 falls into; null behind the last one. */
function chosen(shares: readonly { percent: number; to: string }[], random: number): string | null {
  let left = random * 100;
  for (const { percent, to } of shares) {
    if (left < percent) return to;
    left -= percent;
  }
  return null;
}
