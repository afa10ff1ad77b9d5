import { withAudioAtInputPrice, type PriceTable, rows, tiered, voicePrice } from "./price.ts";

/** Gemini's models on the paid tier, from transcripts of Google's price page (October 2026). */
export const googlePrices: PriceTable = {
  // Sound costs more than text.
  "gemini-3.1-flash-lite": voicePrice([0.25, 1.5, 0.025], { input: 0.5, cached: 0.05 }),
  "gemini-3-flash": voicePrice([0.5, 3, 0.05], { input: 1, cached: 0.1 }),
  "gemini-2.5-flash": voicePrice([0.3, 2.5, 0.03], { input: 1, cached: 0.1 }),
  "gemini-2.5-flash-lite": voicePrice([0.1, 0.4, 0.01], { input: 0.3, cached: 0.03 }),
  "gemini-2.0-flash": voicePrice([0.1, 0.4, 0.025], { input: 0.7, cached: 0.175 }),
  ...withAudioAtInputPrice(
    rows({
      // These three until the end of 2026, see below.
      "gemini-3.8-flash": [0.75, 3.75, 0.075],
      "gemini-3.7-flash": [0.75, 3.75, 0.075],
      "gemini-3.6-flash": [0.75, 3.75, 0.075],
      "gemini-3.5-flash": [1.5, 9, 0.15],
      "gemini-3.5-flash-lite": [0.3, 2.5],
    }),
  ),
  ...rows({
    "gemini-2.0-flash-lite": [0.075, 0.3],
    "gemini-embedding": [0.15, 0],
  }),
  // Input other than text is dearer; its price was not looked up.
  "gemini-embedding-2": { input: 0.2, output: 0, kinds: { image: {}, video: {} } },
  ...withAudioAtInputPrice(
    tiered(200_000, {
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
  ),
};

/** Prices that change from 2027 on. */
export const googlePricesOf2027: PriceTable = withAudioAtInputPrice(
  rows({
    "gemini-3.8-flash": [1.5, 7.5, 0.15],
    "gemini-3.7-flash": [1.5, 7.5, 0.15],
    "gemini-3.6-flash": [1.5, 7.5, 0.15],
  }),
);
