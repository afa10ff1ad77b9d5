/** What a model costs, in USD per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  /** Input from the provider's cache. @default input */
  readonly cached?: number;
  /** Input written to the provider's cache. @default input */
  readonly cacheWrite?: number;
  /** Output spent on reasoning. @default output */
  readonly reasoning?: number;
  /** Prices of a request whose input is longer than `tokens`. @default the same */
  readonly long?: Omit<Price, "long"> & { readonly tokens: number };
}

/** The day up to which published price lists went into {@link prices}. They are estimates, not bills. */
export const PRICES_DATE: string = "2026-06-01";

/** `input`, `output`, then `cached` and `cacheWrite` where the provider has them. */
type Row = readonly [input: number, output: number, cached?: number, cacheWrite?: number];

function price([input, output, cached, cacheWrite]: Row): Price {
  return {
    input,
    output,
    ...(cached === undefined ? {} : { cached }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
  };
}

function rows(table: Readonly<Record<string, Row>>): Record<string, Price> {
  return Object.fromEntries(Object.entries(table).map(([model, row]) => [model, price(row)]));
}

/** Adds the prices of long requests. */
function above(tokens: number, short: Row, long: Row): Price {
  return { ...price(short), long: { ...price(long), tokens } };
}

const LONG = 200_000;

/**
 * Published list prices (standard tier) by the family of models, then by the model's name without its date.
 * Families, not path segments: several providers sell the same model (see `price-of.ts`).
 */
export const prices: Readonly<Record<string, Readonly<Record<string, Price>>>> = {
  openai: rows({
    "gpt-5.5": [5, 30, 0.5],
    "gpt-5.4": [2.5, 15, 0.25],
    "gpt-5.4-mini": [0.75, 4.5, 0.075],
    "gpt-5.4-nano": [0.2, 1.25, 0.02],
    "gpt-5.2": [1.75, 14, 0.175],
    "gpt-5.2-chat": [1.75, 14, 0.175],
    "gpt-5.2-pro": [21, 168],
    "gpt-5.1": [1.25, 10, 0.125],
    "gpt-5.1-chat": [1.25, 10, 0.125],
    "gpt-5.1-codex": [1.25, 10, 0.125],
    "gpt-5.1-codex-mini": [0.25, 2, 0.025],
    "gpt-5": [1.25, 10, 0.125],
    "gpt-5-chat": [1.25, 10, 0.125],
    "gpt-5-codex": [1.25, 10, 0.125],
    "gpt-5-mini": [0.25, 2, 0.025],
    "gpt-5-nano": [0.05, 0.4, 0.005],
    "gpt-5-pro": [15, 120],
    "gpt-4.1": [2, 8, 0.5],
    "gpt-4.1-mini": [0.4, 1.6, 0.1],
    "gpt-4.1-nano": [0.1, 0.4, 0.025],
    "gpt-4o": [2.5, 10, 1.25],
    "gpt-4o-mini": [0.15, 0.6, 0.075],
    "chatgpt-4o": [5, 15],
    "gpt-4o-2024-05-13": [5, 15],
    "gpt-4-turbo": [10, 30],
    "gpt-4-1106-preview": [10, 30],
    "gpt-4-0125-preview": [10, 30],
    "gpt-4": [30, 60],
    "gpt-3.5-turbo": [0.5, 1.5],
    o1: [15, 60, 7.5],
    "o1-mini": [1.1, 4.4, 0.55],
    "o1-pro": [150, 600],
    o3: [2, 8, 0.5],
    "o3-mini": [1.1, 4.4, 0.55],
    "o3-pro": [20, 80],
    "o4-mini": [1.1, 4.4, 0.275],
    "text-embedding-3-small": [0.02, 0],
    "text-embedding-3-large": [0.13, 0],
    "text-embedding-ada-002": [0.1, 0],
  }),
  // Cache writes at the five-minute tariff: 1.25 times the input price.
  anthropic: {
    ...rows({
      "claude-opus-4-8": [5, 25, 0.5, 6.25],
      "claude-opus-4-7": [5, 25, 0.5, 6.25],
      "claude-opus-4-6": [5, 25, 0.5, 6.25],
      "claude-opus-4-5": [5, 25, 0.5, 6.25],
      "claude-opus-4-1": [15, 75, 1.5, 18.75],
      "claude-opus-4": [15, 75, 1.5, 18.75],
      "claude-opus-4-0": [15, 75, 1.5, 18.75],
      "claude-haiku-4-5": [1, 5, 0.1, 1.25],
      "claude-3-7-sonnet": [3, 15, 0.3, 3.75],
      "claude-3-5-sonnet": [3, 15, 0.3, 3.75],
      "claude-3-5-haiku": [0.8, 4, 0.08, 1],
      "claude-3-opus": [15, 75, 1.5, 18.75],
      "claude-3-haiku": [0.25, 1.25, 0.03, 0.3],
    }),
    "claude-sonnet-4-6": price([3, 15, 0.3, 3.75]),
    "claude-sonnet-4-5": above(LONG, [3, 15, 0.3, 3.75], [6, 22.5, 0.6, 7.5]),
    "claude-sonnet-4": above(LONG, [3, 15, 0.3, 3.75], [6, 22.5, 0.6, 7.5]),
    "claude-sonnet-4-0": above(LONG, [3, 15, 0.3, 3.75], [6, 22.5, 0.6, 7.5]),
  },
  google: {
    ...rows({
      "gemini-3-flash": [0.5, 3, 0.05],
      "gemini-2.5-flash": [0.3, 2.5, 0.03],
      "gemini-2.5-flash-lite": [0.1, 0.4, 0.01],
      "gemini-2.0-flash": [0.1, 0.4, 0.025],
      "gemini-2.0-flash-lite": [0.075, 0.3],
      "gemini-embedding": [0.15, 0],
    }),
    "gemini-3.1-pro": above(LONG, [2, 12, 0.2], [4, 18, 0.4]),
    "gemini-3-pro": above(LONG, [2, 12, 0.2], [4, 18, 0.4]),
    "gemini-2.5-pro": above(LONG, [1.25, 10, 0.125], [2.5, 15, 0.25]),
    "gemini-1.5-pro": above(128_000, [1.25, 5, 0.3125], [2.5, 10, 0.625]),
    "gemini-1.5-flash": above(128_000, [0.075, 0.3, 0.01875], [0.15, 0.6, 0.0375]),
  },
  mistral: rows({
    "mistral-large": [0.5, 1.5],
    "mistral-medium": [0.4, 2],
    "mistral-small": [0.1, 0.3],
    "magistral-medium": [2, 5],
    "magistral-small": [0.5, 1.5],
    "devstral-medium": [0.4, 2],
    "devstral-small": [0.1, 0.3],
    codestral: [0.3, 0.9],
    "ministral-8b": [0.1, 0.1],
    "ministral-3b": [0.04, 0.04],
    "pixtral-large": [2, 6],
    "open-mistral-nemo": [0.15, 0.15],
    "mistral-embed": [0.1, 0],
    "codestral-embed": [0.15, 0],
  }),
  groq: rows({
    "llama-3.3-70b-versatile": [0.59, 0.79],
    "llama-3.1-8b-instant": [0.05, 0.08],
    "meta-llama/llama-4-scout-17b-16e-instruct": [0.11, 0.34],
    "meta-llama/llama-4-maverick-17b-128e-instruct": [0.2, 0.6],
    "openai/gpt-oss-120b": [0.15, 0.6, 0.075],
    "openai/gpt-oss-20b": [0.075, 0.3, 0.0375],
    "moonshotai/kimi-k2-instruct": [1, 3, 0.5],
    "qwen/qwen3-32b": [0.29, 0.59],
  }),
  deepseek: rows({
    "deepseek-chat": [0.28, 0.42, 0.028],
    "deepseek-reasoner": [0.28, 0.42, 0.028],
  }),
  xai: {
    ...rows({
      "grok-4-fast": [0.2, 0.5, 0.05],
      "grok-4-fast-reasoning": [0.2, 0.5, 0.05],
      "grok-4-fast-non-reasoning": [0.2, 0.5, 0.05],
      "grok-4-1-fast": [0.2, 0.5, 0.05],
      "grok-4-1-fast-reasoning": [0.2, 0.5, 0.05],
      "grok-4-1-fast-non-reasoning": [0.2, 0.5, 0.05],
      "grok-code-fast-1": [0.2, 1.5, 0.02],
      "grok-3": [3, 15, 0.75],
      "grok-3-mini": [0.3, 0.5, 0.075],
    }),
    "grok-4": above(128_000, [3, 15, 0.75], [6, 30, 0.75]),
  },
  perplexity: {
    ...rows({
      sonar: [1, 1],
      "sonar-pro": [3, 15],
      "sonar-reasoning": [1, 5],
      "sonar-reasoning-pro": [2, 8],
    }),
    "sonar-deep-research": { input: 2, output: 8, reasoning: 3 },
  },
  cohere: rows({
    "command-a": [2.5, 10],
    "command-r-plus": [2.5, 10],
    "command-r": [0.15, 0.6],
    "command-r7b": [0.0375, 0.15],
    "embed-v4.0": [0.12, 0],
    "embed-english-v3.0": [0.1, 0],
    "embed-multilingual-v3.0": [0.1, 0],
  }),
  cerebras: rows({
    "llama3.1-8b": [0.1, 0.1],
    "llama-3.3-70b": [0.85, 1.2],
    "gpt-oss-120b": [0.35, 0.75],
    "qwen-3-32b": [0.4, 0.8],
  }),
};
