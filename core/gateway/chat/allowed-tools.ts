import { cannot, type Chat, type ChatTool } from "./chat-format.ts";

/**
 * Returns the tools that OpenAI's choice of some tools allows: the others are not offered, since other formats can allow
 * all tools or one. Throws `chat_format` for the name of an unknown tool.
 */
export function allowedTools(
  tools: readonly ChatTool[],
  names: readonly string[],
  mode: "auto" | "required",
): Pick<Chat, "tools" | "tool_choice"> {
  const unknown = names.find((name) => tools.every((tool) => tool.function.name !== name));
  if (unknown !== undefined) throw cannot(`tool_choice ${unknown}`);
  const wanted = new Set(names);
  return { tools: tools.filter((tool) => wanted.has(tool.function.name)), tool_choice: mode };
}
