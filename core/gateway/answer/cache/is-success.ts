import { type Json, jsonObject, parsedJson } from "../../../http/json.ts";
import { sseData } from "../../../http/sse.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { type CachedReply, lastText } from "../../wire/cached-reply.ts";

/** Characters at the end of a stream that are looked at: an error is the last that a provider says. */
const END = 64 * 1024;

/**
 * Whether a whole answer with a status of success is none of the failures that providers report with one, mostly in
 * streams that had begun: such an answer is not kept. Of an encoded answer, and of what is no JSON, nothing is known.
 */
export function isSuccess(reply: CachedReply): boolean {
  if ((headerValue(reply.headers, "content-encoding") ?? "identity") !== "identity") return true;
  const type = (headerValue(reply.headers, "content-type") ?? "").toLowerCase();
  if (type.startsWith("text/event-stream")) {
    const text = lastText(reply.chunks, END);
    return !mentions(text) || !sseData(text).some(tellsFailure);
  }
  // The header of a frame that ends a stream of Amazon's (Smithy's specification "Amazon Event Stream").
  if (type.startsWith("application/vnd.amazon.eventstream"))
    return !lastText(reply.chunks, END).includes(":exception-type");
  if (!/^application\/(?:[\w.-]+\+)?json\b/.test(type)) return true;
  const text = lastText(reply.chunks, Number.POSITIVE_INFINITY);
  return !mentions(text) || !tellsFailure(text);
}

/** Most answers need not be parsed for this. */
function mentions(text: string): boolean {
  return text.includes('"error"') || text.includes('"success"');
}

/** Of OpenAI and Anthropic, those who imitate them, and Cloudflare. */
function tellsFailure(json: string): boolean {
  const said = told(json);
  const { type, error } = said;
  return (
    type === "error" ||
    type === "response.failed" ||
    (error !== undefined && error !== null) ||
    said["success"] === false
  );
}

/** Gemini's streams are one list, where nobody asks for events. */
function told(json: string): Json {
  const value = parsedJson(json);
  return jsonObject(Array.isArray(value) ? value.at(-1) : value);
}
