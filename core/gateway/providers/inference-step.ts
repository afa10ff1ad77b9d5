import { ApiError } from "../../http/api-error.ts";
import { didYouMean } from "../../text/nearest.ts";
import type { Json } from "../../http/json.ts";
import type { HeaderPair } from "../../ports.ts";
import { segmentOf } from "./author-segment.ts";
import type { Step } from "../call/call.ts";
import {
  AUTO_MODEL,
  type OperatorNames,
  fullModelHint,
  readUnified,
  renamedStep,
  type UnifiedPath,
  unifiedStep,
} from "./unified-step.ts";
import { namedModel, readChatBody } from "../chat/chat-body.ts";
import { credentialHeaders, ECHO, providers } from "./known/table.ts";
import { jsonBody } from "../wire/readable-body.ts";
import { modelPath } from "../chat/chat-format.ts";

export type InferencePath = UnifiedPath | "run";

const MODEL_FORM = "{author}/{model}";

/** A request to one of {@link InferencePath}. */
export interface InferenceRequest {
  readonly body: Step["body"];
  readonly headers: readonly HeaderPair[];
  /** The model that its path names. @default the body names it */
  readonly model?: string | undefined;
  /** The operator's names for models. */
  readonly names: OperatorNames | undefined;
}

/**
 * Returns the step that a REST inference request stands for: `model` is `author/model`, `dynamic/{route}`, a Workers AI
 * model (`@cf/…`) or one of `names`. Throws `chat_format` for a model of no provider that takes chats.
 */
export function inferenceStep(
  path: InferencePath,
  { body, headers, model: modelInPath, names }: InferenceRequest,
): Step {
  // `Authorization` holds an API token here, never a provider's key.
  const kept = headers.filter(([name]) => !credentialHeaders.has(name));
  const step: Step = { slug: "", rest: "", query: "", method: "POST", headers: kept, body: null };
  if (path === "run") return runStep(readChatBody({ headers, body }), modelInPath, { step, names });
  const reading = { bytes: null, text: null, value: null };
  const asked: Step = { ...step, rest: path, body, reading };
  const given = readUnified(asked);
  const model = fullName(namedModel(given, MODEL_FORM), names);
  return renamedStep(asked, { ...given, model }, names);
}

/** Returns the model as the unified endpoint takes it. */
function fullName(named: string, names: OperatorNames | undefined): string {
  if (names?.has(named) === true) return named;
  const { slug, model } = modelOf(named, AUTO_MODEL);
  return `${slug}/${model}`;
}

/** `{model, input}`, or the input alone with the model in the path. Other models than Workers AI's are chats. */
function runStep(
  given: Readonly<Record<string, unknown>>,
  modelInPath: string | undefined,
  { step, names }: { readonly step: Step; readonly names: OperatorNames | undefined },
): Step {
  const named = modelInPath ?? namedModel(given, MODEL_FORM);
  const input = modelInPath === undefined && "input" in given ? given["input"] : given;
  const full = fullName(named, names);
  if (names?.has(full) !== true && full.startsWith("workers-ai/")) {
    return {
      ...step,
      slug: "workers-ai",
      rest: `run/${modelPath(full.slice("workers-ai/".length))}`,
      ...jsonBody(input ?? {}),
    };
  }
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw new ApiError("chat_format", { message: "input: an object with messages is needed" });
  }
  const chat: Json = { ...input, model: full };
  return unifiedStep({ ...step, rest: "chat/completions" }, () => chat, names);
}

/**
 * Returns the path segment and the model that a name stands for: `author/model`, `@cf/…`, `dynamic/{route}`, or the one
 * that is taken as it is. Throws `chat_format` for anything else.
 */
export function modelOf(
  named: string,
  asIs?: string,
): { readonly slug: string; readonly model: string } {
  if (/^@(?:cf|hf)\//.test(named)) return { slug: "workers-ai", model: named };
  const slash = named.indexOf("/");
  const slug = segmentOf(named.slice(0, Math.max(0, slash)));
  const known = slug === "dynamic" || slug === ECHO || slug.startsWith("custom-") || named === asIs;
  if (slash > 0 && slash < named.length - 1 && (known || Object.hasOwn(providers, slug))) {
    return { slug, model: named.slice(slash + 1) };
  }
  const hint =
    slug === "" ? fullModelHint(named) : didYouMean(slug.slice(0, 64), Object.keys(providers));
  throw new ApiError("chat_format", {
    message: `model must be "${MODEL_FORM}" of a known provider, got "${named.slice(0, 128)}"${hint}`,
  });
}
