import { type Json, jsonObject, jsonObjects, parsedJson } from "../../../http/json.ts";
import { eventData } from "../../../http/sse.ts";
import { type ProviderFailure, readFailure } from "./failure.ts";

/** Characters at the beginning of a JSON answer in which the name of its failure stands: nothing else comes before it. */
export const FAILURE_HEAD = 1024;

/** Characters of the longest JSON answer that is nothing but a failure. */
export const FAILURE_LIMIT: number = 64 * 1024;

/** Whether a text has one of the names that a failure has: most answers need not be parsed. */
function mentions(text: string): boolean {
  return text.includes('error"') || text.includes('success"') || text.includes("response.failed");
}

/** Whether a whole answer reports a failure, wherever in it. */
export function reportsFailure(text: string): boolean {
  return mentions(text) && toldFailure(text) !== null;
}

/** Returns the failure that a JSON answer reports in place of an answer; null for an answer. */
export function failureOfAnswer(text: string): ProviderFailure | null {
  return mayBeFailure(text) ? toldFailure(text) : null;
}

/** Whether a JSON answer that begins like this may be a failure. */
export function mayBeFailure(text: string): boolean {
  return text.length <= FAILURE_LIMIT && mentions(text.slice(0, FAILURE_HEAD));
}

/** Returns the failure that any event of a stream's text reports; null for none. */
export function failureOfEvents(text: string): ProviderFailure | null {
  if (!mentions(text)) return null;
  for (const data of eventData(text)) {
    const failure = data === null ? null : toldFailure(data);
    if (failure !== null) return failure;
  }
  return null;
}

/** Returns the failure that the first event of a stream reports; null for none, or where no event is complete. */
export function failureOfFirstEvent(text: string): ProviderFailure | null {
  if (!mentions(text)) return null;
  for (const data of eventData(text)) if (data !== null) return toldFailure(data);
  return null;
}

/** Returns the failure that a whole answer, or the data of one event, reports; null for none. */
export function toldFailure(json: string): ProviderFailure | null {
  const error = toldError(parsedEvent(json));
  return error === null ? null : readFailure(error, 0);
}

/**
 * Returns the error that an answer or an event reports, as `readFailure` takes it; null for none. It knows those of OpenAI
 * and Anthropic, of providers that imitate them ([OpenRouter](https://openrouter.ai/docs/api/reference/errors-and-debugging)
 * answers 200 with an error once a model has begun), and of Cloudflare.
 */
export function toldError(said: Json): unknown {
  const { type, error = jsonObjects(said["choices"])[0]?.["error"] } = said;
  if (error) return error;
  if (type === "response.failed") return jsonObject(said["response"])["error"] ?? {};
  if (type === "error") return said;
  return said["success"] === false ? (jsonObjects(said["errors"])[0] ?? {}) : null;
}

/** Parses an event or an answer. Gemini's streams are one JSON list unless the client asks for events. */
function parsedEvent(json: string): Json {
  const value = parsedJson(json);
  return jsonObject(Array.isArray(value) ? value.at(-1) : value);
}
