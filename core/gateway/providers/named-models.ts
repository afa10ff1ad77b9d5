import { isObject, type Json } from "../../http/json.ts";
import { jsonPlaces, unambiguousJson } from "../wire/json-places.ts";
import { jsonOf } from "../wire/readable-body.ts";
import { type ModelRequest, namedOnce, stepModel } from "./requested-model.ts";

interface ModelPlace {
  /** The provider whose alone it is. @default anybody's */
  readonly only?: string;
  /** Whether its entries can be objects that hold the name. @default no */
  readonly objects?: true;
}

const anybodys: ModelPlace = {};
const openRouters: ModelPlace = { only: "openrouter" };

/**
 * Places where the formats of providers name a model. Elsewhere a `model` is the caller's own word: in the input of a tool,
 * in the example of a schema, in metadata.
 */
const places: readonly (readonly [string, ModelPlace])[] = [
  // OpenAI, Anthropic and those that speak their formats; ElevenLabs and Cartesia call it an id.
  ["model", anybodys],
  ["model_id", anybodys],
  // Models to fall back on: https://openrouter.ai/docs/features/model-routing,
  // https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
  ["models", anybodys],
  ["fallbacks", { objects: true }],
  ["fallbacks.model", anybodys],
  ["fallback_models", anybodys],
  // Tools that ask a model of their own, such as OpenAI's image_generation and Anthropic's advisor.
  ["tools.model", anybodys],
  ["tools.parameters.model", openRouters],
  ["plugins.model", openRouters],
  ["plugins.models", openRouters],
  ["plugins.allowed_models", openRouters],
  ["plugins.analysis_models", openRouters],
  // Lists of requests: Gemini's embeddings, Anthropic's batches.
  ["requests.model", anybodys],
  ["requests.params.model", anybodys],
  ["requests.params.fallbacks.model", anybodys],
  ["generate_content_request.model", anybodys],
  // OpenAI's realtime sessions, as bodies and as messages; Gemini's live ones.
  ["session.model", anybodys],
  ["session.input_audio_transcription.model", anybodys],
  ["session.audio.input.transcription.model", anybodys],
  ["response.model", anybodys],
  ["setup.model", anybodys],
  // Amazon's Converse hands these to the model.
  ["additional_model_request_fields.model", anybodys],
  ["additional_model_request_fields.fallbacks.model", anybodys],
  // https://replicate.com/docs/reference/http#predictions.create
  ["version", { only: "replicate" }],
];

const read = jsonPlaces(places);

/** The ends of the names of those members. Names can be escaped, and a zero stands in no JSON. */
const MENTIONED = /(?:model(?:_?ids?|s)?|fallbacks|"version)"|\\u(?:00[4-7]|017f)|\0/iu;

/**
 * Lists every model that a JSON body names for a provider (`slug`); null for a body that parsers may read differently. Most
 * bodies name it first and nowhere else, and need no parsing.
 */
export function jsonModels(json: string, slug: string): string[] | null {
  const first = namedOnce(json);
  if (first !== null && !MENTIONED.test(json.slice(first.end))) return [first.name];
  const root = unambiguousJson(json);
  if (root === undefined) return null;
  const found = new Set<string>();
  let isOdd = false;
  read(root, ({ only, objects }, value) => {
    if (value === null || (only !== undefined && only !== slug)) return;
    if (typeof value === "string") found.add(value.slice(0, 512));
    else if (objects !== true || !isObject(value) || !namesModel(value)) isOdd = true;
  });
  return isOdd ? null : [...found].filter((name) => name !== "");
}

/** Whether an entry of a list of models holds the name where it is looked for. */
function namesModel(entry: Json): boolean {
  return Object.keys(entry).some((name) => name.toLowerCase() === "model");
}

/** Whether a provider may answer with another model than a request's own, where the request names several. */
function mayFallBack(slug: string): boolean {
  return slug === "anthropic" || slug === "openrouter" || slug.startsWith("custom-");
}

const NONE: readonly string[] = [];
/** The ends of the names of members with further models; few texts have one. */
const FURTHER = /(?:models|fallbacks|"plugins)"|\\u(?:00[4-7]|017f)/iu;

/**
 * Lists models that a JSON body names beside its own (`model`), for when that cannot answer; null where that cannot be
 * read.
 */
export function furtherModels(
  json: string | null,
  slug: string,
  model: string,
): readonly string[] | null {
  if (json === null || !mayFallBack(slug) || !FURTHER.test(json)) return NONE;
  return jsonModels(json, slug)?.filter((name) => name !== model) ?? null;
}

export function furtherModelsOf(step: ModelRequest): readonly string[] | null {
  if (!mayFallBack(step.slug)) return NONE;
  const json = jsonOf(step);
  return furtherModels(json, step.slug, stepModel(step, json));
}

/** A request whose answer may come from another model than its own. */
export interface NamedModels {
  readonly slug: string;
  /** Those that it names beside its own; null where they cannot be read. */
  readonly further: readonly string[] | null;
}

/** Whether an answer has to be looked at for the model that it comes from: OpenRouter chooses one itself, too. */
export function mayBeOfAnother({ slug, further }: NamedModels): boolean {
  return slug === "openrouter" || further?.length !== 0;
}
