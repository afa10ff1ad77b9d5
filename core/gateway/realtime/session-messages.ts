import { boundedJson, isObject, type Json, jsonObject, jsonText } from "../../http/json.ts";
import { withoutLongTexts } from "../metering/usage/sse-usage.ts";
import { jsonModels } from "../providers/named-models.ts";
import { modelName } from "../providers/requested-model.ts";
import { beginsAsJson } from "../wire/readable-body.ts";

/** Characters of a message above which its long texts, sound mostly, are left out before it is parsed. */
const PARSE_LIMIT = 256 * 1024;

/** Characters of a text that is left out then. */
const LONG_TEXT = 4 * 1024;

const decoder = new TextDecoder();

/** Returns the text of a message that can be JSON, whichever kind of frame it came in; null for sound and the like. */
export function messageText(message: string | Uint8Array): string | null {
  if (typeof message === "string") return message;
  return beginsAsJson(message) ? decoder.decode(message) : null;
}

/** Returns a message without the long texts that would take too long to parse. */
function shortened(text: string): string {
  return text.length > PARSE_LIMIT ? withoutLongTexts(text, LONG_TEXT) : text;
}

/** Returns the object that a message holds; undefined for one that cannot be parsed. */
export function messageObject(text: string): Json | undefined {
  const value = boundedJson(shortened(text));
  return isObject(value) ? jsonObject(value) : undefined;
}

/** Lists every model that a client's message names for a provider; null for one that parsers may read differently. */
export function namedModels(text: string, slug: string): string[] | null {
  return jsonModels(shortened(text), slug)?.map(plainModel) ?? null;
}

/** Returns the model that a message sets for the conversation itself; empty without one. */
export function sessionModel(message: Json): string {
  for (const place of [message["setup"], message["session"], message]) {
    const name = plainModel(modelName(place, ""));
    if (name !== "") return name;
  }
  return "";
}

/** Gemini's names are paths, on Vertex AI those of a project's. */
function plainModel(name: string): string {
  return name.replace(/^(?:projects\/.*\/)?models\//, "");
}

/** Returns the type of an event, in the format of OpenAI; empty for other messages. */
export function eventType(message: Json): string {
  return jsonText(message["type"]);
}
