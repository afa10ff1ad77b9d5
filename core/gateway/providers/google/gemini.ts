import { appendAll } from "../../../text/append-all.ts";
import {
  cannot,
  type Chat,
  chatUsage,
  type ChatMessage,
  type ChatPart,
  contentParts,
  dataUrl,
  modelPath,
  systemText,
  textContent,
  toolArguments,
} from "../../chat/chat-format.ts";
import { type Json, jsonObjects } from "../../../http/json.ts";
import { withUserTurn } from "../../models/mend-chat.ts";
import { geminiError, geminiReply, geminiStream } from "./gemini-reply.ts";
import { geminiSchema } from "./gemini-schema.ts";
import { TransportError } from "../../../net/transport-error.ts";
import type { ChatTranslator } from "../../chat/reply.ts";
import { singleCall, singleCallStream } from "../../chat/single-call.ts";
import { noUsage } from "../../chat/usage.ts";
import { withTextResults } from "../../chat/text-results.ts";

/** Gemini's `countTokens`, which takes what `generateContent` takes (https://ai.google.dev/api/tokens). */
const counter: ChatTranslator = {
  wantsInlineImages: true,
  request(chat) {
    const messages = withUserTurn(chat.messages);
    const model = chat.model.replace(/^models\//, "");
    const generateContentRequest = {
      model: `models/${model}`,
      ...conversationOf({ ...chat, messages }),
    };
    const rest = `v1beta/models/${modelPath(model)}:countTokens`;
    return { rest, query: "", body: { generateContentRequest }, headers: [] };
  },
  reply({ totalTokens }) {
    if (typeof totalTokens !== "number")
      throw new TransportError("broken", "The provider's answer holds no count of tokens");
    const usage = chatUsage({ ...noUsage, tokensIn: totalTokens });
    return { id: "", model: "", text: "", toolCalls: [], finishReason: null, usage };
  },
  stream: () => geminiStream(),
  errorOf: geminiError,
};

/** OpenAI chat completions over Gemini's `generateContent`. */
export const geminiTranslator: ChatTranslator = {
  counter,
  wantsInlineImages: true,
  request(chat) {
    const messages = withUserTurn(chat.messages);
    const method = chat.stream === true ? "streamGenerateContent" : "generateContent";
    const model = modelPath(chat.model.replace(/^models\//, ""));
    const body = {
      ...conversationOf({ ...chat, messages }),
      generationConfig: generationConfig(chat),
    };
    const query = chat.stream === true ? "?alt=sse" : "";
    return { rest: `v1beta/models/${model}:${method}`, query, body, headers: [] };
  },
  reply: (body, chat) => singleCall(geminiReply(body), chat),
  stream: (chat) => singleCallStream(geminiStream(), chat),
  // A stream request that fails is answered with an array of one error.
  errorOf: (body) => geminiError(jsonObjects(body)[0] ?? body),
};

/** The members of a request that are its input. */
function conversationOf(chat: Chat): Json {
  const system = systemText(chat.messages);
  return {
    contents: contents(chat),
    ...(system === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    ...tools(chat),
  };
}

function generationConfig(chat: Chat): Json {
  const limit = chat.max_completion_tokens ?? chat.max_tokens;
  const format = chat.response_format;
  const isJson = format != null && format.type !== "text";
  const schema = format?.json_schema?.schema;
  const thinkingConfig = thinkingOf(chat);
  const named: readonly (readonly [string, unknown])[] = [
    ["temperature", chat.temperature],
    ["topP", chat.top_p],
    ["topK", chat.top_k],
    ["maxOutputTokens", limit],
    ["stopSequences", chat.stop == null ? null : [chat.stop].flat()],
    ["seed", chat.seed],
    ["presencePenalty", chat.presence_penalty],
    ["frequencyPenalty", chat.frequency_penalty],
    ["responseMimeType", isJson ? "application/json" : null],
    ["responseJsonSchema", schema == null ? null : geminiSchema(schema)],
  ];
  return {
    ...Object.fromEntries(named.filter(([, value]) => value != null)),
    ...(Object.keys(thinkingConfig).length === 0 ? {} : { thinkingConfig }),
  };
}

function thinkingOf(chat: Chat): Json {
  const shown = chat.shows_thoughts === true ? { includeThoughts: true } : {};
  const { reasoning_effort: effort, thinking_budget: budget } = chat;
  if (budget != null) return { thinkingBudget: budget, ...shown };
  return effort == null ? shown : { thinkingLevel: effort, ...shown };
}

function tools(chat: Chat): Json {
  if (chat.tools == null || chat.tools.length === 0) return {};
  const choice = chat.tool_choice ?? "auto";
  const functionDeclarations = chat.tools.map(
    ({ function: { name, description, parameters } }) => ({
      name,
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parametersJsonSchema: geminiSchema(parameters) }),
    }),
  );
  const modes = { auto: "AUTO", none: "NONE", required: "ANY" } as const;
  const functionCallingConfig =
    typeof choice === "string"
      ? { mode: modes[choice] }
      : { mode: "ANY", allowedFunctionNames: [choice.function.name] };
  return { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig } };
}

function contents({ messages, model }: Chat): { role: string; parts: Json[] }[] {
  const out: { role: string; parts: Json[] }[] = [];
  // Results name the function that was called.
  const names = new Map<string, string>();
  const checksSignatures = /gemini-(?:[3-9]|\d\d|[a-z-]+-latest)/.test(model);
  for (const message of withTextResults(messages)) {
    if (message.role === "system" || message.role === "developer") continue;
    const role = message.role === "assistant" ? "model" : "user";
    const parts = partsOf(message, names, checksSignatures);
    if (parts.length === 0) continue;
    const last = out.at(-1);
    if (last?.role === role) appendAll(last.parts, parts);
    else out.push({ role, parts });
  }
  return out;
}

/** The signature that Google documents for calls that another model made, or whose signature the client did not keep. */
const NO_SIGNATURE = "skip_thought_signature_validator";

function partsOf(
  message: ChatMessage,
  names: Map<string, string>,
  checksSignatures: boolean,
): Json[] {
  if (message.role === "tool") {
    const { tool_call_id: id, content, failed } = message;
    const response = { [failed === true ? "error" : "result"]: textContent(content) };
    // The id tells parallel calls of one function apart.
    return [{ functionResponse: { id, name: names.get(id) ?? id, response } }];
  }
  if (message.role === "assistant") {
    const said = contentParts(message.content).map((part) => ownPart(part, checksSignatures));
    const calls = (message.tool_calls ?? []).map((call, index) => {
      const { id, function: made } = call;
      names.set(id, made.name);
      // Only the first of parallel calls is checked.
      const needed = checksSignatures && index === 0 ? NO_SIGNATURE : null;
      const signature = call.extra_content?.google?.thought_signature ?? needed;
      return {
        functionCall: { id, name: made.name, args: toolArguments(made.arguments) },
        ...(signature === null ? {} : { thoughtSignature: signature }),
      };
    });
    return [...said, ...calls];
  }
  return contentParts(message.content).map(partOf);
}

/** Returns a part that the model itself said or drew. */
function ownPart(one: ChatPart, checksSignatures: boolean): Json {
  if (one.type === "text" || one.type === "refusal") return { text: textContent([one]) };
  if (one.type !== "image_url") throw cannot(`${one.type} outside of a user message`);
  return { ...partOf(one), ...(checksSignatures ? { thoughtSignature: NO_SIGNATURE } : {}) };
}

function partOf(one: ChatPart): Json {
  switch (one.type) {
    case "text":
      return { text: one.text };
    case "image_url":
      return inlined(one.image_url.url, "image_url other than a data: URL");
    case "file":
      if (one.file.file_data == null) throw cannot("file without file_data");
      return inlined(one.file.file_data, "file other than a data: URL");
    case "input_audio": {
      const { data, format } = one.input_audio;
      return { inlineData: { mimeType: `audio/${format}`, data } };
    }
    default:
      throw cannot(one.type);
  }
}

function inlined(url: string, what: string): Json {
  // Files stored at Google are read there.
  if (/^(?:gs:\/\/|https:\/\/generativelanguage\.googleapis\.com\/)/.test(url))
    return { fileData: { fileUri: url } };
  const inline = dataUrl(url);
  if (inline === null) throw cannot(what);
  return { inlineData: { mimeType: inline.mediaType, data: inline.data } };
}
