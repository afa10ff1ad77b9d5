import { ApiError } from "../../http/api-error.ts";
import { type Json, jsonObject } from "../../http/json.ts";
import type { System } from "../../ports.ts";
import type { Call, Step } from "../call/call.ts";
import type { SpendingPermit } from "../call/limits.ts";
import { noUsage, type TokenUsage } from "../chat/usage.ts";
import type { CallLimits } from "../account/keys/call-limits.ts";
import { cost, listedCost } from "../metering/cost/cost.ts";
import { limitsSpend } from "../metering/spend/spend.ts";
import { addUsage } from "../providers/usage.ts";
import {
  eventType,
  messageObject,
  messageText,
  namedModels,
  sessionModel,
} from "./session-messages.ts";

export interface SessionParts {
  readonly system: System;
  readonly limits: Pick<CallLimits, "checkModel" | "leave">;
  /** The caller as the token of the connection says now; throws when it opens the gateway no longer. */
  readonly refreshCall: (call: Call) => Promise<Call>;
}

/** The models and the money of one connection, while it runs. */
export interface SpendingSession {
  /** Looks at a client's message before it is passed on; throws what refuses it. */
  onClient(message: string | Uint8Array): Promise<void> | void;
  /** Enters what a provider's message reports, and asks for leave for the next answer; throws what refuses that. */
  onProvider(message: string | Uint8Array): Promise<void> | void;
  /** Asks whether the caller may still use the connection; throws what refuses it. */
  review(): Promise<void>;
  /** Gives back what was set aside for answers that were not begun. */
  end(): void;
}

/** Matches addresses whose connections name their model in their first message. */
const BY_SETUP = /BidiGenerateContent/i;

/** Events of an answer under way, by OpenAI's types and Google's members. */
const ANSWERING = /"type":\s*"response\.(?!done)|"modelTurn"|"outputTranscription"/;

/** Whether the model of a connection stands in its messages alone. */
export function namesModelLater({ rest }: Pick<Step, "rest">): boolean {
  return BY_SETUP.test(rest);
}

/**
 * Starts a session of a model; empty = a message names it. Leave to spend is held for every answer under way, and for the
 * next one: what a report says is settled at once, so a limit ends the connection with the answer that uses it up.
 */
export async function spendingSession(
  step: Step,
  opened: Call,
  model: string,
  parts: SessionParts,
): Promise<SpendingSession> {
  const state: SessionState = {
    step,
    parts,
    call: opened,
    model,
    permits: [],
    turns: 0,
    asked: 0,
    isAnswering: false,
    turn: null,
    isTurnOver: true,
  };
  if (model !== "") await ensureLeave(state);
  return {
    onClient: (message) => onClient(message, state),
    onProvider: (message) => onProvider(message, state),
    async review() {
      state.call = await parts.refreshCall(state.call);
      if (state.model !== "") parts.limits.checkModel(step, state.call, state.model);
    },
    end() {
      // An answer that was left is not known: what was set aside for it stays.
      const kept = Math.max(state.turns, state.isAnswering ? 1 : 0);
      for (const [at, permit] of state.permits.entries()) permit.settle(at < kept ? null : 0);
      state.permits.length = 0;
    },
  };
}

interface SessionState {
  readonly step: Step;
  readonly parts: SessionParts;
  call: Call;
  model: string;
  /** Leave for each answer under way, and one for the next. */
  readonly permits: SpendingPermit[];
  /** Answers under way, where the provider says when one begins. */
  turns: number;
  /** Those that the client has asked for and that have not begun. */
  asked: number;
  /** Whether something was said since the last report. */
  isAnswering: boolean;
  /** The last report of a turn, where the provider may send several for one. */
  turn: TokenUsage | null;
  isTurnOver: boolean;
}

/** Whether anything limits the models or the money of a call. */
function isLimited({ caller, settings }: Call): boolean {
  const grant = caller?.grant;
  const isKeyed = grant !== undefined && (grant.models !== null || grant.limits.length > 0);
  return isKeyed || limitsSpend(settings.spend_limits);
}

