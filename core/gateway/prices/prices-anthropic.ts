import { type Price, type PriceTable, rows, tiered } from "./price.ts";

/** The price of a cache write for an hour, in multiples of the input; five minutes cost 1.25 times the input. */
const HOUR = 2;

function withHour(given: Price): Price {
  const cacheWriteHour = given.input * HOUR;
  const { long } = given;
  if (long === undefined) return { ...given, cacheWriteHour };
  return { ...given, cacheWriteHour, long: { ...long, cacheWriteHour: long.input * HOUR } };
}

const table: PriceTable = {
  ...rows({
    "claude-fable-5-1": [10, 50, 0.25, 12.5],
    "claude-mythos-5-1": [10, 50, 0.25, 12.5],
    "claude-fable-5": [10, 50, 1, 12.5],
    "claude-mythos-5": [10, 50, 1, 12.5],
    "claude-opus-5-5": [4, 20, 0.2, 5],
    "claude-opus-5": [5, 25, 0.5, 6.25],
    "claude-opus-4-8": [5, 25, 0.5, 6.25],
    "claude-opus-4-7": [5, 25, 0.5, 6.25],
    "claude-opus-4-6": [5, 25, 0.5, 6.25],
    "claude-opus-4-5": [5, 25, 0.5, 6.25],
    "claude-opus-4-1": [15, 75, 1.5, 18.75],
    "claude-opus-4": [15, 75, 1.5, 18.75],
    "claude-opus-4-0": [15, 75, 1.5, 18.75],
    "claude-sonnet-5-5": [2, 10, 0.2, 2.5],
    "claude-sonnet-5": [2, 10, 0.2, 2.5],
    "claude-sonnet-4-6": [3, 15, 0.3, 3.75],
    "claude-3-7-sonnet": [3, 15, 0.3, 3.75],
    "claude-3-5-sonnet": [3, 15, 0.3, 3.75],
    "claude-haiku-4-5": [1, 5, 0.1, 1.25],
    "claude-3-5-haiku": [0.8, 4, 0.08, 1],
    "claude-3-opus": [15, 75, 1.5, 18.75],
    "claude-3-haiku": [0.25, 1.25, 0.03, 0.3],
  }),
  ...tiered(100_000, {
    "claude-haiku-5-5": [
      [0.1, 0.5, 0.01, 0.125],
      [0.5, 2.5, 0.05, 0.625],
    ],
  }),
  // Only these took longer requests at a price of their own; later models charge all of a million tokens alike.
  ...tiered(200_000, {
    "claude-sonnet-4-5": [
      [3, 15, 0.3, 3.75],
      [6, 22.5, 0.6, 7.5],
    ],
    "claude-sonnet-4": [
      [3, 15, 0.3, 3.75],
      [6, 22.5, 0.6, 7.5],
    ],
    "claude-sonnet-4-0": [
      [3, 15, 0.3, 3.75],
      [6, 22.5, 0.6, 7.5],
    ],
  }),
};

/** Anthropic's models, from its price page; the newest ones (after 4.6) could not be compared with a second list. */
export const anthropicPrices: PriceTable = Object.fromEntries(
  Object.entries(table).map(([model, given]) => [model, withHour(given)]),
);
