import { chargedApart } from "./charged-apart.ts";
import type { RequestPrice } from "./dearest-price.ts";
import type { Step } from "../../call/call.ts";
import { namesModelTwice } from "../../providers/requested-model.ts";
import { providers } from "../../providers/known/table.ts";
import { jsonObject } from "../../../http/json.ts";
import { bodyValue } from "../../wire/readable-body.ts";

/** The facts about a request that {@link unknownCost} decides by. */
export interface CostQuestion extends RequestPrice {
  readonly step: Step;
  /** The kind of work that its path asks for; null = not known. */
  readonly type: string | null;
  /** The body as text, where it is JSON. */
  readonly json: string | null;
  /** Whether its provider's models cost nothing. */
  readonly free: boolean;
  /** Whether the request opens a connection, whose messages tell the usage. @default false */
  readonly realtime?: boolean;
  /** Whether the request asks for a stream that will not tell its usage. */
  readonly hidesUsage: () => boolean;
}

/** Methods that ask a provider for no work. */
const READS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "DELETE"]);

/** Headers that make another method of a request's, where a provider takes them. */
const OTHER_METHOD = /^x-(?:http-)?method(?:-override)?$/i;

/** Paths where the built-in providers take files, cancel work, count tokens and moderate: free of charge. */
const FREE = [
  /^(?:upload\/)?(?:v\d\w*\/)?(?:files|uploads|(?:chat\/)?moderations)(?:\/|$)/,
  /^(?:v\d\w*\/)?(?:batches|messages\/batches|responses|fine_tuning\/jobs|predictions|trainings)\/[^/]+\/cancel$/,
  /^(?:v\d\w*\/)?(?:messages\/count_tokens|responses\/input_tokens)$/,
];
/** Google's only: elsewhere the last segment can be a name that a caller has chosen. */
const COUNTED = /:countTokens$/;
/** Providers whose paths begin with the name of anybody's model, which may be called "files". */
const NAMED_BY_ANYBODY: ReadonlySet<string> = new Set(["fal", "huggingface"]);

/** Work that goes on behind its answer, which tells no usage: lists of requests, and those that run on their own. */
const LATER = /batch(?!EmbedContents)|async-invoke/i;
const LATER_MEMBERS = ["background", "deferred"] as const;

/** Whether a request costs nothing, whatever its model. */
export function isFree({ slug, method, rest, headers, format }: Step): boolean {
  if (format === "count") return true;
  if (READS.has(method)) return !headers.some(([name]) => OTHER_METHOD.test(name));
  if (!Object.hasOwn(providers, slug) || NAMED_BY_ANYBODY.has(slug)) return false;
  if (slug.startsWith("google-") && COUNTED.test(rest)) return true;
  const path = slug === "azure-openai" ? rest.replace(/^[^/]+\/openai\//, "") : rest;
  return FREE.some((places) => places.test(path));
}

/** Returns why the cost of a request will not be known even afterwards; null = it will be. */
export function unknownCost(question: CostQuestion): string | null {
  const { step, json, realtime = false } = question;
  if (question.free || (!realtime && isFree(step))) return null;
  const unpriced = unpricedModel(question);
  if (unpriced !== null || realtime) return unpriced;
  const missingUsage = noUsageOf(question);
  if (missingUsage !== null) return missingUsage;
  const apart = chargedApart(step, json) ?? question.unpricedTariff;
  if (apart !== null)
    return `"${step.slug}" charges for ${apart} apart from the tokens of this request`;
  return hiddenUsage(question);
}

/** Returns why the tokens of a request will not be known even afterwards; null = they will be. */
export function unknownTokens(question: CostQuestion): string | null {
  if (question.realtime === true || isFree(question.step)) return null;
  return noUsageOf(question) ?? hiddenUsage(question);
}

function noUsageOf({ step, type, json }: CostQuestion): string | null {
  const isUntold = LATER.test(step.rest) || runsLater(step, json) || leavesOutUsage(step);
  return isUntold || type === null
    ? `no answer of "${step.slug}" to "${step.rest.slice(0, 128)}" tells what this request uses`
    : null;
}

function hiddenUsage({ step, hidesUsage }: CostQuestion): string | null {
  return hidesUsage()
    ? `this stream of "${step.slug}" does not tell its usage: send "stream_options": {"include_usage": true}, or set "streamUsage" of the provider`
    : null;
}

/** Why the price is not known of a model that may answer; null = it is. */
function unpricedModel({ step, model, price, further, json }: CostQuestion): string | null {
  if (model === "")
    return `the model of this request to "${step.slug}" cannot be read: ${unread(step)}`;
  if (price === null)
    return `no price is known of the model "${model.slice(0, 128)}" at "${step.slug}"`;
  if (further === null || namesModelTwice(step, json))
    return `this request to "${step.slug}" names its model twice, and the provider may take either`;
  return null;
}

function unread({ body, plain }: Step): string {
  if (body instanceof ReadableStream) return "its body is too long, or of no known length";
  if (plain === null) return "its content encoding cannot be undone";
  return "it names none";
}

/** Whether Google is asked for some members of its answer only, or for another format (https://cloud.google.com/apis/docs/system-parameters). */
function leavesOutUsage({ slug, query, headers }: Step): boolean {
  if (!slug.startsWith("google-")) return false;
  const asked = new URLSearchParams(query);
  const masks = asked.has("fields") || asked.has("$fields");
  const formats = [...asked.getAll("alt"), ...asked.getAll("$alt")];
  const isOther = formats.some((format) => format !== "json" && format !== "sse");
  return masks || isOther || headers.some(([name]) => name === "x-goog-fieldmask");
}

/** Whether a body asks to be answered later. */
function runsLater(step: Step, json: string | null): boolean {
  // Names can be escaped: each letter of theirs is then written with \u006 or \u007.
  if (json === null || !/"(?:background|deferred)"|\\u00[67]/.test(json)) return false;
  const body = bodyValue(step);
  if (body === undefined) return true;
  return LATER_MEMBERS.some((member) => jsonObject(body)[member] === true);
}
