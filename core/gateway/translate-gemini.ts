import {
  cannot,
  type Chat,
  type ChatMessage,
  chatUsage,
  type ChatUsage,
  dataUrl,
  textContent,
  toolArguments,
} from "./chat-format.ts";
import { type Json, jsonCount, jsonObject, jsonObjects, jsonText } from "./json-access.ts";
import type {
  ChatDelta,
  ChatReply,
  ChatToolCall,
  ChatTranslator,
  StreamReader,
} from "./translate.ts";

/** OpenAI chat completions over Gemini's `generateContent`. */
export const geminiTranslator: ChatTranslator = {
  request(chat) {
    const system = chat.messages
      .filter(({ role }) => role === "system" || role === "developer")
      .map(({ content }) => textContent(content))
      .join("\n\n");
    const method = chat.stream === true ? "streamGenerateContent" : "generateContent";
    const model = encodeURIComponent(chat.model.replace(/^models\//, ""));
    const body = {
      contents: contents(chat.messages),
      ...(system === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      generationConfig: generationConfig(chat),
      ...tools(chat),
    };
    const query = chat.stream === true ? "?alt=sse" : "";
    return { rest: `v1beta/models/${model}:${method}`, query, body, headers: [] };
  },
  reply,
  stream,
  // A stream request that fails is answered with an array of one error.
  errorMessage: (body) => jsonObject((jsonObjects(body)[0] ?? body)["error"])["message"],
};

function generationConfig(chat: Chat): Json {
  const limit = chat.max_completion_tokens ?? chat.max_tokens;
  const format = chat.response_format;
  const isJson = format != null && format.type !== "text";
  return {
    ...(chat.temperature == null ? {} : { temperature: chat.temperature }),
    ...(chat.top_p == null ? {} : { topP: chat.top_p }),
    ...(limit == null ? {} : { maxOutputTokens: limit }),
    ...(chat.stop == null ? {} : { stopSequences: [chat.stop].flat() }),
    ...(chat.seed == null ? {} : { seed: chat.seed }),
    ...(isJson ? { responseMimeType: "application/json" } : {}),
    ...(format?.json_schema?.schema == null
      ? {}
      : { responseJsonSchema: format.json_schema.schema }),
  };
}

function tools(chat: Chat): Json {
  if (chat.tools == null || chat.tools.length === 0) return {};
  const functionDeclarations = chat.tools.map(
    ({ function: { name, description, parameters } }) => ({
      name,
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parametersJsonSchema: parameters }),
    }),
  );
  const choice = chat.tool_choice ?? "auto";
  const modes = { auto: "AUTO", none: "NONE", required: "ANY" } as const;
  const functionCallingConfig =
    typeof choice === "string"
      ? { mode: modes[choice] }
      : { mode: "ANY", allowedFunctionNames: [choice.function.name] };
  return { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig } };
}

function contents(messages: readonly ChatMessage[]): { role: string; parts: Json[] }[] {
  const out: { role: string; parts: Json[] }[] = [];
  // Gemini matches results to calls by the function's name.
  const names = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "system" || message.role === "developer") continue;
    const role = message.role === "assistant" ? "model" : "user";
    const parts = partsOf(message, names);
    if (parts.length === 0) continue;
    const last = out.at(-1);
    if (last?.role === role) last.parts.push(...parts);
    else out.push({ role, parts });
  }
  return out;
}

