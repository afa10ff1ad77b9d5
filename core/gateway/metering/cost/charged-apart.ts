import {
  asObject,
  type Json,
  jsonObject,
  jsonObjects,
  jsonText,
  mayMention,
} from "../../../http/json.ts";
import type { Step } from "../../call/call.ts";
import { bodyValue } from "../../wire/readable-body.ts";

/** The ends of the members that are looked at. */
const MEMBERS = ['tools"', 'plugins"', 'speed"', 'search_options"', 'search_parameters"'];

/** Tools that run at the caller, or cost what their tokens cost; Anthropic's have their date behind the name. */
const TOKENS_ONLY =
  /^(?:function|custom|mcp|computer|bash|text_editor|memory|web_fetch|tool_search|local_shell|apply_patch)(?:_|$)/;
/** Gemini's of that kind, which are the members of an object. */
const GEMINI_TOKENS_ONLY =
  /^(?:function_?declarations|url_?context|code_?execution|computer_?use)$/i;
/**
 * Names the part of a request that is not charged by its model's tokens: a tool of the provider's, a dearer speed. Null when
 * all of it is. `json` is the text of its body.
 */
export function chargedApart(step: Step, json: string | null): string | null {
  const searches = step.slug === "perplexity-ai";
  if (json === null || !(searches || mayMention(json, MEMBERS))) return null;
  const body = asObject(bodyValue(step));
  if (body === null) return "what is in a body that cannot be parsed";
  if (searches && body["disable_search"] !== true) return "searches";
  // A number is that of speech.
  const { speed } = body;
  return chargedTool(body) ?? (typeof speed === "string" && speed !== "standard" ? "speed" : null);
}

function chargedTool(body: Json): string | null {
  if (body["web_search_options"] != null) return "web_search_options";
  const { search_parameters: search, plugins, tools } = body;
  if (search != null && jsonObject(search)["mode"] !== "off") return "search_parameters";
  if (Array.isArray(plugins) && plugins.length > 0) return "plugins";
  for (const tool of jsonObjects(tools)) {
    const found = toolType(tool);
    if (found !== null) return `the tool "${found.slice(0, 64)}"`;
  }
  return null;
}

/** The type of a tool that is charged by the call; null for any other. */
function toolType(tool: Json): string | null {
  const type = jsonText(tool["type"]);
  if (type !== "") return TOKENS_ONLY.test(type) ? null : type;
  // Anthropic's clients name their own tools so.
  if (typeof tool["name"] === "string") return null;
  return Object.keys(tool).find((name) => !GEMINI_TOKENS_ONLY.test(name)) ?? null;
}
