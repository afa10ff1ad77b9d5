import { unmarkedTool } from "../chat/cache-mark.ts";
import {
  cannot,
  type Chat,
  type ChatMessage,
  dataUrl,
  effortOf,
  modelPath,
  textContent,
} from "../chat/chat-format.ts";
import { type Json, jsonObject, jsonObjects, jsonText } from "../../http/json.ts";
import { openaiCallDelta, openaiUsage } from "./openai/openai.ts";
import { singleCall, singleCallStream } from "../chat/single-call.ts";
import { stoppedReply, stoppedStream } from "../chat/stop.ts";
import type {
  ChatDelta,
  ChatReply,
  ChatToolCall,
  ChatTranslator,
  StreamReader,
  ToolCallDelta,
} from "../chat/reply.ts";
import { withTextResults } from "../chat/text-results.ts";

/**
 * OpenAI chat completions over Workers AI's own `run/{model}`: `{response, tool_calls, usage}`, in the API's envelope or
 * bare. Some of its models answer in OpenAI's shape there; that is read as well. Most models take no stop sequences, so the
 * answer is cut here.
 */
export const workersAiTranslator: ChatTranslator = {
  wantsInlineImages: true,
  request: (chat) => ({
    rest: `run/${modelPath(chat.model)}`,
    query: "",
    body: input(chat),
    headers: [],
  }),
  reply: (body, chat) => stoppedReply(singleCall(reply(body), chat), chat),
  stream: (chat) => stoppedStream(singleCallStream(stream(), chat), chat),
  errorMessage(body) {
    const [first] = jsonObjects(body["errors"] ?? body["error"]);
    return first?.["message"] ?? jsonObject(body["error"])["message"];
  },
};

/** Members that stand in the request as they came. */
const same = [
  "temperature",
  "top_p",
  "top_k",
  "seed",
  "presence_penalty",
  "frequency_penalty",
] as const;

function input(chat: Chat): Json {
  const effort = effortOf(chat);
  const limit = chat.max_completion_tokens ?? chat.max_tokens;
  const format = chat.response_format;
  const isJson = format != null && format.type !== "text";
  return {
    messages: messages(chat.messages),
    ...(chat.stream === true ? { stream: true } : {}),
    ...(limit == null ? {} : { max_tokens: limit }),
    ...Object.fromEntries(same.flatMap((key) => (chat[key] == null ? [] : [[key, chat[key]]]))),
    ...(effort === null ? {} : { reasoning_effort: effort }),
    // Its JSON mode takes the schema itself, without a name around it.
    ...(isJson
      ? { response_format: { type: format.type, json_schema: format.json_schema?.schema } }
      : {}),
    ...tools(chat),
  };
}

/** Lists the tools to offer. The only choice that forces a tool is `any`: for a named tool, only that one is offered. */
function tools(chat: Chat): Json {
  const { tool_choice: choice = "auto" } = chat;
  if (chat.tools == null || chat.tools.length === 0 || choice === "none") return {};
  const given = chat.tools.map(unmarkedTool);
  if (choice === null || choice === "auto") return { tools: given };
  if (choice === "required") return { tools: given, tool_choice: "any" };
  const { name } = choice.function;
  return { tools: given.filter((tool) => tool.function.name === name), tool_choice: "any" };
}

function messages(given: readonly ChatMessage[]): Json[] {
  // Older models match results to calls by the function's name.
  const names = new Map<string, string>();
  return withTextResults(given).map((message): Json => {
    if (message.role === "user") return { role: "user", content: userContent(message.content) };
    const content = textContent(message.content);
    if (message.role === "tool") {
      const { role, tool_call_id: id } = message;
      return { role, name: names.get(id) ?? id, tool_call_id: id, content };
    }
    if (message.role !== "assistant") return { role: "system", content };
    const calls = message.tool_calls ?? [];
    for (const call of calls) names.set(call.id, call.function.name);
    const made = calls.map(({ id, function: named }) => ({
      id,
      type: "function",
      function: { ...named, arguments: named.arguments || "{}" },
    }));
    return { role: "assistant", content, ...(made.length === 0 ? {} : { tool_calls: made }) };
  });
}

