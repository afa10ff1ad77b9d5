import { jsonText, parsedJson } from "../../../http/json.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { Step } from "../../call/call.ts";
import { fitsPattern, modelSpellings } from "../../prices/model-spellings.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { FORM_LIMIT } from "../../wire/multipart.ts";
import {
  beginsAsWideText,
  bodyText,
  inOtherCharset,
  isJson,
  plainBytes,
} from "../../wire/readable-body.ts";
import { jsonModels } from "../../providers/named-models.ts";
import { isInference } from "../../providers/reach/inferences.ts";
import { formModels, queryModels, requestModel } from "../../providers/requested-model.ts";

/** The allowed models, and the facts about a step that finding its models takes. */
export interface ModelCheck {
  /** In lower case. */
  readonly models: readonly string[];
  /** The step's path below its provider's base URL, without a version in front; null where that is not known. */
  readonly path: string | null;
  /** The model that is known better than from the step. @default as the step says */
  readonly known?: string | undefined;
}

/**
 * Throws `forbidden` unless a step names a model, and every place from which a provider may read it names one of
 * `models`. A caller must not name one model for the gateway and another for the provider.
 */
export function checkModel(step: Step, { models, path, known }: ModelCheck): void {
  const named = known === undefined ? modelsOf(step, path) : [known, ...queryModels(step.query)];
  const wrong = named.find((model) => !isAllowedModel(model, step.slug, models));
  if (named.length > 0 && wrong === undefined) return;
  throw new ApiError("forbidden", {
    message:
      wrong === undefined
        ? `The virtual key is for certain models, and the request does not say in a way that can be read which one it is for${unread(step)}`
        : `The virtual key is not for the model "${`${step.slug}/${wrong}`.slice(0, 128)}"`,
  });
}

/** Returns the end of a refusal for a body that streams through: the sizes up to which bodies are read. */
function unread({ body }: Step): string {
  return body instanceof ReadableStream
    ? `: JSON is read up to 10 MB, a form up to ${FORM_LIMIT / 1024 / 1024} MiB`
    : "";
}

/** Whether a pattern fits a model, letter case ignored, or what the model is a version of at the same price. */
export function isAllowedModel(model: string, slug: string, patterns: readonly string[]): boolean {
  const names = [model, ...modelSpellings(model, slug).priced].map((name) => `${slug}/${name}`);
  return patterns.some((pattern) => names.some((name) => fitsPattern(name.toLowerCase(), pattern)));
}

/** Every model that a step names, in its body, its path and its query; none for a body that could name another. */
function modelsOf(step: Step, path: string | null): string[] {
  const { body, headers, rest, query, slug } = step;
  const inBody = body === null ? [] : bodyModels(step, headers, path);
  if (inBody === null) return [];
  const all = [...inBody, requestModel(null, rest, slug), ...queryModels(query)];
  return [...new Set(all.filter((model) => model !== "").map(plain))];
}

/** Null for a body that cannot be read. */
function bodyModels(
  step: Step,
  headers: Step["headers"],
  path: string | null,
): readonly string[] | null {
  const bytes = plainBytes(step);
  if (bytes === null) return null;
  const type = headerValue(headers, "content-type") ?? "";
  if (/^multipart\//i.test(type)) return formModels(bytes, type);
  const text = bodyText(step) ?? "";
  if (text === "") return [];
  const inForm = formModels(bytes, type) ?? [];
  const isText = isJson(step, bytes);
  if (isText ? inOtherCharset(type) : beginsAsWideText(bytes)) return null;
  const named = isText ? jsonModels(text, step.slug) : inForm;
  return named === null || isKnownFormat(step, path) ? named : [...named, ...textModels(text)];
}

/** Whether a step is in a format whose places of models are known: it asks for an inference. */
function isKnownFormat(
  { slug, method, origin, format, unified }: Step,
  path: string | null,
): boolean {
  if (format !== undefined || unified === true) return true;
  return path !== null && isInference({ slug, method, origin, path });
}

/** As prices and other paths name it. */
function plain(model: string): string {
  return model.replace(/^models\//, "");
}

/** Every `model` that a text names at any depth, doubled members included: the rule where no format is known. */
function textModels(text: string): string[] {
  const found: string[] = [];
  for (const [, name = ""] of text.matchAll(MODEL_MEMBER))
    found.push(jsonText(parsedJson(`"${name}"`), name));
  return found;
}

const MODEL_MEMBER =
  /"(?:m|\\u006d)(?:o|\\u006f)(?:d|\\u0064)(?:e|\\u0065)(?:l|\\u006c)(?:_id)?"\s*:\s*"((?:[^"\\]|\\.){0,512})"/gi;