function onClient(message: string | Uint8Array, state: SessionState): Promise<void> | void {
  if (!isLimited(state.call)) return;
  const text = messageText(message);
  const isFirst = state.model === "";
  // Most messages are sound, and name neither; names can be escaped.
  if (text === null || !(isFirst || /"model|"response\.create"|\\u00/i.test(text))) {
    if (isFirst) throw unnamed();
    return;
  }
  const parsed = messageObject(text);
  const models = namedModels(text, state.step.slug);
  if (parsed === undefined || models === null) throw unreadable();
  for (const name of models) state.parts.limits.checkModel(state.step, state.call, name);
  const named = sessionModel(parsed);
  if (isFirst && named === "") throw unnamed();
  if (named !== "") state.model = named;
  const asks = eventType(parsed) === "response.create";
  if (asks) {
    state.turns += 1;
    state.asked += 1;
  }
  if (isFirst || asks) return ensureLeave(state);
}

function onProvider(message: string | Uint8Array, state: SessionState): Promise<void> | void {
  const text = messageText(message);
  if (text === null || !isLimited(state.call)) return;
  if (ANSWERING.test(text)) state.isAnswering = true;
  if (!/"usage|"response\.created"|"turnComplete"|"modelTurn"/.test(text)) return;
  const parsed = messageObject(text);
  return parsed === undefined ? undefined : onReport(parsed, state);
}

async function onReport(message: Json, state: SessionState): Promise<void> {
  const type = eventType(message);
  if (type === "response.created") {
    if (state.asked > 0) state.asked -= 1;
    else state.turns += 1;
    return ensureLeave(state);
  }
  const usage = addUsage(noUsage, message);
  const content = jsonObject(message["serverContent"]);
  if (content["modelTurn"] !== undefined && state.isTurnOver) {
    state.turn = null;
    state.isTurnOver = false;
  }
  if (content["turnComplete"] === true) state.isTurnOver = true;
  if (type === "response.done") state.turns = Math.max(0, state.turns - 1);
  if (usage.tokensIn === null && usage.tokensOut === null) return;
  const used = type === "" ? since(state.turn, usage) : usage;
  if (type === "") state.turn = usage;
  state.isAnswering = false;
  settle(used, state);
  // A key that was switched off ends here, at the latest.
  state.call = await state.parts.refreshCall(state.call);
  await ensureLeave(state);
}

/** Returns the usage beyond that of an earlier report on the same turn. */
function since(before: TokenUsage | null, now: TokenUsage): TokenUsage {
  if (before === null) return now;
  const more = (a: number | null, b: number | null): number => Math.max(0, (a ?? 0) - (b ?? 0));
  return {
    ...noUsage,
    tokensIn: more(now.tokensIn, before.tokensIn),
    tokensOut: more(now.tokensOut, before.tokensOut),
  };
}

function settle(usage: TokenUsage, state: SessionState): void {
  const { call, model, step, parts } = state;
  const permit = state.permits.shift();
  const price = call.prices.find(model, step.slug, parts.system.now())?.price ?? null;
  const listed = listedCost(usage, price);
  const custom = cost(usage, price, call.controls.customCost);
  permit?.count(usage, price);
  permit?.settle(listed === null && custom === null ? null : Math.max(listed ?? 0, custom ?? 0));
}

/** Holds leave for every answer under way, and for one more that may begin at any moment. */
async function ensureLeave(state: SessionState): Promise<void> {
  const { parts, step } = state;
  while (state.permits.length < Math.max(1, state.turns))
    state.permits.push(await parts.limits.leave(step, state.call, { model: state.model }));
}

function unnamed(): ApiError {
  return new ApiError("forbidden", {
    message:
      "The first message has to name the model (setup.model): a limit of this gateway depends on it",
  });
}

function unreadable(): ApiError {
  return new ApiError("forbidden", {
    message:
      "A message that may name a model cannot be read, and a limit of this gateway depends on it",
  });
}
