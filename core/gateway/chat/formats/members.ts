/** Members that say how a message is built, not what it says. */
export const structural: ReadonlySet<string> = new Set([
  "created",
  "event",
  "finish_reason",
  "finishReason",
  "id",
  "item_id",
  "model",
  "modelVersion",
  "object",
  "obfuscation",
  "responseId",
  "role",
  "service_tier",
  "signature",
  "status",
  "stop_reason",
  "system_fingerprint",
  "thoughtSignature",
  "tool_call_id",
  "tool_use_id",
  "type",
]);

/** Members with what people and models say, in the formats of OpenAI, Anthropic, Gemini and Workers AI. */
export const spoken: ReadonlySet<string> = new Set([
  "candidates",
  "choices",
  "content",
  "content_block",
  "contents",
  "delta",
  "documents",
  "input",
  "inputs",
  "instructions",
  "message",
  "messages",
  "output",
  "prompt",
  "query",
  "response",
  "result",
  "summary",
  "system",
  "systemInstruction",
  "system_instruction",
  "text",
]);

/** Members that distinguish the pieces of several texts in one stream. */
export const discriminators: readonly string[] = [
  "index",
  "output_index",
  "content_index",
  "item_id",
];

/** Members without a word in them: seals of thoughts, and padding. */
export const opaque: ReadonlySet<string> = new Set([
  "obfuscation",
  "signature",
  "thoughtSignature",
]);

/** Members with what a tool is called with: every name below is the caller's own. */
export const free: ReadonlySet<string> = new Set(["args", "arguments"]);

/** Members of answers whose texts are what a model says, or calls a tool with, in the formats of all providers. */
export const answered: readonly string[] = [
  "content",
  "text",
  "delta",
  "arguments",
  "partial_json",
  "thinking",
  "reasoning",
  "reasoning_content",
];
