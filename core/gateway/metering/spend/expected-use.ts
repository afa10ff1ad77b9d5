import { endOfText, mayMention } from "../../../http/json.ts";
import type { System } from "../../../ports.ts";
import type { Call, Step } from "../../call/call.ts";
import { BYTES_PER_TOKEN } from "../../chat/usage.ts";
import type { Price } from "../../prices/price.ts";
import { modelType, stepModel } from "../../providers/requested-model.ts";
import { hidesUsage } from "../../providers/stream-usage.ts";
import { type ConfiguredTargets, targetsOf } from "../../providers/target.ts";
import { bodyValue, jsonOf, plainBytes } from "../../wire/readable-body.ts";
import { cost, type CustomCost } from "../cost/cost.ts";
import { type CostQuestion, isFree } from "../cost/known-cost.ts";
import { requestPrice } from "../cost/dearest-price.ts";
import type { Claim } from "../ledger/budget.ts";
import { GUESSED_OUTPUT, type RequestedOutput, requestedOutput } from "./requested-output.ts";

/** Facts about a connection that are known better than from its step. */
export interface RealtimeSpend {
  readonly model: string;
}

/** The claims of a request, or of a part of its answer. */
export interface ClaimedUse {
  readonly tokens: Claim;
  /** By list prices, USD. */
  readonly cost: Claim;
}

export interface ExpectedUse extends ClaimedUse {
  /** The model that the request names as its own; empty = none. */
  readonly model: string;
  /** The facts that decide whether its cost and its tokens will be known. */
  readonly question: CostQuestion;
  readonly output: RequestedOutput;
  /** The claim of so many output tokens beyond those that are claimed already. */
  readonly more: (tokens: number) => ClaimedUse;
}

/**
 * Estimates a request's use: its input at four bytes per token, and its output as it bounds it itself. Where it names no
 * bound, a guess is set aside beside the input, as far as the limit has so much left.
 */
export function expectedUse(
  step: Step,
  call: Call,
  { system, targets }: { readonly system: System; readonly targets: ConfiguredTargets },
  realtime?: RealtimeSpend,
): ExpectedUse {
  const json = jsonOf(step);
  const { slug, rest, headers } = step;
  const model = realtime?.model ?? stepModel(step, json);
  const priced = requestPrice(
    { slug, rest, headers, model, json, value: () => bodyValue(step) },
    call.prices,
    system.now(),
  );
  const { price } = priced;
  const question: CostQuestion = {
    step,
    type: modelType(rest),
    ...priced,
    free: call.prices.isFree(step.slug),
    json,
    realtime: realtime !== undefined,
    hidesUsage: () => hidesUsage(step, call, targetsOf(targets, call.name)),
  };
  if (realtime === undefined && isFree(step))
    return {
      model,
      question,
      tokens: NOTHING,
      cost: NOTHING,
      output: NO_OUTPUT,
      more: () => NO_USE,
    };
  const bytes = realtime === undefined ? (plainBytes(step)?.length ?? 0) : 0;
  const attached = json === null ? bytes : attachedCharacters(json);
  const input: ExpectedInput = {
    text: Math.floor((bytes - attached) / BYTES_PER_TOKEN),
    attached: Math.floor(attached / BYTES_PER_TOKEN),
  };
  const output: RequestedOutput =
    realtime === undefined ? requestedOutput(question) : { tokens: GUESSED_OUTPUT, isNamed: false };
  const dearest = price === null ? null : dearestPrice(price, mayBeSound(question));
  const usd: AmountOf = (tokensIn, tokensOut) => costOf(tokensIn, tokensOut, dearest);
  const tokensIn = input.text + input.attached;
  return {
    model,
    question,
    output,
    tokens: claimed(input, output, (before, tokensOut) => Math.max(1, before) + tokensOut),
    cost: claimed(input, output, usd),
    more: (tokens) => ({
      tokens: { needed: 0, guessed: tokens },
      // The price of a token may depend on how long the input is.
      cost: { needed: 0, guessed: usd(tokensIn, tokens) - usd(tokensIn, 0) },
    }),
  };
}

