import { quickSha256Hex } from "../../crypto/digest.ts";
import type { System } from "../../ports.ts";
import type { ChatFormat } from "./chat-body.ts";
import { type Json, jsonObjects } from "../wire/json-access.ts";
import { conversationOf } from "./needs.ts";

/**
 * Which turn of its conversation a request belongs to: a turn is a user's message and everything up to the next one,
 * such as tool calls with their results. Null when the request holds no user's message, so that it goes on with a turn.
 */
export async function turnOf(
  body: Json,
  format: ChatFormat,
  system: Pick<System, "sha256Hex">,
): Promise<string | null> {
  const conversation = conversationOf(body, format);
  const said = typeof conversation === "string" ? [conversation] : userMessages(conversation);
  if (said.length === 0) return null;
  // The number alone would stand still where a client sends only the newest messages.
  return `${said.length}/${await quickSha256Hex(JSON.stringify(said.at(-1) ?? null), system)}`;
}

/** What users said; in Anthropic's format the results of tools are sent under their name. */
function userMessages(conversation: unknown): unknown[] {
  return jsonObjects(conversation)
    .filter(({ role, content }) => role === "user" && !isToolResult(content))
    .map(({ content }) => content);
}

function isToolResult(content: unknown): boolean {
  return jsonObjects(content).some(({ type }) => type === "tool_result");
}
