import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { Json } from "../../http/json.ts";
import { inLongBodyLane, type LongBodyWork } from "../../http/json/long-body-lane.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { Step } from "../call/call.ts";
import { ECHO, isLocal, providerRow, providers } from "./known/table.ts";
import {
  isUnifiedTask,
  providersWith,
  taskPath,
  type UnifiedTask,
  unifiedTasks,
} from "./known/unified-tasks.ts";
import {
  chatFormats,
  type ChatFormat,
  COUNT_TOKENS,
  isLongBody,
  namedModel,
  readChatBody,
  readChatInSteps,
} from "../chat/chat-body.ts";
import { translationRoute } from "./families.ts";
import { fitChatBody } from "../models/fit-chat.ts";
import { modelRules } from "../models/model-rules.ts";
import { priceLists } from "../prices/prices.ts";
import { jsonBody } from "../wire/readable-body.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { isMultipart } from "../../http/fields/read-form.ts";
import { FORM_LIMIT, type ModelForm, modelForm } from "../wire/multipart.ts";

/** The prefix of a model that names a dynamic route. */
export const DYNAMIC: string = "dynamic/";

/** The model that leaves the choice to the automatic router, as the hosted service calls it. */
export const AUTO_MODEL: string = "cloudflare/auto";

const MODEL_FORM = "{provider}/{model}";

/** Which version of the Messages API a request is for that does not say it. */
const ANTHROPIC_VERSION = "2023-06-01";

/** The paths of the unified endpoint that take a request with a model. */
export const unifiedPaths: readonly UnifiedPath[] = [...chatFormats, COUNT_TOKENS, ...unifiedTasks];

/** One of {@link unifiedPaths}. */
export type UnifiedPath = ChatFormat | typeof COUNT_TOKENS | UnifiedTask;

/** Names of the operator's for models. */
export interface OperatorNames {
  has(model: string): boolean;
}

/**
 * Returns the step that a unified request stands for: `model` is `{provider}/{model}` or one of `names`, the rest is an OpenAI chat or
 * responses request, an Anthropic message, or one whose tokens are to be counted. Throws `chat_format` (2019) when the model names no provider that takes one.
 */
export function compatStep(given: Step, names?: OperatorNames): Step {
  return unifiedStep(given, () => readChatBody(given), names);
}

/** Does {@link compatStep}, a long request one at a time, and lets others go on meanwhile. */
export function compatStepInSteps(
  given: Step,
  names: OperatorNames | undefined,
  work: () => LongBodyWork,
): Promise<Step> | Step {
  if (!isLongBody(given.body) || isForm(given)) return compatStep(given, names);
  return inLongBodyLane(work(), async (steps) => {
    const chat = await readChatInSteps(given, steps);
    return unifiedStep(given, () => chat, names);
  });
}

/**
 * Does {@link compatStep} with the JSON that `read` returns, where the step's body is another one or was parsed before. A
 * step without a body is written here, so callers need not.
 */
