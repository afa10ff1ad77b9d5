import { boundedJson } from "../../http/json.ts";
import { partsNamed } from "../../http/json/json-source.ts";
import { partsOf } from "../wire/multipart.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import {
  beginsAsJson,
  bodyValue,
  plainBytes,
  type ReadableRequest,
} from "../wire/readable-body.ts";
import { MODEL_SEGMENT, providerRow } from "./known/table.ts";

/** A body whose first member is the model, as the official clients write it. */
const MODEL_FIRST = /^\s*\{\s*"model"\s*:\s*"([^"\\]{0,256})"\s*[,}]/;

export interface ModelRequest extends ReadableRequest {
  readonly slug: string;
  /** Raw path behind the provider segment. */
  readonly rest: string;
  /** Raw query with its question mark, or empty. */
  readonly query: string;
}

/**
 * Returns the model that a step names: in its form, else as {@link requestModel}, else in its query; `json` is the body's
 * text.
 */
export function stepModel(step: ModelRequest, json: string | null): string {
  const { headers, rest, query, slug } = step;
  const type = headerValue(headers, "content-type") ?? "";
  const bytes = plainBytes(step);
  const inForm = bytes === null ? "" : formModel(bytes, type);
  const value = (): unknown => (json === null ? undefined : bodyValue(step));
  return inForm || requestModel(json, rest, slug, value) || queryModel(query);
}

/**
 * Returns the model that a request to a provider (`slug`) names: in its JSON body, else in its path; the other way round
 * where the provider's row says so (`modelInPath`). Null for a body other than JSON. Most bodies need no parsing for it,
 * and parsing a long conversation costs more than all the rest of its log row; `value` is what the body says.
 */
export function requestModel(
  body: string | null,
  given: string,
  slug: string,
  value: () => unknown = () => boundedJson(body ?? ""),
): string {
  const path = withSingleSlashes(given);
  const own = providerRow(slug)?.modelInPath;
  const answersWith = own === undefined ? "" : pathModel(path, own);
  if (answersWith !== "") return answersWith;
  const named = (body === null ? null : namedOnce(body)?.name) ?? modelName(value(), "");
  return named === "" ? modelName(null, path) : named;
}

/** Many servers take several slashes for one. */
function withSingleSlashes(path: string): string {
  const isPlain = !path.startsWith("/") && !path.includes("//");
  return isPlain ? path : path.replace(/^\/+/, "").replaceAll(/\/{2,}/g, "/");
}

function pathModel(path: string, own: RegExp): string {
  return own.exec(path)?.[1]?.slice(0, 256) ?? modelName(null, path);
}

/** Returns the first model that a query names; empty without one. */
export function queryModel(query: string): string {
  return queryModels(query)[0] ?? "";
}

export function queryModels(query: string): string[] {
  return query === "" ? [] : modelsIn(new URLSearchParams(query));
}

/**
 * Returns the first model that a form names (uploads of sounds and pictures); empty for other bodies, or a form without
 * one.
 */
export function formModel(body: Uint8Array, contentType: string): string {
  return formModels(body, contentType)?.[0] ?? "";
}

/** Lists the models that a form names; empty for other bodies, null for a form that cannot be read. */
export function formModels(body: Uint8Array, contentType: string): string[] | null {
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  // curl calls any body a form of this type, and many servers read JSON whatever its type.
  if (/^application\/x-www-form-urlencoded\b/i.test(contentType))
    return beginsAsJson(body) ? [] : modelsIn(new URLSearchParams(text(body)));
  if (!/^multipart\/form-data\b/i.test(contentType)) return [];
  // Some take a part with an empty file name for a field.
  const fields = partsOf(body, contentType)?.filter(
    ({ name, fileName }) => MODEL_FIELD.test(name) && (fileName ?? "") === "",
  );
  return fields?.map((field) => text(field.body.subarray(0, NAME_LIMIT))) ?? null;
}

function modelsIn(parameters: URLSearchParams): string[] {
  const found = [...parameters].filter(([name]) => MODEL_FIELD.test(name));
  return found.map(([, value]) => value.slice(0, NAME_LIMIT));
}

/** Characters of a model's name that are looked at. */
const NAME_LIMIT = 256;
const MODEL_FIELD = /^model(?:_id)?(?:\[\d*\])?$/i;

/**
 * Returns the model of a body that names it first and, spelled out or escaped, nowhere again: the last one would count.
 * `end` is where the rest begins.
 */
export function namedOnce(body: string): { readonly name: string; readonly end: number } | null {
  const found = MODEL_FIRST.exec(body);
  if (found === null) return null;
  const end = found[0].length;
  // Engines stop at each first character of a searched string, and prose and code hold more quotes than letters "m". Each
  // letter of the name, if escaped, begins with \u006.
  const isNamedAgain = body.includes('model"', end) || body.includes("\\u006", end);
  return isNamedAgain ? null : { name: found[1] ?? "", end };
}

/** Whether a request names more than one model in its query, its form or its JSON (`json`), as its own. */
export function namesModelTwice(step: ModelRequest, json: string | null): boolean {
  if (queryModels(step.query).length > 1) return true;
  if (json !== null && hasModelTwice(json)) return true;
  const type = headerValue(step.headers, "content-type") ?? "";
  const bytes = /form/i.test(type) ? plainBytes(step) : null;
  return bytes !== null && (formModels(bytes, type)?.length ?? 0) > 1;
}

/** Whether a JSON object has more than one member `model`. Few bodies have to be looked through for it. */
function hasModelTwice(body: string): boolean {
  const first = body.indexOf('model"');
  const mayBe = first !== -1 && body.includes('model"', first + 1);
  return (mayBe || body.includes("\\u00")) && partsNamed(body, "model").length > 1;
}

/** Returns the kind of work that a provider path asks for, as clients filter by `model_type`. */
export function modelType(path: string): string | null {
  for (const [pattern, type] of modelTypes) if (pattern.test(path)) return type;
  return null;
}

const modelTypes: readonly (readonly [RegExp, string])[] = [
  [/embed/i, "embeddings"],
  [/audio\/speech|text-to-speech/i, "text-to-speech"],
  [/audio\/|speech-to-text|\/listen/i, "speech-to-text"],
  [/images?\//i, "image-generation"],
  [
    /chat|messages|responses|generateContent|api\/generate|completions?|converse|\/run\//i,
    "text-generation",
  ],
];

/** Returns the model that a request names: in its JSON body, else in its path (Gemini, Bedrock, Azure, Workers AI). */
export function modelName(body: unknown, path: string): string {
  if (typeof body === "object" && body !== null) {
    // ElevenLabs and Cartesia call it an id.
    const { model, model_id: id } = body as { model?: unknown; model_id?: unknown };
    const named = typeof model === "string" ? model : id;
    if (typeof named === "string") return named.slice(0, 256);
  }
  const inPath = MODEL_SEGMENT.exec(path)?.[1];
  const name = inPath ?? /(@(?:cf|hf)\/[^?]+)/.exec(path)?.[1] ?? "";
  return name.slice(0, 256);
}
