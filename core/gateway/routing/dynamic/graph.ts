import * as v from "valibot";
import { type ApiError, invalidRequest } from "../../../http/api-error.ts";
import { parse } from "../../../http/fields/body.ts";
import { satisfies } from "../../../http/json/condition.ts";
import { factAt, type RouteFacts } from "./facts.ts";
import {
  elementsSchema,
  type Identified,
  type ModelElement,
  type RateElement,
  type RouteElement,
  storedElements,
} from "./element.ts";

/** A route that can run: connected, without a circle. */
export interface Graph {
  readonly start: string;
  readonly elements: ReadonlyMap<string, RouteElement>;
}

const givenRoute = v.object({ elements: elementsSchema });
const storedRoute = v.object({ elements: storedElements });

/** Most branches of a percentage element, beside `else`. */
const SHARES = 5;

/** Reads the elements of a new route; what cannot run is a 400 that names the element. */
export const readGraph = (value: unknown): Graph =>
  graphOf(parse(givenRoute, { elements: value }).elements);

/** Reads the elements of a stored route. */
export const storedGraph = (value: unknown): Graph =>
  graphOf(parse(storedRoute, { elements: value }).elements);

function graphOf(list: readonly Identified[]): Graph {
  const elements = new Map<string, RouteElement>();
  for (const { id, element } of list) {
    if (elements.has(id)) throw misfit(id, "has the id of another element");
    elements.set(id, element);
  }
  const starts = [...elements].filter(([, element]) => element.kind === "start");
  const [start] = starts;
  if (start === undefined || starts.length > 1) {
    throw invalidRequest(`elements: expected exactly one "start", got ${starts.length}`);
  }
  for (const [id, element] of elements) {
    if (element.kind === "percentage") checkShares(id, element);
    for (const to of outputsOf(element)) {
      if (!elements.has(to))
        throw misfit(id, `leads to "${to.slice(0, 64)}", which does not exist`);
      if (to === start[0]) throw misfit(id, "leads back to the start");
    }
  }
  checkCircles(elements);
  return { start: start[0], elements };
}

export function outputsOf(element: RouteElement): string[] {
  const given = (to: string | null): string[] => (to === null ? [] : [to]);
  switch (element.kind) {
    case "start":
      return [element.next];
    case "conditional":
      return [element.yes, element.no];
    case "percentage":
      return [...element.shares.map(({ to }) => to), ...given(element.otherwise)];
    case "rate":
      return [element.success, ...given(element.fallback)];
    case "model":
      return [...given(element.success), ...given(element.fallback)];
    case "end":
      return [];
  }
}

function checkShares(
  id: string,
  { shares, otherwise }: Extract<RouteElement, { kind: "percentage" }>,
): void {
  if (shares.length > SHARES) throw misfit(id, `has more than ${SHARES} percentages`);
  if (shares.some(({ percent }) => Number.isNaN(percent))) {
    throw misfit(id, 'names its outputs by percentages such as "10%", and "else"');
  }
  const sum = shares.reduce((total, { percent }) => total + percent, 0);
  if (sum > 100.0001) throw misfit(id, `has percentages of ${sum} in sum, more than 100`);
  if (otherwise === null && sum < 99.9999) {
    throw misfit(id, `has percentages of ${sum} in sum: add "else", or make it 100`);
  }
}

/** A route visits no element twice, so it always ends. */
function checkCircles(elements: ReadonlyMap<string, RouteElement>): void {
  const state = new Map<string, "open" | "done">();
  const visit = (id: string): void => {
    if (state.get(id) === "done") return;
    if (state.get(id) === "open") throw misfit(id, "is part of a circle");
    state.set(id, "open");
    const element = elements.get(id);
    if (element !== undefined) for (const to of outputsOf(element)) visit(to);
    state.set(id, "done");
  };
  for (const id of elements.keys()) visit(id);
}

function misfit(id: string, problem: string): ApiError {
  return invalidRequest(`elements: the element "${id.slice(0, 64)}" ${problem}`);
}

/** The element at which a route pauses: a count, a call of a model, or the end. */
type Stop = RateElement | ModelElement | { readonly kind: "end" };

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
        at = satisfies(element.condition, (path) => factAt(path, facts)) ? element.yes : element.no;
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

/** Returns the branch that a number from 0 to 1 falls into; null behind the last one. */
function chosen(shares: readonly { percent: number; to: string }[], random: number): string | null {
  let left = random * 100;
  for (const { percent, to } of shares) {
    if (left < percent) return to;
    left -= percent;
  }
  return null;
}
