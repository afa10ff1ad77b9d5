import {
  type KindReport,
  type TokenKind,
  type TokensByKind,
  withReport,
  type TokenUsage,
  tokenCount,
  sum,
  ofKinds,
  reasoned,
} from "../../chat/usage.ts";
import { asObject, type Json } from "../../../http/json.ts";
import type { UsageReader } from "../../chat/usage-reader.ts";

/** Reads Gemini's `usageMetadata`, of Google's own endpoints and the Live API. */
export const googleUsage: UsageReader = (usage, message) => {
  const found = asObject(message["usageMetadata"]);
  return found === null ? null : gemini(usage, found);
};

function gemini(usage: TokenUsage, found: Json): TokenUsage {
  // The Live API has another word for it.
  const candidates =
    tokenCount(found["candidatesTokenCount"]) ?? tokenCount(found["responseTokenCount"]);
  const thoughts = tokenCount(found["thoughtsTokenCount"]);
  const out = candidates === null && thoughts === null ? null : (candidates ?? 0) + (thoughts ?? 0);
  const prompt = tokenCount(found["promptTokenCount"]);
  return {
    // Input from Google's own tools is counted beside the prompt.
    tokensIn:
      prompt === null
        ? usage.tokensIn
        : prompt + (tokenCount(found["toolUsePromptTokenCount"]) ?? 0),
    tokensOut: out ?? usage.tokensOut,
    cachedIn: tokenCount(found["cachedContentTokenCount"]) ?? usage.cachedIn,
    cacheWriteIn: usage.cacheWriteIn,
    ...reasoned(thoughts, usage),
    ...ofKinds(geminiKinds(usage, found)),
  };
}

function geminiKinds(usage: TokenUsage, found: Json): TokensByKind | undefined {
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

/** Returns the tokens of one kind in a list of Gemini's `{modality, tokenCount}`; null without a list. */
function modalityTokens(list: unknown, kind: TokenKind): number | null {
  if (!Array.isArray(list)) return null;
  let total = 0;
  for (const given of list) {
    const one = asObject(given);
    if (one?.["modality"] === kind.toUpperCase()) total += tokenCount(one["tokenCount"]) ?? 0;
  }
  return total;
}
