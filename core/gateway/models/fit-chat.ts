import { type Json, jsonCount, jsonObjects } from "../../http/json.ts";
import { type Chat, isBlank } from "../chat/chat-format.ts";
import { fitThinking, type ThinkingMembers } from "./fit-thinking.ts";
import type { ModelRules } from "./model-rules.ts";

/** Parameters that are left out where they are refused. */
const plain = [
  "temperature",
  "top_p",
  "top_k",
  "presence_penalty",
  "frequency_penalty",
  "stop",
] as const;
const limits = ["max_completion_tokens", "max_tokens"] as const;

/** The members of a request that differ from the client's; null for one that had to go. */
interface ChatChanges extends ThinkingMembers {
  temperature?: null;
  top_p?: null;
  top_k?: null;
  presence_penalty?: null;
  frequency_penalty?: null;
  stop?: string[] | null;
  tool_choice?: "auto";
  max_tokens?: number | null;
  max_completion_tokens?: number | null;
}

export interface FittedChat<T> {
  readonly chat: T;
  /** The parameters that had to go, by the names of OpenAI's chat format. */
  readonly dropped: readonly string[];
}

/** The text in place of an answer that the request begins: the model goes on behind its own words. */
const CONTINUE = "Continue your last message exactly where it ends.";

interface Fit {
  readonly changes: ChatChanges;
  readonly dropped: readonly string[];
  /** Whether the answer that the request begins becomes a message of its own. */
  readonly continues: boolean;
}

export function fitChat(chat: Chat, rules: ModelRules | undefined): FittedChat<Chat> {
  if (rules === undefined) return { chat, dropped: [] };
  const { changes, dropped, continues } = fitOf(chat, rules);
  const { messages } = chat;
  const all: Chat["messages"] = continues
    ? [...messages, { role: "user", content: CONTINUE }]
    : messages;
  return { chat: { ...chat, ...changes, messages: all }, dropped };
}

/** {@link fitChat} for the body of a request that goes out in OpenAI's chat format as it came. */
export function fitChatBody(body: Json, rules: ModelRules | undefined): FittedChat<Json> {
  if (rules === undefined) return { chat: body, dropped: [] };
  const { changes, dropped, continues } = fitOf(
    { ...body, reasoning_effort: effortIn(body) },
    rules,
  );
  const kept = Object.entries({ ...body, ...changes }).filter(
    ([name, value]) => value !== null || !Object.hasOwn(changes, name),
  );
  const fitted = Object.fromEntries(kept);
  if (!continues) return { chat: fitted, dropped };
  const messages: Json[] = [...jsonObjects(body["messages"]), { role: "user", content: CONTINUE }];
  return { chat: { ...fitted, messages }, dropped };
}

function effortIn({ reasoning_effort: effort }: Json): string | null {
  return typeof effort === "string" ? effort : null;
}

type Asked = Json & Pick<ThinkingMembers, "reasoning_effort" | "thinking_budget">;

function fitOf(chat: Asked | Chat, rules: ModelRules): Fit {
  const asked: Asked = { ...chat };
  const forces = forcesOf(asked);
  const thinking = fitThinking(asked, rules.thinking, forces);
  const refused = new Set([
    ...(rules.refuses ?? []),
    ...(thinking.thinks ? (rules.thinking?.refuses ?? []) : []),
  ]);
  const isForced = refused.has("tool_choice") && forces.includes("tool_choice");
  const continues = refused.has("prefill") && hasPrefill(asked);
  const parts: readonly Changed[] = [
    thinking,
    plainOf(asked, refused, rules.oneSampler === true),
    isForced ? { changes: { tool_choice: "auto" }, dropped: ["tool_choice"] } : unchanged,
    refused.has("blank_stop") ? stopsOf(asked) : unchanged,
    limitsOf(asked, rules.output, refused.has("max_tokens")),
  ];
  const changes: ChatChanges = {};
  for (const part of parts) Object.assign(changes, part.changes);
  return {
    changes,
    dropped: [...parts.flatMap(({ dropped }) => dropped), ...(continues ? ["prefill"] : [])],
    continues,
  };
}

/** Some parameters as the model takes them, and the names of what had to go. */
type Changed = Pick<Fit, "changes" | "dropped">;

const unchanged: Changed = { changes: {}, dropped: [] };

/** Leaves out what is refused; of both samplers the temperature stays where only one is taken. */
function plainOf(chat: Asked, refused: ReadonlySet<string>, oneSampler: boolean): Changed {
  const isSampled = oneSampler && chat["temperature"] != null && !refused.has("temperature");
  const dropped = plain.filter(
    (name) => chat[name] != null && (refused.has(name) || (isSampled && name === "top_p")),
  );
  return { changes: Object.fromEntries(dropped.map((name) => [name, null])), dropped };
}

/** Returns what of a request may be refused beside thinking. */
function forcesOf({ tools, tool_choice: choice }: Asked): string[] {
  if (!Array.isArray(tools) || tools.length === 0) return [];
  const isForced = choice != null && choice !== "auto" && choice !== "none";
  return isForced ? ["tools", "tool_choice"] : ["tools"];
}

/** Whether the request begins the answer; a message that says so itself (Mistral's `prefix`) is taken. */
function hasPrefill({ messages }: Asked): boolean {
  const last = jsonObjects(messages).at(-1);
  if (last?.["role"] !== "assistant" || last["prefix"] === true) return false;
  return !Array.isArray(last["tool_calls"]) || last["tool_calls"].length === 0;
}

/** Leaves stop sequences of blanks out. */
function stopsOf({ stop }: Asked): Changed {
  const all = [stop ?? []].flat().filter((one) => typeof one === "string");
  const words = all.filter((one) => !isBlank(one));
  if (words.length === all.length) return unchanged;
  return { changes: { stop: words.length === 0 ? null : words }, dropped: ["stop"] };
}

/** Puts the limit where the model looks for it, and cuts it to the most that the model can answer. */
function limitsOf(chat: Asked, most: number | undefined, isRenamed: boolean): Changed {
  const name = limits.find((one) => chat[one] != null);
  if (name === undefined) return unchanged;
  const given = jsonCount(chat[name]);
  const cut = most !== undefined && given > most ? most : given;
  const dropped = cut === given ? [] : [name];
  if (isRenamed) return { changes: { max_tokens: null, max_completion_tokens: cut }, dropped };
  return { changes: cut === given ? {} : { [name]: cut }, dropped };
}
