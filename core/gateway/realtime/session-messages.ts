import { boundedJson, isObject, type Json, jsonObject, jsonText } from "../../http/json.ts";
import { withoutLongTexts } from "../metering/usage/sse-usage.ts";
import { modelName } from "../providers/requested-model.ts";
import { beginsAsJson } from "../wire/readable-body.ts";

/** Characters of a message above which its long texts, sound mostly, are left out before it is parsed. */
const PARSE_LIMIT = 256 * 1024;

/** Characters of a text that is left out then. */
const LONG_TEXT = 4 * 1024;

/** Returns the JSON of a message: Google sends its own as bytes. Null for sound and the like. */
export function messageText(message: string | Uint8Array): string | null {
  if (typeof message === "string") return message;
  return beginsAsJson(message.subarray(0, 64)) ? new TextDecoder().decode(message) : null;
}

/** Returns the object that a message holds; undefined for one that cannot be parsed. */
export function messageObject(text: string): Json | undefined {
  const short = text.length > PARSE_LIMIT ? withoutLongTexts(text, LONG_TEXT) : text;
  const value = boundedJson(short);
  return isObject(value) ? jsonObject(value) : undefined;
}

/** Lists every model that a client's message names, in all places from which some provider takes one. */
export function namedModels(message: Json): string[] {
  const session = jsonObject(message["session"]);
  const input = jsonObject(jsonObject(session["audio"])["input"]);
  const places = [
    message,
    message["setup"],
    session,
    message["response"],
    session["input_audio_transcription"],
    input["transcription"],
  ];
  return places.map((place) => plainModel(modelName(place, ""))).filter((name) => name !== "");
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
