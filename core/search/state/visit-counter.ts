import { BoundedMap } from "../../work/bounded-map.ts";
import { type RateWindow, rateWindow } from "../../work/rate-window.ts";
import { type PublicEndpoint, visitLimitsOf } from "./public-endpoint.ts";

/** Addresses whose requests are counted at a time; the one that asked longest ago is forgotten. */
const ADDRESSES = 10_000;

/** Counts the requests to one public endpoint, in memory. */
export interface VisitCounter {
  /** Counts a request from a network: 0 when it fits, else the ms until one would. */
  admit(endpoint: PublicEndpoint, network: string): number;
}

/**
 * Makes the counter of an endpoint. An address that has used up its own limit takes nothing from that of all: one visitor
 * cannot shut out the others.
 *
 * @param now Unix ms
 */
export function visitCounter(now: () => number): VisitCounter {
  const all = rateWindow();
  const windows = new BoundedMap<string, RateWindow>(ADDRESSES);
  return {
    admit(endpoint, network) {
      const limits = visitLimitsOf(endpoint);
      const window = windows.get(network) ?? rateWindow();
      windows.delete(network);
      windows.set(network, window);
      const wait = window.admit(limits.each, now());
      return wait > 0 ? wait : all.admit(limits.all, now());
    },
  };
}
