import { isObject, type Json } from "../../http/json.ts";
import { ApiError } from "../../http/api-error.ts";
import { parseJson } from "../../http/body.ts";

/** The formats in which models of every provider are asked. */
export const chatFormats: readonly ["chat/completions", "responses", "messages"] = [
  "chat/completions",
  "responses",
  "messages",
];

/** One of {@link chatFormats}. */
export type ChatFormat = (typeof chatFormats)[number];

/** The JSON object in a body; throws `chat_format` for anything else. */
export function readChatBody(body: Uint8Array | ReadableStream<Uint8Array> | null): Json {
  if (body instanceof Uint8Array) {
    const value = parseJson(body, "chat_format");
    if (isObject(value)) return value;
  }
  throw new ApiError("chat_format", {
    message: "Chat completion bad format: a JSON object of at most 10 MB is needed",
  });
}
