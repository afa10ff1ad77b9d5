import { cannot, type Chat, effortOf } from "../chat/chat-format.ts";
import type { ThinkingRules } from "./model-rules.ts";

export type ThinkingMembers = Pick<Chat, "reasoning_effort" | "thinking_budget" | "thinking_off">;

/** The same members as the model takes them. */
export interface ThinkingFit {
  readonly changes: ThinkingMembers;
  /** The names of what had to go. */
  readonly dropped: readonly string[];
  /** Whether the model will think. */
  readonly thinks: boolean;
}

/** From no thinking to the most. */
const LADDER: readonly string[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/** The one word that stands for every effort but `none`. */
const ANY_EFFORT = "default";

/** Returns how a model is asked to think; `forces` says what the request has that thinking may have to give way to. */
export function fitThinking(
  given: ThinkingMembers,
  rules: ThinkingRules | null | undefined,
  forces: readonly string[],
): ThinkingFit {
  const named = namesOf(given);
  const isAsked = named.length > 0;
  if (rules === undefined) return { changes: {}, dropped: [], thinks: isAsked };
  if (rules === null) {
    const changes = { reasoning_effort: null, thinking_budget: null };
    return { changes, dropped: named, thinks: false };
  }
  if (given.reasoning_effort === "none" && !isAsked) return withoutThinking(rules);
  const yields = rules.yieldsTo?.some((what) => forces.includes(what)) === true;
  if (yields && rules.off !== undefined && (isAsked || rules.byDefault))
    return { ...withoutThinking(rules), dropped: named };
  if (!isAsked) return { changes: {}, dropped: [], thinks: rules.byDefault };
  const changes = asked(given, rules);
  const isLost = changes.reasoning_effort == null && changes.thinking_budget == null;
  return { changes, dropped: isLost ? named : [], thinks: true };
}

/** Lists what asks the model to think. */
function namesOf({ reasoning_effort: effort, thinking_budget: budget }: ThinkingMembers): string[] {
  return [
    ...(effort == null || effort === "none" ? [] : ["reasoning_effort"]),
    ...(budget == null ? [] : ["thinking"]),
  ];
}

/** Returns as little thinking as a model can be asked for. */
function withoutThinking(rules: ThinkingRules): ThinkingFit {
  if (rules.off !== undefined) return { changes: off(rules), dropped: [], thinks: false };
  return { changes: least(rules), dropped: ["reasoning_effort"], thinks: true };
}

function off({ off: how }: ThinkingRules): ThinkingMembers {
  if (how === "none") return { reasoning_effort: "none", thinking_budget: null };
  if (how === "zero") return { reasoning_effort: null, thinking_budget: 0 };
  return { reasoning_effort: null, thinking_budget: null, thinking_off: how };
}

function least({ efforts, least: budget }: ThinkingRules): ThinkingMembers {
  if (efforts === undefined) return { reasoning_effort: null, thinking_budget: budget };
  return { reasoning_effort: efforts[0] ?? null, thinking_budget: null };
}

function asked(given: ThinkingMembers, rules: ThinkingRules): ThinkingMembers {
  const { efforts, budgets = {}, least: lowest = 0, most = Number.POSITIVE_INFINITY } = rules;
  const effort = effortOf(given) ?? "";
  if (efforts !== undefined)
    return { reasoning_effort: nearest(effort, efforts), thinking_budget: null };
  const name = nearest(effort, Object.keys(budgets)) ?? effort;
  const tokens = given.thinking_budget ?? (Object.hasOwn(budgets, name) ? budgets[name] : null);
  if (tokens == null) throw cannot(`reasoning_effort ${effort}`);
  return { reasoning_effort: null, thinking_budget: Math.min(most, Math.max(lowest, tokens)) };
}

/**
 * Returns the nearest effort that a model has, the lower one before the higher; null where it has none but `none`. A word
 * of the client's own stays.
 */
function nearest(effort: string, efforts: readonly string[]): string | null {
  const at = LADDER.indexOf(effort);
  if (at === -1 || efforts.includes(effort)) return effort;
  if (efforts.includes(ANY_EFFORT)) return ANY_EFFORT;
  const thinking = LADDER.slice(1);
  const lower = thinking.slice(0, at - 1).toReversed();
  return [...lower, ...thinking.slice(at - 1)].find((one) => efforts.includes(one)) ?? null;
}