export function unifiedStep(given: Step, read: () => Json, names?: OperatorNames): Step {
  const step: Step = { ...given, unified: true };
  const path = step.rest.replace(/^v1\//, "");
  const isCount = path === COUNT_TOKENS;
  const format = isCount ? "messages" : chatFormats.find((one) => one === path);
  if (format === undefined) return taskStep(step, path, read, names);
  const body = read();
  const model = namedModel(body, MODEL_FORM);
  if (names?.has(model) === true)
    return { ...written(step, body), slug: "pool", rest: path, pool: model };
  const asked: Step = isCount
    ? { ...step, format: "count", rest: path }
    : { ...step, rest: format };
  if (model.startsWith(DYNAMIC)) {
    return { ...written(asked, body), slug: "dynamic", route: model.slice(DYNAMIC.length) };
  }
  if (model === AUTO_MODEL) return { ...written(asked, body), slug: "auto", auto: format };
  const [slug, own] = splitModel(model);
  const place = isCount ? countPlace(slug) : placeOf(slug, format);
  if (place === null) throw notHere(slug, format);
  const named = { ...body, model: own };
  const { chat, dropped } = isOwnChat(slug, place)
    ? fitChatBody(named, modelRules(slug, named.model))
    : { chat: named, dropped: [] };
  const placed: Step = { ...step, headers: versioned(step, slug, place), slug, ...place, dropped };
  return { ...placed, ...jsonBody(chat, translationRoute(placed) !== undefined) };
}

/** Splits a model's name into its provider's and its own; throws `chat_format` where one is missing. */
function splitModel(model: string, purpose: string = ""): readonly [slug: string, own: string] {
  const slash = model.indexOf("/");
  if (slash > 0 && slash < model.length - 1) return [model.slice(0, slash), model.slice(slash + 1)];
  throw badFormat(
    `model must be "${MODEL_FORM}"${purpose}, got "${model.slice(0, 128)}"${fullModelHint(model)}`,
  );
}

/** Returns the step of a request that goes on whole, to be asked of several models. */
function written(step: Step, body: Json): Step {
  return step.body === null ? { ...step, ...jsonBody(body) } : step;
}

/** Returns the step of another request than a chat: its provider takes it as it is, by its own name of the model. */
function taskStep(step: Step, path: string, read: () => Json, names?: OperatorNames): Step {
  if (!isUnifiedTask(path)) {
    const all = unifiedPaths.map((one) => `"${one}"`);
    throw invalidRequest(`The unified endpoint has only ${all.join(", ")} below "compat/"`);
  }
  const form = formOf(step);
  const body = form === null ? read() : { model: form.model };
  const model = namedModel(body, MODEL_FORM);
  if (names?.has(model) === true)
    return {
      ...(form === null ? written(step, body) : step),
      slug: "pool",
      rest: path,
      pool: model,
    };
  const [slug, own] = splitModel(model, ` for "${path}"`);
  const rest = taskPath(slug, path);
  if (rest === undefined) throw notHere(slug, path);
  return {
    ...step,
    slug,
    rest,
    ...(providerRow(slug)?.cloud === undefined ? {} : { cloud: path }),
    ...(form === null ? jsonBody({ ...body, model: own }) : { body: form.withModel(own) }),
  };
}

function isForm({ headers }: Step): boolean {
  return isMultipart(headerValue(headers, "content-type") ?? "");
}

/** Reads the form of a step, such as a sound to write down; null for another body. */
function formOf(step: Step): ModelForm | null {
  if (!isForm(step)) return null;
  const { headers, body } = step;
  const type = headerValue(headers, "content-type") ?? "";
  const form = body instanceof Uint8Array ? modelForm(body, type) : null;
  if (form !== null) return form;
  throw badFormat(
    `a form needs one field "model", such as "openai/whisper-1", and at most ${FORM_LIMIT / 1024 / 1024} MiB`,
  );
}

/** Reads the body of a unified request; of a form, its model. */
export function readUnified(step: Step): Json {
  const form = isUnifiedTask(step.rest) ? formOf(step) : null;
  return form === null ? readChatBody(step) : { model: form.model };
}

/** Returns the step of a unified request with the model that `body` names, in its form too. */
export function renamedStep(given: Step, body: Json, names?: OperatorNames): Step {
  const form = isUnifiedTask(given.rest) ? formOf(given) : null;
  if (form === null) return unifiedStep(given, () => body, names);
  const named = form.withModel(namedModel(body, MODEL_FORM));
  return unifiedStep({ ...given, body: named }, () => body, names);
}

/** Whether a provider takes requests on one of {@link unifiedPaths}. */
export function takesPath(slug: string, path: string): boolean {
  if (isUnifiedTask(path)) return taskPath(slug, path) !== undefined;
  if (path === COUNT_TOKENS) return countPlace(slug) !== null;
  return chatFormats.some((format) => format === path && takesChats(slug, format));
}

/** Offers the model of the provider that made it, where the price table knows that. */
export function fullModelHint(model: string): string {
  const name = model.toLowerCase();
  const family = priceLists.find(({ models }) => models.some((one) => one.model === name))?.family;
  const slug = family === "google" ? "google-ai-studio" : family === "xai" ? "grok" : family;
  return slug !== undefined && Object.hasOwn(providers, slug)
    ? `: did you mean "${slug}/${model}"?`
    : "";
}

function badFormat(why: string): ApiError {
  return new ApiError("chat_format", { message: `Chat completion bad format: ${why}` });
}

/** Makes the error for a provider that the unified endpoint does not ask. */
function notHere(slug: string, format: ChatFormat | UnifiedTask): ApiError {
  const shown = slug.slice(0, 64);
  if (slug !== ECHO && !Object.hasOwn(providers, slug)) {
    return badFormat(`there is no provider "${shown}"${didYouMean(shown, Object.keys(providers))}`);
  }
  const others = isUnifiedTask(format) ? `, but of ${providersWith(format).join(", ")}` : "";
  return badFormat(
    `"${format}" for models of "${shown}" is not supported here${others}: send what the provider itself takes to its own path, ` +
      `"/v1/{account_id}/{gateway_id}/${shown}/…"`,
  );
}

type Place = Pick<Step, "rest" | "format" | "cloud">;

/** Returns where the tokens of a provider's messages are counted; null when it takes no chats. */
function countPlace(slug: string): Place | null {
  const provider = providerRow(slug);
  if (provider?.countsMessages === true) return { rest: `v1/${COUNT_TOKENS}` };
  return takesChats(slug, "messages") ? { rest: COUNT_TOKENS, format: "count" } : null;
}

/** Returns where a provider takes a format, itself or after a translation; null when it takes no chats. */
function placeOf(slug: string, format: ChatFormat): Place | null {
  const provider = providerRow(slug);
  if (provider?.cloud !== undefined) return { rest: format, cloud: format };
  const isCustom = slug.startsWith("custom-");
  const mayTake = isCustom || isLocal(slug);
  if (format !== "chat/completions" && (mayTake || provider?.serves?.includes(format) === true))
    return { rest: `v1/${format}` };
  const chats = slug === ECHO || isCustom ? "chat/completions" : provider?.openaiChat;
  if (chats === undefined) return null;
  return format === "chat/completions" ? { rest: chats } : { rest: format, format };
}

/** Whether a provider takes a request as it is, in OpenAI's chat format. */
function isOwnChat(slug: string, { rest, format }: Place): boolean {
  const provider = providerRow(slug);
  return format === undefined && provider?.openaiChat === rest && provider.chat === undefined;
}

/** Whether a provider takes a format, itself or after a translation. */
export function takesChats(slug: string, format: ChatFormat): boolean {
  return placeOf(slug, format) !== null;
}

/** Anthropic refuses a message that names no version; only its own client does. */
function versioned({ headers }: Step, slug: string, { rest }: Place): Step["headers"] {
  const isMessage = slug === "anthropic" && rest.startsWith("v1/messages");
  return !isMessage || headers.some(([name]) => name === "anthropic-version")
    ? headers
    : [...headers, ["anthropic-version", ANTHROPIC_VERSION]];
}
