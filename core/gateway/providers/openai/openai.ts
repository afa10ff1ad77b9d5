import { unmarkedPart, unmarkedTool } from "../../chat/cache-mark.ts";
import {
  cannot,
  type Chat,
  type ChatMessage,
  type ChatPart,
  type ChatResponseFormat,
  chatUsage,
  effortOf,
  systemText,
  textContent,
} from "../../chat/chat-format.ts";
import { type Json, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";
import { noUsage } from "../../chat/usage.ts";
import { toldError } from "../../chat/failures/told-failure.ts";
import { openAiUsage } from "./openai-usage.ts";
import type {
  ChatDelta,
  ChatReply,
  ChatTranslator,
  StreamReader,
  ToolCallDelta,
} from "../../chat/reply.ts";
import { withTextResults } from "../../chat/text-results.ts";

/** The differences of a provider of OpenAI's chat format from OpenAI. */
export interface OpenAiDialect {
  readonly path: string;
  /** The member that limits the answer. */
  readonly limit: "max_tokens" | "max_completion_tokens";
  /** Whether the usage of a stream has to be asked for; others send it, and refuse the question. */
  readonly asksUsage: boolean;
  /** Whether system messages may stand anywhere; elsewhere they are one, at the beginning. */
  readonly systemAnywhere: boolean;
  /** Whether a model's thoughts have to come back with its tool calls. */
  readonly wantsThoughts: boolean;
}

/** How most providers of OpenAI's chat format take chats. */
const usual: Omit<OpenAiDialect, "path"> = {
  limit: "max_tokens",
  asksUsage: true,
  systemAnywhere: false,
  wantsThoughts: false,
};

/** Makes the translator for chats that came in another format than OpenAI's, over a provider that speaks OpenAI's. */
export function openaiTranslator(
  given: Partial<OpenAiDialect> & Pick<OpenAiDialect, "path">,
): ChatTranslator {
  const dialect: OpenAiDialect = { ...usual, ...given };
  return {
    request: (chat) => ({
      rest: dialect.path,
      query: "",
      body: requestBody(chat, dialect),
      headers: [],
    }),
    reply,
    stream,
    errorOf,
  };
}

function errorOf(body: Json): unknown {
  const { choices, message } = body;
  return toldError(body) ?? (choices === undefined && message !== undefined ? body : null);
}

/** Members that stand in the request as they came. */
const same = [
  "model",
  "temperature",
  "top_p",
  "top_k",
  "presence_penalty",
  "frequency_penalty",
  "stop",
  "seed",
] as const;

function requestBody(chat: Chat, dialect: OpenAiDialect): Json {
  const limit = chat.max_completion_tokens ?? chat.max_tokens;
  const effort = effortOf(chat);
  const messages = dialect.systemAnywhere ? chat.messages : withOneSystem(chat.messages);
  const kept = same.flatMap((key) => (chat[key] == null ? [] : [[key, chat[key]] as const]));
  const usage = dialect.asksUsage ? { stream_options: { include_usage: true } } : {};
  return {
    ...Object.fromEntries(kept),
    messages: withTextResults(messages).map((one) => messageOf(one, dialect)),
    ...(limit == null ? {} : { [dialect.limit]: limit }),
    ...(chat.stream === true ? { stream: true, ...usage } : {}),
    ...(effort === null ? {} : { reasoning_effort: effort }),
    ...(chat.response_format == null ? {} : { response_format: formatOf(chat.response_format) }),
    ...tools(chat),
  };
}

/**
 * Joins the system messages into one in front of all others. Claude Code sends one behind the user's first words, which
 * the templates of many open models refuse (https://github.com/ollama/ollama/issues/17774), as they do several.
 */
function withOneSystem(messages: readonly ChatMessage[]): ChatMessage[] {
  const content = systemText(messages);
  const others = messages.filter(({ role }) => role !== "system" && role !== "developer");
  return content === "" ? others : [{ role: "system", content }, ...others];
}

/** OpenAI requires a name of a schema. */
function formatOf({ type, json_schema: given }: ChatResponseFormat): Json {
  return given == null
    ? { type }
    : { type, json_schema: { ...given, name: given.name ?? "answer" } };
}

function tools({ tools: given, tool_choice: choice, parallel_tool_calls: parallel }: Chat): Json {
  if (given == null || given.length === 0) return {};
  return {
    tools: given.map(unmarkedTool),
    ...(choice == null ? {} : { tool_choice: choice }),
    ...(parallel == null ? {} : { parallel_tool_calls: parallel }),
  };
}

function messageOf(message: ChatMessage, dialect: OpenAiDialect): Json {
  const { role, content } = message;
  if (role === "user") return { role, content: userContent(content) };
  if (role === "tool") {
    return { role, tool_call_id: message.tool_call_id, content: textContent(content) };
  }
  if (role !== "assistant") return { role: "system", content: textContent(content) };
  const calls = message.tool_calls ?? [];
  const text = textContent(content);
  const thoughts = (message.reasoning ?? []).map((one) => one.text).join("");
  return {
    role,
    content: text === "" && calls.length > 0 ? null : text,
    ...(dialect.wantsThoughts && thoughts !== "" ? { reasoning_content: thoughts } : {}),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, function: made }) => ({
            id,
            type: "function",
            function: made,
          })),
        }),
  };
}

