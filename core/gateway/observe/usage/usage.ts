import {
  type KindReport,
  sumOfKinds,
  type TokenKind,
  type TokensByKind,
  withReport,
  type Usage,
  noUsage,
} from "../../chat/usage.ts";

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
  return found === null ? tokensElsewhere(usage, root) : tokens(usage, found);
}

/** Cohere's first API and its embeddings tell in `meta`, Replicate in `metrics`. */
function tokensElsewhere(usage: Usage, root: Json): Usage {
  const meta = asObject(root["meta"]) ?? asObject(asObject(root["response"])?.["meta"]);
  const cohere = asObject(meta?.["tokens"]) ?? asObject(meta?.["billed_units"]);
  if (cohere !== null) return tokens(usage, cohere);
  const replicate = asObject(root["metrics"]);
  if (replicate === null) return usage;
  const { input_token_count: input, output_token_count: output } = replicate;
  return tokens(usage, { input_tokens: input, output_tokens: output });
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

/** What two requests used together. */
export function sumOfUsage(a: Usage, b: Usage): Usage {
  const hour = (a.cacheWriteHourIn ?? 0) + (b.cacheWriteHourIn ?? 0);
  const reasoning = (a.reasoningOut ?? 0) + (b.reasoningOut ?? 0);
  return {
    tokensIn: sum(a.tokensIn, b.tokensIn),
    tokensOut: sum(a.tokensOut, b.tokensOut),
    cachedIn: a.cachedIn + b.cachedIn,
    cacheWriteIn: a.cacheWriteIn + b.cacheWriteIn,
    ...(hour === 0 ? {} : { cacheWriteHourIn: hour }),
    ...(reasoning === 0 ? {} : { reasoningOut: reasoning }),
    ...ofKinds(sumOfKinds(a.kinds, b.kinds)),
    ...(a.unpriced === true || b.unpriced === true ? { unpriced: true } : {}),
  };
}

function sum(a: number | null, b: number | null): number | null {
  return a === null && b === null ? null : (a ?? 0) + (b ?? 0);
}

function ofKinds(kinds: TokensByKind | undefined): Pick<Usage, "kinds"> {
  return kinds === undefined ? {} : { kinds };
}

function gemini(usage: Usage, found: Json): Usage {
  // The Live API has another word for it.
  const candidates = count(found["candidatesTokenCount"]) ?? count(found["responseTokenCount"]);
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
    ...ofKinds(geminiKinds(usage, found)),
  };
}

function geminiKinds(usage: Usage, found: Json): TokensByKind | undefined {
  // Gemini reports with every event of a stream, and mostly text.
  const isText =
    usage.kinds === undefined &&
    isAllText(found["promptTokensDetails"]) &&
    isAllText(found["candidatesTokensDetails"] ?? found["responseTokensDetails"]) &&
    isAllText(found["toolUsePromptTokensDetails"]);
  return isText ? undefined : withReport(usage.kinds, (kind) => geminiKind(found, kind));
}

function isAllText(list: unknown): boolean {
  if (!Array.isArray(list)) return true;
  for (const one of list) if (asObject(one)?.["modality"] !== "TEXT") return false;
  return true;
}

function geminiKind(found: Json, kind: TokenKind): KindReport {
  const prompt = modalityTokens(found["promptTokensDetails"], kind);
  const tools = modalityTokens(found["toolUsePromptTokensDetails"], kind);
  return {
    in: sum(prompt, tools),
    cachedIn: modalityTokens(found["cacheTokensDetails"], kind),
    out: modalityTokens(found["candidatesTokensDetails"] ?? found["responseTokensDetails"], kind),
  };
}

/** Tokens of one kind in a list of Gemini's `{modality, tokenCount}`; null without a list. */
export function modalityTokens(list: unknown, kind: TokenKind): number | null {
  if (!Array.isArray(list)) return null;
  let total = 0;
  for (const given of list) {
    const one = asObject(given);
    if (one?.["modality"] === kind.toUpperCase()) total += count(one["tokenCount"]) ?? 0;
  }
  return total;
}

