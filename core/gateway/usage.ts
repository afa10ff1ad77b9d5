/** Tokens that a request used, as far as the provider has said so. */
export interface Usage {
  /** All input tokens, cached and cache-writing ones included. */
  readonly tokensIn: number | null;
  /** All output tokens, reasoning ones included. */
  readonly tokensOut: number | null;
  /** Input tokens that came from the provider's cache. */
  readonly cachedIn: number;
  /** Input tokens that were written to the provider's cache. */
  readonly cacheWriteIn: number;
  /** Those of `cacheWriteIn` that the provider keeps for an hour, at a higher price. @default 0 */
  readonly cacheWriteHourIn?: number;
  /** Output tokens that were spent on reasoning. @default 0 */
  readonly reasoningOut?: number;
}

/** Nothing known. */
export const noUsage: Usage = { tokensIn: null, tokensOut: null, cachedIn: 0, cacheWriteIn: 0 };

type Json = Readonly<Record<string, unknown>>;

/**
 * Adds what one JSON answer or one event of a stream says about usage. Providers report cumulative
 * figures, so later ones replace earlier ones; only the structural places are read, so that an answer
 * whose text looks like usage is not counted.
 */
export function addUsage(usage: Usage, message: unknown): Usage {
  const root = asObject(message);
  if (root === null) return usage;
  const google = asObject(root["usageMetadata"]);
  if (google !== null) return gemini(usage, google);
  const found =
    asObject(root["usage"]) ??
    // Anthropic message_start; OpenAI response.completed; Workers AI; Groq; Cohere message-end.
    nested(root, "message") ??
    nested(root, "response") ??
    nested(root, "result") ??
    nested(root, "x_groq") ??
    nested(root, "delta");
  return found === null ? usage : tokens(usage, found);
}

function nested(root: Json, key: string): Json | null {
  return asObject(asObject(root[key])?.["usage"]);
}

function asObject(value: unknown): Json | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Json)
    : null;
}

/** Tokens that one figure can report: far more than any model takes, and sums of them stay exact everywhere. */
const MOST = 500_000_000;

/** A count of tokens; null when it is none, so that no provider can make a row or a cost that nothing can hold. */
function count(value: unknown): number | null {
  const isCount = typeof value === "number" && Number.isInteger(value);
  return isCount && value >= 0 && value <= MOST ? value : null;
}

function gemini(usage: Usage, found: Json): Usage {
  const candidates = count(found["candidatesTokenCount"]);
  const thoughts = count(found["thoughtsTokenCount"]);
  const out = candidates === null && thoughts === null ? null : (candidates ?? 0) + (thoughts ?? 0);
  const prompt = count(found["promptTokenCount"]);
  return {
    // What Google's own tools brought in is input as well, and counted beside it.
    tokensIn:
      prompt === null ? usage.tokensIn : prompt + (count(found["toolUsePromptTokenCount"]) ?? 0),
    tokensOut: out ?? usage.tokensOut,
    cachedIn: count(found["cachedContentTokenCount"]) ?? usage.cachedIn,
    cacheWriteIn: usage.cacheWriteIn,
    ...reasoned(thoughts, usage),
  };
}

function tokens(usage: Usage, found: Json): Usage {
  const cohere = asObject(found["tokens"]);
  if (cohere !== null) return tokens(usage, cohere);
  const input = count(found["prompt_tokens"]) ?? count(found["input_tokens"]);
  const { beside, ...cache } = cacheTokens(usage, found);
  const output = count(found["completion_tokens"]) ?? count(found["output_tokens"]);
  return {
    tokensIn: input === null ? usage.tokensIn : input + beside,
    tokensOut: output === null ? usage.tokensOut : output + thoughtsBeside(found),
    ...cache,
    ...reasoned(reasoningOf(found), usage),
  };
}

/** Anthropic counts cached tokens beside `input_tokens`, OpenAI within it. */
function cacheTokens(
  usage: Usage,
  found: Json,
): Pick<Usage, "cachedIn" | "cacheWriteIn" | "cacheWriteHourIn"> & { readonly beside: number } {
  const read = count(found["cache_read_input_tokens"]);
  const write = count(found["cache_creation_input_tokens"]);
  const within =
    asObject(found["prompt_tokens_details"]) ?? asObject(found["input_tokens_details"]);
  const kept = asObject(found["cache_creation"])?.["ephemeral_1h_input_tokens"];
  const hour = count(kept) ?? usage.cacheWriteHourIn ?? 0;
  return {
    beside: (read ?? 0) + (write ?? 0),
    cachedIn: read ?? count(within?.["cached_tokens"]) ?? usage.cachedIn,
    cacheWriteIn: write ?? count(within?.["cache_write_tokens"]) ?? usage.cacheWriteIn,
    ...(hour === 0 ? {} : { cacheWriteHourIn: hour }),
  };
}

function reasoningOf(found: Json): number | null {
  const details =
    asObject(found["completion_tokens_details"]) ?? asObject(found["output_tokens_details"]);
  // Anthropic has another word for them; Perplexity counts them beside the details that others have.
  const within = details?.["reasoning_tokens"] ?? details?.["thinking_tokens"];
  return count(within) ?? count(found["reasoning_tokens"]);
}

/**
 * Reasoning tokens that a provider's output does not include: xAI has them beside it, as the total tells, and
 * Perplexity's deep research in no sum at all.
 */
export function thoughtsBeside(found: Json): number {
  const thoughts = reasoningOf(found) ?? 0;
  if (thoughts === 0) return 0;
  if (count(found["citation_tokens"]) !== null) return thoughts;
  const input = count(found["prompt_tokens"]) ?? count(found["input_tokens"]) ?? 0;
  const output = count(found["completion_tokens"]) ?? count(found["output_tokens"]) ?? 0;
  return count(found["total_tokens"]) === input + output + thoughts ? thoughts : 0;
}

function reasoned(counted: number | null, usage: Usage): Pick<Usage, "reasoningOut"> {
  const known = counted ?? usage.reasoningOut ?? 0;
  return known === 0 ? {} : { reasoningOut: known };
}
