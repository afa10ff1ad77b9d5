import { ApiError } from "../../http/api-error.ts";
import type { Step } from "../call/call.ts";
import { fitsPattern, modelSpellings } from "../prices/model-spellings.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { bodyText, plainBytes } from "../wire/readable-body.ts";
import {
  fallbackModels,
  formModels,
  queryModels,
  requestModel,
} from "../providers/requested-model.ts";

/**
 * Throws `forbidden` unless a step names a model, and every place from which a provider may read it names one of
 * `models`, which are in lower case. A caller must not name one model for the gateway and another for the provider.
 */
export function checkModel(step: Step, models: readonly string[], known?: string): void {
  const named = known === undefined ? modelsOf(step) : [known, ...queryModels(step.query)];
  const wrong = named.find((model) => !isAllowed(model, step.slug, models));
  if (named.length > 0 && wrong === undefined) return;
  throw new ApiError("forbidden", {
    message:
      wrong === undefined
        ? "The virtual key is for certain models, and the request does not say in a way that can be read which one it is for"
        : `The virtual key is not for the model "${`${step.slug}/${wrong}`.slice(0, 128)}"`,
  });
}

/** Whether a pattern fits a model, letter case ignored, or what the model is a version of at the same price. */
function isAllowed(model: string, slug: string, patterns: readonly string[]): boolean {
  const names = [model, ...modelSpellings(model, slug).priced].map((name) => `${slug}/${name}`);
  return patterns.some((pattern) => names.some((name) => fitsPattern(name.toLowerCase(), pattern)));
}

/** Every model that a step names: in its body, its path and its query. */
function modelsOf(step: Step): string[] {
  const { body, headers, rest, query, slug } = step;
  const bytes = plainBytes(step);
  // What cannot be read might name another model than the path does.
  if (body !== null && bytes === null) return [];
  const type = headerValue(headers, "content-type") ?? "";
  const inForm = bytes === null ? [] : formModels(bytes, type);
  if (inForm === null) return [];
  const text = /^multipart\//i.test(type) ? "" : (bodyText(step) ?? "");
  const fallbacks = fallbackModels(step, text);
  if (fallbacks === null) return [];
  const inText = [...bodyModels(text), ...fallbacks];
  const all = [...inForm, ...inText, requestModel(null, rest, slug), ...queryModels(query)];
  return [...new Set(all.filter((model) => model !== "").map(plain))];
}

/** As prices and other paths name it. */
function plain(model: string): string {
  return model.replace(/^models\//, "");
}

/** Every `model` that a JSON text names, at any depth, doubled members included. */
function bodyModels(text: string): string[] {
  const found: string[] = [];
  for (const [, name = ""] of text.matchAll(MODEL_MEMBER)) found.push(unescaped(name));
  return found;
}

const MODEL_MEMBER =
  /"(?:m|\\u006d)(?:o|\\u006f)(?:d|\\u0064)(?:e|\\u0065)(?:l|\\u006c)(?:_id)?"\s*:\s*"((?:[^"\\]|\\.){0,512})"/gi;

function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}
