import { type PriceTable, rows, tiered } from "./price.ts";

/** Mistral's models. Its names keep their dates here: another date is another model at another price. */
export const mistralPrices: PriceTable = rows({
  // The price of its preview.
  "mistral-large-4": [0.68, 2.09, 0.07],
  "mistral-large-2512": [0.5, 1.5],
  "mistral-large-2411": [2, 6],
  "mistral-medium": [1.5, 7.5],
  "mistral-medium-3.5": [1.5, 7.5],
  "mistral-medium-3-5": [1.5, 7.5],
  "mistral-medium-2604": [1.5, 7.5],
  "mistral-medium-2508": [0.4, 2],
  "mistral-medium-2505": [0.4, 2],
  "mistral-small-2506": [0.1, 0.3],
  "mistral-small-2503": [0.1, 0.3],
  "magistral-medium": [2, 5],
  "magistral-small": [0.5, 1.5],
  "devstral-2512": [0.4, 2],
  "devstral-medium-2507": [0.4, 2],
  "devstral-small-2507": [0.1, 0.3],
  codestral: [0.3, 0.9],
  "codestral-2508": [0.3, 0.9],
  "ministral-14b-2512": [0.2, 0.2, 0.02],
  "ministral-8b-2512": [0.15, 0.15, 0.015],
  "ministral-8b-2410": [0.1, 0.1],
  "ministral-3b-2512": [0.1, 0.1, 0.01],
  "ministral-3b-2410": [0.04, 0.04],
  "pixtral-large": [2, 6],
  "pixtral-large-2411": [2, 6],
  "pixtral-12b": [0.15, 0.15],
  "mistral-nemo": [0.15, 0.15],
  "open-mistral-nemo": [0.15, 0.15],
  "open-mistral-7b": [0.25, 0.25],
  "open-mixtral-8x7b": [0.7, 0.7],
  "open-mixtral-8x22b": [2, 6],
  "mistral-embed": [0.1, 0],
  "codestral-embed": [0.15, 0],
});

/** Prices of the models that Groq serves. */
export const groqPrices: PriceTable = rows({
  "llama-3.3-70b-versatile": [0.59, 0.79],
  "llama-3.1-8b-instant": [0.05, 0.08],
  "meta-llama/llama-4-scout-17b-16e-instruct": [0.11, 0.34],
  "openai/gpt-oss-120b": [0.15, 0.6, 0.075],
  "openai/gpt-oss-20b": [0.075, 0.3, 0.0375],
  "qwen/qwen3.8-27b": [0.6, 3, 0.3],
  "qwen/qwen3-32b": [0.29, 0.59],
  "moonshotai/kimi-k2-instruct": [1, 3],
});

/** Prices of the models that Cerebras serves. */
export const cerebrasPrices: PriceTable = rows({
  "gpt-oss-120b": [0.35, 0.75],
  "qwen-3.8-27b": [0.99, 1.49],
  "zai-glm-4.7": [2.25, 2.75],
});

/** xAI's models. */
export const xaiPrices: PriceTable = {
  ...tiered(200_000, {
    "grok-4.7": [
      [2, 6, 0.5],
      [4, 12, 1],
    ],
    "grok-4.6": [
      [2, 6, 0.5],
      [4, 12, 1],
    ],
    "grok-4.5": [
      [2, 6, 0.5],
      [4, 12, 1],
    ],
    "grok-4.3": [
      [1.25, 2.5, 0.2],
      [2.5, 5, 0.4],
    ],
  }),
  ...tiered(128_000, {
    "grok-4": [
      [3, 15, 0.75],
      [6, 30, 0.75],
    ],
    "grok-4-fast": [
      [0.2, 0.5, 0.05],
      [0.4, 1, 0.05],
    ],
    "grok-4-fast-reasoning": [
      [0.2, 0.5, 0.05],
      [0.4, 1, 0.05],
    ],
    "grok-4-fast-non-reasoning": [
      [0.2, 0.5, 0.05],
      [0.4, 1, 0.05],
    ],
  }),
  ...rows({
    "grok-code-fast-1": [0.2, 1.5, 0.02],
    "grok-3": [3, 15, 0.75],
    "grok-3-mini": [0.3, 0.5, 0.075],
  }),
};

/** Perplexity's models, without what it charges for searches. */
export const perplexityPrices: PriceTable = {
  ...rows({
    sonar: [1, 1],
    "sonar-pro": [3, 15],
    "sonar-reasoning-pro": [2, 8],
  }),
  "sonar-deep-research": { input: 2, output: 8, reasoning: 3 },
};

/** Cohere's models, which keep their dates like Mistral's. */
export const coherePrices: PriceTable = rows({
  "command-a-03-2025": [2.5, 10],
  "command-r-plus-08-2024": [2.5, 10],
  "command-r-plus-04-2024": [3, 15],
  "command-r-08-2024": [0.15, 0.6],
  "command-r-03-2024": [0.5, 1.5],
  "command-r7b-12-2024": [0.0375, 0.15],
  "embed-v4.0": [0.12, 0],
  "embed-english-v3.0": [0.1, 0],
  "embed-multilingual-v3.0": [0.1, 0],
});