function userContent(content: ChatMessage["content"]): string | Json[] {
  if (typeof content === "string" || content == null) return content ?? "";
  if (content.every(({ type }) => type === "text")) return textContent(content);
  return content.map((part) => {
    if (part.type === "text") return { type: part.type, text: part.text };
    if (part.type !== "image_url") throw cannot(part.type);
    const { url } = part.image_url;
    if (dataUrl(url) === null) throw cannot("image_url other than a data: URL");
    return { type: part.type, image_url: { url } };
  });
}

function reply(body: Json): ChatReply {
  const answer = "result" in body ? jsonObject(body["result"]) : body;
  const [choice] = jsonObjects(answer["choices"]);
  const message = choice === undefined ? answer : jsonObject(choice["message"]);
  const toolCalls = jsonObjects(message["tool_calls"]).map(toolCall);
  const thought = thoughtOf(message);
  return {
    id: jsonText(answer["id"]),
    model: jsonText(answer["model"]),
    text: text(choice === undefined ? answer["response"] : message["content"]),
    reasoning: thought === "" ? [] : [{ text: thought }],
    toolCalls,
    finishReason: reasonOf(choice ?? answer, toolCalls.length > 0),
    usage: openaiUsage(jsonObject(answer["usage"])),
  };
}

/** In JSON mode the answer is a value, not its text. */
function text(response: unknown): string {
  if (response === undefined || response === null) return "";
  return typeof response === "string" ? response : JSON.stringify(response);
}

function thoughtOf(message: Json): string {
  return text(message["reasoning_content"] ?? message["reasoning"]);
}

/** Models name `stop` also for an answer that calls tools. */
function reasonOf(from: Json, hasCalls: boolean): string {
  const reason = jsonText(from["finish_reason"], "stop");
  return reason === "stop" && hasCalls ? "tool_calls" : reason;
}

function toolCall(call: Json, index: number): ChatToolCall {
  const named = "function" in call ? jsonObject(call["function"]) : call;
  const [name, args] = [jsonText(named["name"]), named["arguments"] ?? {}];
  const written = typeof args === "string" ? args : JSON.stringify(args);
  return {
    id: jsonText(call["id"], `call_${fingerprint(name + written)}_${index}`),
    type: "function",
    function: { name, arguments: written },
  };
}

/** Calls of the native shape have no id, yet those of two turns of a conversation must differ (FNV-1a). */
function fingerprint(value: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < value.length; i++) {
    hash = Math.imul(hash ^ value.charCodeAt(i), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}

/** Its streams name no reason for their end, and end with `[DONE]` only. */
function stream(): StreamReader {
  let started = false;
  let calls = 0;
  let reason: string | null = null;
  const read = (event: Json): ChatDelta => {
    const failure = event["error"] ?? jsonObjects(event["errors"])[0];
    if (failure != null) {
      return { error: jsonText(jsonObject(failure)["message"], "The provider failed") };
    }
    const [choice] = jsonObjects(event["choices"]);
    const from = choice === undefined ? event : jsonObject(choice["delta"]);
    const spoken = text(choice === undefined ? event["response"] : from["content"]);
    const toolCalls = jsonObjects(from["tool_calls"]).map((call) => {
      const piece = callDelta(call, calls);
      calls = Math.max(calls, piece.index + 1);
      return piece;
    });
    reason = jsonText((choice ?? event)["finish_reason"]) || reason;
    const thought = thoughtOf(from);
    const delta = {
      ...(started ? {} : { role: "assistant" as const, content: spoken }),
      ...(spoken === "" ? {} : { content: spoken }),
      ...(thought === "" ? {} : { thought }),
      ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    };
    started = true;
    return {
      id: jsonText(event["id"]),
      model: jsonText(event["model"]),
      ...(Object.keys(delta).length === 0 ? {} : { delta }),
      ...(event["usage"] == null ? {} : { usage: openaiUsage(jsonObject(event["usage"])) }),
    };
  };
  return {
    read,
    endsByItself: false,
    finish: () => ({
      delta: {},
      finishReason: reasonOf({ finish_reason: reason ?? undefined }, calls > 0),
      done: true,
    }),
  };
}

/** Returns a whole call, or a piece of one in OpenAI's form. */
function callDelta(call: Json, next: number): ToolCallDelta {
  return "function" in call
    ? openaiCallDelta(call, next)
    : { index: next, ...toolCall(call, next) };
}
