import { chatUsage } from "../../chat/chat-format.ts";
import { type Json, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";
import { noUsage } from "../../chat/usage.ts";
import { googleUsage } from "./google-usage.ts";
import type { ChatDelta, ChatReply, ChatToolCall, StreamReader } from "../../chat/reply.ts";

/** Reasons other than a refusal; all others but those below are refusals (Gemini API, `FinishReason`). */
const finishReasons: Readonly<Record<string, string>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  CONTINUATION: "length",
  FINISH_REASON_UNSPECIFIED: "stop",
  OTHER: "stop",
  UNEXPECTED_TOOL_CALL: "stop",
  TOO_MANY_TOOL_CALLS: "stop",
};

/** Returns the error of an answer or an event; a call that the model did not write as one is an error too. */
export function geminiError(body: Json): unknown {
  if (body["error"] != null) return body["error"];
  const { finishReason, finishMessage } = jsonObjects(body["candidates"])[0] ?? {};
  if (finishReason !== "MALFORMED_FUNCTION_CALL") return null;
  return { message: jsonText(finishMessage, "The model made a malformed tool call") };
}

/** Reads an answer of `generateContent`. */
export function geminiReply(body: Json): ChatReply {
  return replyAfter(body, 0);
}

/** Reads an answer, or one event of a stream, which has the same shape, behind so many calls. */
function replyAfter(body: Json, calls: number): ChatReply {
  const candidate = jsonObjects(body["candidates"])[0] ?? {};
  const parts = jsonObjects(jsonObject(candidate["content"])["parts"]);
  const id = jsonText(body["responseId"]);
  const toolCalls = parts
    .filter((part) => part["functionCall"] !== undefined)
    .map((part, index) => toolCall(part, `call_${id}_${calls + index}`));
  const said = (isThought: boolean): string =>
    parts
      .filter((part) => (part["thought"] === true) === isThought)
      .map((part) => jsonText(part["text"]))
      .join("");
  const thought = said(true);
  const images = parts.flatMap(imageOf);
  return {
    id,
    model: jsonText(body["modelVersion"]),
    text: said(false),
    reasoning: thought === "" ? [] : [{ text: thought }],
    ...(images.length === 0 ? {} : { images }),
    toolCalls,
    finishReason: reasonOf(body, candidate["finishReason"]),
    usage: chatUsage(googleUsage(noUsage, body) ?? noUsage),
  };
}

/** Returns the image of a part as a `data:` URL; empty for another part, or a draft among the thoughts. */
function imageOf(part: Json): string[] {
  const { mimeType: type, data } = jsonObject(part["inlineData"]);
  const isImage = /^image\/[\w.+-]{1,64}$/.test(jsonText(type)) && part["thought"] !== true;
  return isImage ? [`data:${jsonText(type)};base64,${jsonText(data)}`] : [];
}

/** A prompt that was blocked has no candidate, and so no reason of its own. */
function reasonOf(body: Json, reason: unknown): string | null {
  if (reason === undefined) {
    return jsonObject(body["promptFeedback"])["blockReason"] === undefined
      ? null
      : "content_filter";
  }
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

/** Gemini's streams end with the event that has a finish reason. */
export function geminiStream(): StreamReader {
  let started = false;
  let calls = 0;
  const read = (event: Json): ChatDelta => {
    const error = geminiError(event);
    if (error != null) return { error };
    const reply = replyAfter(event, calls);
    const { id, model, text, reasoning, images, toolCalls, finishReason, usage } = reply;
    const thought = reasoning?.[0]?.text ?? "";
    const first = started ? {} : { role: "assistant" as const, content: text };
    started = true;
    const numbered = toolCalls.map((call) => ({ ...call, index: calls++ }));
    return {
      id,
      model,
      delta: {
        ...first,
        ...(text === "" ? {} : { content: text }),
        ...(thought === "" ? {} : { thought }),
        ...(images === undefined ? {} : { images }),
        ...(numbered.length === 0 ? {} : { tool_calls: numbered }),
      },
      ...(finishReason === null ? {} : { finishReason }),
      ...(event["usageMetadata"] == null ? {} : { usage }),
    };
  };
  return { read, endsByItself: true };
}