function partsOf(message: ChatMessage, names: Map<string, string>): Json[] {
  if (message.role === "tool") {
    const name = names.get(message.tool_call_id) ?? message.tool_call_id;
    return [{ functionResponse: { name, response: { result: textContent(message.content) } } }];
  }
  if (message.role === "assistant") {
    const text = textContent(message.content);
    const calls = (message.tool_calls ?? []).map((call) => {
      names.set(call.id, call.function.name);
      const signature = call.extra_content?.google?.thought_signature;
      return {
        functionCall: { name: call.function.name, args: toolArguments(call.function.arguments) },
        ...(signature == null ? {} : { thoughtSignature: signature }),
      };
    });
    return [...(text === "" ? [] : [{ text }]), ...calls];
  }
  const { content } = message;
  if (typeof content === "string") return content === "" ? [] : [{ text: content }];
  return (content ?? []).map((one) => {
    if (one.type === "text") return { text: one.text };
    if (one.type !== "image_url") throw cannot(one.type);
    const inline = dataUrl(one.image_url.url);
    if (inline === null) throw cannot("image_url other than a data: URL");
    return { inlineData: { mimeType: inline.mediaType, data: inline.data } };
  });
}

const finishReasons: Readonly<Record<string, string>> = { STOP: "stop", MAX_TOKENS: "length" };

/** One answer, or one event of a stream; both have the same shape. */
function reply(body: Json): ChatReply {
  const candidate = jsonObjects(body["candidates"])[0] ?? {};
  const parts = jsonObjects(jsonObject(candidate["content"])["parts"]);
  const id = jsonText(body["responseId"]);
  const toolCalls = parts
    .filter((part) => part["functionCall"] !== undefined)
    .map((part, index) => toolCall(part, `call_${id}_${index}`));
  const spoken = parts.filter((part) => part["thought"] !== true);
  return {
    id,
    model: jsonText(body["modelVersion"]),
    text: spoken.map((part) => jsonText(part["text"])).join(""),
    toolCalls,
    finishReason: reasonOf(body, candidate["finishReason"], toolCalls.length > 0),
    usage: usageOf(jsonObject(body["usageMetadata"])),
  };
}

/** A prompt that was blocked has no candidate, and so no reason of its own. */
function reasonOf(body: Json, reason: unknown, hasCalls: boolean): string | null {
  if (reason === undefined) {
    return jsonObject(body["promptFeedback"])["blockReason"] === undefined
      ? null
      : "content_filter";
  }
  if (reason === "STOP" && hasCalls) return "tool_calls";
  return finishReasons[jsonText(reason)] ?? "content_filter";
}

function toolCall(part: Json, fallbackId: string): ChatToolCall {
  const call = jsonObject(part["functionCall"]);
  const signature = part["thoughtSignature"];
  return {
    id: typeof call["id"] === "string" ? call["id"] : fallbackId,
    type: "function",
    function: { name: jsonText(call["name"]), arguments: JSON.stringify(call["args"] ?? {}) },
    // Must come back with the call, or newer models refuse the conversation.
    ...(typeof signature === "string"
      ? { extra_content: { google: { thought_signature: signature } } }
      : {}),
  };
}

function usageOf(usage: Json): ChatUsage {
  const thoughts = jsonCount(usage["thoughtsTokenCount"]);
  const out = jsonCount(usage["candidatesTokenCount"]) + thoughts;
  const cached = jsonCount(usage["cachedContentTokenCount"]);
  return chatUsage(jsonCount(usage["promptTokenCount"]), out, cached, thoughts);
}

function stream(): StreamReader {
  let started = false;
  let calls = 0;
  const read = (event: Json): ChatDelta => {
    if (event["error"] !== undefined) {
      return { error: jsonText(jsonObject(event["error"])["message"], "The provider failed") };
    }
    const { id, model, text, toolCalls, finishReason, usage } = reply(event);
    const first = started ? {} : { role: "assistant" as const, content: text };
    started = true;
    const numbered = toolCalls.map((call) => ({
      ...call,
      id: `${call.id}_${calls}`,
      index: calls++,
    }));
    // The finish may come in an event after the calls.
    const reason = finishReason === "stop" && calls > 0 ? "tool_calls" : finishReason;
    return {
      id,
      model,
      delta: {
        ...first,
        ...(text === "" ? {} : { content: text }),
        ...(numbered.length === 0 ? {} : { tool_calls: numbered }),
      },
      ...(reason === null ? {} : { finishReason: reason }),
      usage,
    };
  };
  return { read, endsByItself: true };
}