function userContent(content: ChatMessage["content"]): string | ChatPart[] {
  if (typeof content === "string" || content == null) return content ?? "";
  if (content.every(({ type }) => type === "text")) return textContent(content);
  return content.map((one) => {
    if (one.type !== "file") return unmarkedPart(one);
    const { file_data: data } = one.file;
    if (data?.startsWith("http") === true) throw cannot("file other than a data: URL");
    return { type: "file", file: { ...one.file, filename: one.file.filename ?? "file" } };
  });
}

const finishReasons: ReadonlySet<string> = new Set([
  "stop",
  "length",
  "tool_calls",
  "content_filter",
]);

function finishOf(reason: unknown): string {
  const text = jsonText(reason);
  return finishReasons.has(text) ? text : text === "function_call" ? "tool_calls" : "stop";
}

/** vLLM and SGLang name the stop sequence that ended an answer; a number is a token of the model's own. */
function stopSequenceOf(choice: Json, { stop }: Chat): Pick<ChatReply, "stopSequence"> {
  const { stop_reason: vllm, matched_stop: sglang } = choice;
  const stopSequence = [stop ?? []].flat().find((one) => one === vllm || one === sglang);
  return stopSequence === undefined ? {} : { stopSequence };
}

function reply(body: Json, chat: Chat): ChatReply {
  const [choice = {}] = jsonObjects(body["choices"]);
  const message = jsonObject(choice["message"]);
  const thought = thoughtOf(message);
  const refusal = jsonText(message["refusal"]);
  return {
    id: jsonText(body["id"]),
    model: jsonText(body["model"]),
    text: textOf(message["content"]),
    ...(refusal === "" ? {} : { refusal }),
    reasoning: thought === "" ? [] : [{ text: thought }],
    toolCalls: jsonObjects(message["tool_calls"]).map((call) => ({
      id: jsonText(call["id"]),
      type: "function",
      function: {
        name: jsonText(jsonObject(call["function"])["name"]),
        arguments: argumentsOf(jsonObject(call["function"])["arguments"], "{}"),
      },
    })),
    finishReason: finishOf(choice["finish_reason"]),
    ...stopSequenceOf(choice, chat),
    usage: chatUsage(openAiUsage(noUsage, body) ?? noUsage),
  };
}

/** Providers differ in the name; Mistral's thoughts are parts of the content. */
function thoughtOf(message: Json): string {
  const named = message["reasoning_content"] ?? message["reasoning"];
  if (typeof named === "string") return named;
  const parts = jsonObjects(message["content"]).filter(({ type }) => type === "thinking");
  return parts.map((part) => textOf(part["thinking"])).join("");
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return jsonText(content);
  return jsonObjects(content)
    .map((part) => jsonText(part["text"]))
    .join("");
}

function stream(chat: Chat): StreamReader {
  let started = false;
  const read = (event: Json): ChatDelta => {
    const error = toldError(event);
    if (error !== null) return { error };
    const [choice] = jsonObjects(event["choices"]);
    const usage = openAiUsage(noUsage, event);
    const delta = choice === undefined ? undefined : deltaOf(jsonObject(choice["delta"]), started);
    started ||= delta !== undefined;
    return {
      id: jsonText(event["id"]),
      model: jsonText(event["model"]),
      ...(delta === undefined ? {} : { delta }),
      // Some providers send an empty one with every event.
      ...(choice === undefined || !choice["finish_reason"]
        ? {}
        : { finishReason: finishOf(choice["finish_reason"]), ...stopSequenceOf(choice, chat) }),
      ...(usage === null ? {} : { usage: chatUsage(usage) }),
    };
  };
  // Perplexity and others send no `[DONE]`.
  return { read, endsByItself: true, finish: () => ({ done: true }) };
}

function deltaOf(given: Json, started: boolean): NonNullable<ChatDelta["delta"]> {
  const content = textOf(given["content"]);
  const thought = thoughtOf(given);
  const refusal = jsonText(given["refusal"]);
  const calls = jsonObjects(given["tool_calls"]).map(openaiCallDelta);
  return {
    ...(started ? {} : { role: "assistant" }),
    ...(content === "" ? {} : { content }),
    ...(thought === "" ? {} : { thought }),
    ...(refusal === "" ? {} : { refusal }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

/** Returns a piece of a tool call in OpenAI's form, whose absent members some providers send as null. */
function openaiCallDelta(call: Json, next: number): ToolCallDelta {
  const { name, arguments: args } = jsonObject(call["function"]);
  const index = typeof call["index"] === "number" ? call["index"] : next;
  const id = jsonText(call["id"]);
  return {
    index,
    ...(id === "" ? {} : { id, type: "function" }),
    function: {
      ...(typeof name === "string" && name !== "" ? { name } : {}),
      arguments: argumentsOf(args, ""),
    },
  };
}

/** Some providers give the arguments themselves, not their text. */
function argumentsOf(given: unknown, absent: string): string {
  if (given == null || given === "") return absent;
  return typeof given === "string" ? given : JSON.stringify(given);
}
