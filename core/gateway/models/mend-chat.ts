import { appendAll } from "../../text/append-all.ts";
import {
  type Chat,
  type ChatMessage,
  type ChatTool,
  contentParts,
  textContent,
} from "../chat/chat-format.ts";

/**
 * Returns a chat without what providers refuse for ever, whatever the client asks next: results of tools that stand apart
 * from their calls, a system message that comes again, a last answer without words, schemas without a type.
 */
export function mendChat(chat: Chat): Chat {
  const messages = withoutEmptyEnd(withResultsFirst(withoutRepeats(chat.messages)));
  return {
    ...chat,
    messages,
    ...(chat.tools == null ? {} : { tools: chat.tools.map(withTypedSchema) }),
  };
}

const isSystem = ({ role }: ChatMessage): boolean => role === "system" || role === "developer";

/** Some clients send their instructions both apart and as a message, or again in each round. */
function withoutRepeats(messages: readonly ChatMessage[]): ChatMessage[] {
  const known = new Set<string>();
  return messages.filter((message) => {
    if (!isSystem(message)) return true;
    const text = textContent(message.content);
    const isNew = !known.has(text);
    known.add(text);
    return isNew;
  });
}

/**
 * Puts the results of a round of calls together, behind the calls: OpenAI and Anthropic refuse what stands between.
 * https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use
 */
function withResultsFirst(messages: readonly ChatMessage[]): ChatMessage[] {
  const out: ChatMessage[] = [];
  let beside: ChatMessage[] = [];
  for (const message of messages) {
    if (message.role === "tool") out.push(message);
    else if (message.role === "assistant") {
      appendAll(out, beside);
      out.push(message);
      beside = [];
    } else beside.push(message);
  }
  return [...out, ...beside];
}

/** An answer that begins without a word is none: models that refuse a begun answer would refuse it, too. */
function withoutEmptyEnd(messages: ChatMessage[]): ChatMessage[] {
  const last = messages.at(-1);
  return last?.role === "assistant" && isEmpty(last) ? messages.slice(0, -1) : messages;
}

/** Whether a message says nothing but blanks, which Anthropic refuses. */
export function isEmpty(message: ChatMessage): boolean {
  if (message.role === "tool" || contentParts(message.content).length > 0) return false;
  if (message.role !== "assistant") return true;
  return (message.tool_calls ?? []).length === 0 && (message.reasoning ?? []).length === 0;
}

/** OpenAI and Anthropic take schemas of type `object` alone, and OpenAI wants properties in them. */
function withTypedSchema(tool: ChatTool): ChatTool {
  const { parameters } = tool.function;
  if (parameters == null || parameters["type"] !== undefined) return tool;
  const typed = { type: "object", properties: {}, ...parameters };
  return { ...tool, function: { ...tool.function, parameters: typed } };
}

/** Stands for a user where a conversation begins with the model's own words. */
const BEGIN = "Begin.";

/**
 * Returns the messages with a user's turn in front of the model's first, which Anthropic and Gemini demand. Of instructions
 * alone the last ones are the user's.
 */
export function withUserTurn(messages: readonly ChatMessage[]): ChatMessage[] {
  const said = messages.filter((message) => !isEmpty(message));
  const first = said.findIndex((message) => !isSystem(message));
  const last = said.at(-1);
  if (first === -1)
    return last === undefined ? [] : [...said.slice(0, -1), { ...last, role: "user" } as const];
  if (said[first]?.role !== "assistant") return said;
  return said.toSpliced(first, 0, { role: "user", content: BEGIN });
}
