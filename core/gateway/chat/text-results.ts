import { appendAll } from "../../text/append-all.ts";
import type { ChatMessage, ChatPart, ToolMessage } from "./chat-format.ts";

/** The text of a result whose images follow. */
const BELOW = "The result follows in the next message.";

/**
 * Returns the messages with results of tools as texts, for formats that allow nothing else: their images and files follow
 * as a user's message behind all results of a round.
 */
export function withTextResults(messages: readonly ChatMessage[]): ChatMessage[] {
  const out: ChatMessage[] = [];
  let beside: ChatPart[] = [];
  const tell = (): void => {
    if (beside.length > 0) out.push({ role: "user", content: beside });
    beside = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") tell();
    const parts = message.role === "tool" ? attached(message) : [];
    appendAll(beside, parts);
    out.push(parts.length === 0 ? message : withoutAttached(message));
  }
  tell();
  return out;
}

const isText = ({ type }: ChatPart): boolean => type === "text" || type === "refusal";

function attached({ content, tool_call_id: id }: ToolMessage): ChatPart[] {
  const parts = Array.isArray(content) ? content.filter((part) => !isText(part)) : [];
  return parts.length === 0 ? [] : [{ type: "text", text: `Result of ${id}:` }, ...parts];
}

function withoutAttached(message: ChatMessage): ChatMessage {
  const texts = Array.isArray(message.content) ? message.content.filter(isText) : [];
  const content: ChatPart[] = texts.length === 0 ? [{ type: "text", text: BELOW }] : texts;
  return { ...message, content };
}