function tokens(usage: Usage, found: Json): Usage {
  const cohere = asObject(found["tokens"]);
  if (cohere !== null) return tokens(usage, cohere);
  const input = inputOf(found);
  const { beside, ...cache } = cacheTokens(usage, found);
  const output = outputOf(found);
  return {
    tokensIn: input === null ? usage.tokensIn : input + beside,
    tokensOut: output === null ? usage.tokensOut : output + thoughtsBeside(found),
    ...cache,
    ...reasoned(reasoningOf(found), usage),
    ...ofKinds(openaiKinds(usage, found)),
  };
}

/** Amazon Bedrock's Converse has names of its own. */
function inputOf(found: Json): number | null {
  return (
    count(found["prompt_tokens"]) ?? count(found["input_tokens"]) ?? count(found["inputTokens"])
  );
}

function outputOf(found: Json): number | null {
  return (
    count(found["completion_tokens"]) ??
    count(found["output_tokens"]) ??
    count(found["outputTokens"])
  );
}

function openaiKinds(usage: Usage, found: Json): TokensByKind | undefined {
  const [input, output] = [inputDetails(found), outputDetails(found)];
  if (!namesKinds(input) && !namesKinds(output) && usage.kinds === undefined) return undefined;
  const cached = asObject(input?.["cached_tokens_details"]);
  return withReport(usage.kinds, (kind) => ({
    in: count(input?.[`${kind}_tokens`]),
    cachedIn: count(cached?.[`${kind}_tokens`]),
    out: count(output?.[`${kind}_tokens`]),
  }));
}

/** Whether details name more tokens than those of text. */
function namesKinds(details: Json | null): boolean {
  if (details === null) return false;
  const { audio_tokens: audio, image_tokens: image, video_tokens: video } = details;
  return Boolean(audio) || Boolean(image) || Boolean(video);
}

/** Of OpenAI's chats, responses, and realtime sessions and transcriptions. */
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
  usage: Usage,
  found: Json,
): Pick<Usage, "cachedIn" | "cacheWriteIn" | "cacheWriteHourIn"> & { readonly beside: number } {
  const { read, write } = besideInput(found);
  const within = inputDetails(found);
  // Later reports of a stream may leave out what the first one said of the cache.
  const isBeside = within === null && count(found["input_tokens"]) !== null;
  const known = isBeside ? usage : noUsage;
  const kept = asObject(found["cache_creation"])?.["ephemeral_1h_input_tokens"];
  const hour = count(kept) ?? usage.cacheWriteHourIn ?? 0;
  return {
    beside: (read ?? known.cachedIn) + (write ?? known.cacheWriteIn),
    cachedIn: read ?? count(within?.["cached_tokens"]) ?? usage.cachedIn,
    cacheWriteIn: write ?? count(within?.["cache_write_tokens"]) ?? usage.cacheWriteIn,
    ...(hour === 0 ? {} : { cacheWriteHourIn: hour }),
  };
}

function besideInput(found: Json): { readonly read: number | null; readonly write: number | null } {
  return {
    read: count(found["cache_read_input_tokens"]) ?? count(found["cacheReadInputTokens"]),
    write: count(found["cache_creation_input_tokens"]) ?? count(found["cacheWriteInputTokens"]),
  };
}

function reasoningOf(found: Json): number | null {
  const details = outputDetails(found);
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
  const input = inputOf(found) ?? 0;
  const output = outputOf(found) ?? 0;
  return count(found["total_tokens"]) === input + output + thoughts ? thoughts : 0;
}

function reasoned(counted: number | null, usage: Usage): Pick<Usage, "reasoningOut"> {
  const known = counted ?? usage.reasoningOut ?? 0;
  return known === 0 ? {} : { reasoningOut: known };
}