/** The claim of what costs nothing. */
export const NOTHING: Claim = { needed: 0, guessed: 0 };
const NO_USE: ClaimedUse = { tokens: NOTHING, cost: NOTHING };
const NO_OUTPUT: RequestedOutput = { tokens: 0, isNamed: true };

type AmountOf = (tokensIn: number, tokensOut: number) => number;

interface ExpectedInput {
  readonly text: number;
  /** Tokens of pictures, sound and files by their sizes, which say little: most have far fewer. */
  readonly attached: number;
}

/** The claim of an input, and of an output beside it. */
function claimed(
  { text, attached }: ExpectedInput,
  { tokens, isNamed }: RequestedOutput,
  amountOf: AmountOf,
): Claim {
  const needed = amountOf(text, isNamed ? tokens : 0);
  return { needed, guessed: amountOf(text + attached, tokens) - needed };
}

/** Characters in base64 from which on they are a file. */
const FILE_LENGTH = 4096;
const BASE64 = /^(?:data:[^,]{0,256},)?[\w+/\\-]+$/;
/** Matches text that stands beside or before a file in every format. */
const HOLDS_FILES = /base64|"(?:data|bytes)"/i;

/** How many characters of a JSON text are files in base64, by how these begin. */
function attachedCharacters(json: string): number {
  if (json.length < FILE_LENGTH || !HOLDS_FILES.test(json)) return 0;
  let count = 0;
  for (let at = json.indexOf('"'); at !== -1;) {
    const end = endOfText(json, at);
    const isLong = end - at > FILE_LENGTH;
    if (isLong && BASE64.test(json.slice(at + 1, at + FILE_LENGTH))) count += end - at - 1;
    at = json.indexOf('"', end + 1);
  }
  return count;
}

function costOf(tokensIn: number, tokensOut: number, price: Price | null): number {
  return cost({ tokensIn, tokensOut, cachedIn: 0, cacheWriteIn: 0 }, price) ?? 0;
}

/** A claim in USD where the caller names a cost: the higher one counts, of the input and of the whole. */
export function withCustomCost(
  { cost: listed, tokens }: ClaimedUse,
  custom: CustomCost | undefined,
): Claim {
  if (custom === undefined) return listed;
  const named = customClaim(custom, tokens);
  const needed = Math.max(listed.needed, named.needed);
  const whole = Math.max(listed.needed + listed.guessed, named.needed + named.guessed);
  return { needed, guessed: whole - needed };
}

function customClaim(custom: CustomCost, tokens: Claim): Claim {
  if ("total" in custom) return { needed: custom.total, guessed: 0 };
  const { perTokenIn, perTokenOut } = custom;
  return {
    needed: Math.max(perTokenIn, perTokenOut) * tokens.needed,
    guessed: perTokenOut * tokens.guessed,
  };
}

/** Ends of the members by which a request asks for sound: `modalities`, and Google's `responseModalities`. */
const OF_SOUND = ['"audio"', 'odalities"'];

/** Whether an answer may be something else than text. */
function mayBeSound({ type, json, realtime }: CostQuestion): boolean {
  if (realtime === true || type !== "text-generation") return true;
  return json !== null && mayMention(json, OF_SOUND);
}

/** A price whose output costs what the dearest kind of it does. */
function dearestPrice(price: Price, isSound: boolean): Price {
  const dearest = (tariff: Omit<Price, "long">): number => {
    const kinds = isSound ? Object.values(tariff.kinds ?? {}) : [];
    return Math.max(
      tariff.output,
      tariff.reasoning ?? 0,
      ...kinds.map(({ output }) => output ?? 0),
    );
  };
  const { long } = price;
  return {
    ...price,
    output: dearest(price),
    ...(long === undefined ? {} : { long: { ...long, output: dearest(long) } }),
  };
}
