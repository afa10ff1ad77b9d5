import {
  type TokensByKind,
  withReport,
  type TokenUsage,
  noUsage,
  tokenCount,
  ofKinds,
  reasoned,
} from "../../chat/usage.ts";
import { asObject, type Json } from "../../../http/json.ts";
import type { UsageReader } from "../../chat/usage-reader.ts";

/**
 * Reads `usage` in the formats of OpenAI, Anthropic and Amazon, at the places where events and envelopes have it:
 * Anthropic's message_start, OpenAI's response.completed, Workers AI, Groq, Cohere's message-end.
 */
export const openAiUsage: UsageReader = (usage, message) => {
  const found =
    asObject(message["usage"]) ??
    nested(message, "message") ??
    nested(message, "response") ??
    nested(message, "result") ??
    nested(message, "x_groq") ??
    nested(message, "delta");
  return found === null ? null : tokens(usage, found);
};

function nested(root: Json, key: string): Json | null {
  return asObject(asObject(root[key])?.["usage"]);
}

/** One report, in the words of OpenAI, Anthropic or Amazon. */
export function tokens(usage: TokenUsage, found: Json): TokenUsage {
  const cohere = asObject(found["tokens"]);
  if (cohere !== null) return tokens(usage, cohere);
  const input = inputOf(found);
  const within = inputDetails(found);
  const details = outputDetails(found);
  const { beside, ...cache } = cacheTokens(usage, found, within);
  const output = outputOf(found);
  const thoughts = reasoningOf(found, details);
  return {
    tokensIn: input === null ? usage.tokensIn : input + beside,
    tokensOut: output === null ? usage.tokensOut : output + apart(found, thoughts ?? 0),
    ...cache,
    ...reasoned(thoughts, usage),
    ...ofKinds(openaiKinds(usage, within, details)),
  };
}

/** Amazon Bedrock's Converse has names of its own. */
function inputOf(found: Json): number | null {
  return (
    tokenCount(found["prompt_tokens"]) ??
    tokenCount(found["input_tokens"]) ??
    tokenCount(found["inputTokens"])
  );
}

function outputOf(found: Json): number | null {
  return (
    tokenCount(found["completion_tokens"]) ??
    tokenCount(found["output_tokens"]) ??
    tokenCount(found["outputTokens"])
  );
}

function openaiKinds(
  usage: TokenUsage,
  input: Json | null,
  output: Json | null,
): TokensByKind | undefined {
  if (!namesKinds(input) && !namesKinds(output) && usage.kinds === undefined) return undefined;
  const cached = asObject(input?.["cached_tokens_details"]);
  return withReport(usage.kinds, (kind) => ({
    in: tokenCount(input?.[`${kind}_tokens`]),
    cachedIn: tokenCount(cached?.[`${kind}_tokens`]),
    out: tokenCount(output?.[`${kind}_tokens`]),
  }));
}

/** Whether details name more tokens than those of text. */
function namesKinds(details: Json | null): boolean {
  if (details === null) return false;
  const { audio_tokens: audio, image_tokens: image, video_tokens: video } = details;
  return Boolean(audio) || Boolean(image) || Boolean(video);
}

/** Finds the details of input in OpenAI's chats, responses, and realtime sessions and transcriptions. */
function inputDetails(found: Json): Json | null {
  return (
    asObject(found["prompt_tokens_details"]) ??
    asObject(found["input_tokens_details"]) ??
    asObject(found["input_token_details"])
  );
}

function outputDetails(found: Json): Json | null {
  return (
    asObject(found["completion_tokens_details"]) ??
    asObject(found["output_tokens_details"]) ??
    asObject(found["output_token_details"])
  );
}

/** Anthropic and Amazon count cached tokens beside those of the input, OpenAI within. */
function cacheTokens(
  usage: TokenUsage,
  found: Json,
  within: Json | null,
): Pick<TokenUsage, "cachedIn" | "cacheWriteIn" | "cacheWriteHourIn"> & {
  readonly beside: number;
} {
  const { read, write } = besideInput(found);
  // Later reports of a stream may leave out what the first one said of the cache.
  const isBeside = within === null && tokenCount(found["input_tokens"]) !== null;
  const known = isBeside ? usage : noUsage;
  const kept = asObject(found["cache_creation"])?.["ephemeral_1h_input_tokens"];
  const hour = tokenCount(kept) ?? usage.cacheWriteHourIn ?? 0;
  return {
    beside: (read ?? known.cachedIn) + (write ?? known.cacheWriteIn),
    cachedIn: read ?? cachedWithin(found, within) ?? usage.cachedIn,
    cacheWriteIn: write ?? tokenCount(within?.["cache_write_tokens"]) ?? usage.cacheWriteIn,
    ...(hour === 0 ? {} : { cacheWriteHourIn: hour }),
  };
}

/** DeepSeek also counts them beside the details. */
function cachedWithin(found: Json, within: Json | null): number | null {
  return tokenCount(within?.["cached_tokens"]) ?? tokenCount(found["prompt_cache_hit_tokens"]);
}

function besideInput(found: Json): { readonly read: number | null; readonly write: number | null } {
  return {
    read: tokenCount(found["cache_read_input_tokens"]) ?? tokenCount(found["cacheReadInputTokens"]),
    write:
      tokenCount(found["cache_creation_input_tokens"]) ??
      tokenCount(found["cacheWriteInputTokens"]),
  };
}

function reasoningOf(found: Json, details: Json | null): number | null {
  // Anthropic has another word for them; Perplexity counts them beside the details that others have.
  const within = details?.["reasoning_tokens"] ?? details?.["thinking_tokens"];
  return tokenCount(within) ?? tokenCount(found["reasoning_tokens"]);
}

/** Reasoning tokens beside a provider's output: xAI's are in its total, Perplexity's of deep research in no sum at all. */
function apart(found: Json, thoughts: number): number {
  if (thoughts === 0) return 0;
  if (tokenCount(found["citation_tokens"]) !== null) return thoughts;
  const input = inputOf(found) ?? 0;
  const output = outputOf(found) ?? 0;
  return tokenCount(found["total_tokens"]) === input + output + thoughts ? thoughts : 0;
}
