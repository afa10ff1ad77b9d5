import { type Json, jsonText } from "../../http/json.ts";
import type { ChatPart, ChatTool, Markable } from "./chat-format.ts";

/**
 * Returns Anthropic's mark up to which a prompt is to be cached, `{"cache_control": {"type": "ephemeral", "ttl"?}}`, as
 * clients of OpenAI's formats send it (LiteLLM, OpenRouter): on parts, messages, calls, tools, or the whole request. The
 * first one counts, unchanged; anything else is ignored. It is a hint, and not sent to other providers.
 */
export function cacheMark(...given: readonly Markable[]): Markable {
  for (const { cache_control: mark } of given) {
    if (typeof mark === "object" && mark !== null && "type" in mark) return { cache_control: mark };
  }
  return {};
}

export function isMarked(part: Markable): boolean {
  return cacheMark(part).cache_control !== undefined;
}

/** Returns the last mark of several parts that become one block. */
export function lastMark(parts: readonly Markable[]): Markable {
  return cacheMark(...parts.toReversed());
}

/** Puts the message's mark on the last of its blocks; thoughts cannot carry one. */
export function markedBlocks(blocks: Json[], message: Markable): Json[] {
  const at = blocks.findLastIndex(({ type }) => !jsonText(type).endsWith("thinking"));
  const last = blocks[at];
  if (last === undefined || !isMarked(message)) return blocks;
  return blocks.with(at, { ...last, ...cacheMark(last, message) });
}

/** Returns a part without its mark, for providers that may refuse what they do not know. */
export function unmarkedPart(part: ChatPart): ChatPart {
  const { cache_control: _, ...rest } = part;
  return rest;
}

/** Returns a tool without its mark, likewise. */
export function unmarkedTool(tool: ChatTool): ChatTool {
  const { cache_control: _, ...rest } = tool;
  const { cache_control: __, ...named } = tool.function;
  return { ...rest, function: named };
}
