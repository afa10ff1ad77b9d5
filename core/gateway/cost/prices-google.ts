import { type PriceTable, rows, tiered } from "./price.ts";

/** Gemini's models on the paid tier, text and images, from transcripts of Google's price page (October 2026). */
export const googlePrices: PriceTable = {
  ...rows({
    // Until the end of 2026; from then on twice as much.
    "gemini-3.8-flash": [0.75, 3.75, 0.075],
    "gemini-3.7-flash": [1.5, 7.5, 0.15],
    "gemini-3.5-flash": [1.5, 9, 0.15],
    "gemini-3.5-flash-lite": [0.3, 2.5],
    "gemini-3.1-flash-lite": [0.25, 1.5, 0.025],
    "gemini-3-flash": [0.5, 3, 0.05],
    "gemini-2.5-flash": [0.3, 2.5, 0.03],
    "gemini-2.5-flash-lite": [0.1, 0.4, 0.01],
    "gemini-2.0-flash": [0.1, 0.4, 0.025],
    "gemini-2.0-flash-lite": [0.075, 0.3],
    "gemini-embedding-2": [0.2, 0],
    "gemini-embedding": [0.15, 0],
  }),
  ...tiered(200_000, {
    "gemini-3.1-pro": [
      [2, 12, 0.2],
      [4, 18, 0.4],
    ],
    "gemini-3-pro": [
      [2, 12, 0.2],
      [4, 18, 0.4],
    ],
    "gemini-2.5-pro": [
      [1.25, 10, 0.125],
      [2.5, 15, 0.25],
    ],
  }),
};
