import { ApiError, invalidOptions, invalidRequest } from "../../../http/api-error.ts";
import { takesChats } from "../../providers/unified-step.ts";
import { chatFormats, type ChatFormat } from "../../chat/chat-body.ts";
import type { Price } from "../../prices/price.ts";
import { fitsPattern } from "../../prices/model-spellings.ts";
import { modelOf } from "../../providers/inference-step.ts";
import type { ModelRouter, RouterCandidate } from "./model-router.ts";
import { type Ability, abilities, type Needs } from "../../chat/conversation.ts";

export interface PoolCandidate {
  /** As the operator wrote it. */
  readonly name: string;
  /** The provider's path segment, and the model's name there. */
  readonly slug: string;
  readonly model: string;
  /** All names under which a client may allow the model, and its provider. */
  readonly names: readonly string[];
  readonly providers: readonly string[];
  readonly price: Price | null;
  readonly contextTokens: number;
  readonly lacks: readonly Ability[];
}

export type PriceLookup = (model: string, provider: string) => Price | null;

const CANDIDATES = 64;

/** Reads the candidates of the options; throws `invalid_options` that names the one at fault. */
export function readPool(
  { candidates, choose }: ModelRouter,
  priceOf: PriceLookup,
): readonly PoolCandidate[] {
  if (candidates.length === 0 || candidates.length > CANDIDATES) {
    throw invalid(`candidates: expected 1 to ${CANDIDATES} models, got ${candidates.length}`);
  }
  const pool = candidates.map((one) => readCandidate(one, priceOf));
  for (const [index, { name, slug, model, price }] of pool.entries()) {
    if (pool.findIndex((other) => other.slug === slug && other.model === model) !== index) {
      throw invalid(`"${name}" is a candidate twice`);
    }
    if (price === null && choose === undefined) {
      throw invalid(`no price is known of "${name}": give its "price"`);
    }
  }
  return pool;
}

function readCandidate(given: RouterCandidate, priceOf: PriceLookup): PoolCandidate {
  const { model: name, contextTokens = Number.POSITIVE_INFINITY, lacks = [] } = given;
  // It stands in a header of the answer.
  if (!/^[!-+\--~]{1,256}$/.test(name))
    throw invalid(`"${name.slice(0, 64)}" is not a model's name`);
  const { slug, model } = split(name);
  if (!chatFormats.some((format) => takesChats(slug, format))) {
    throw invalid(`"${name}": expected a model of a provider that takes chats`);
  }
  const price = given.price ?? priceOf(model, slug);
  const numbers = price === null ? [] : [price.input, price.output, price.cached ?? 0];
  if (!(contextTokens > 0) || !numbers.every((number) => number >= 0)) {
    throw invalid(`"${name}": prices and "contextTokens" are positive numbers`);
  }
  const unknown = lacks.find((ability) => !abilities.includes(ability));
  if (unknown !== undefined) throw invalid(`"${name}" lacks "${unknown.slice(0, 32)}"`);
  const author = name.startsWith("@") ? slug : name.slice(0, name.indexOf("/"));
  return {
    name,
    slug,
    model,
    names: [name, `${slug}/${model}`],
    providers: [author, slug],
    price,
    contextTokens,
    lacks,
  };
}

function split(name: string): { readonly slug: string; readonly model: string } {
  try {
    return modelOf(name);
  } catch {
    throw invalid(`"${name}": expected "{provider}/{model}" of a known provider`);
  }
}

function invalid(problem: string): ApiError {
  return invalidOptions(`router: ${problem}`);
}

/** The models and providers that a client allows: entries of the two headers. */
export interface AllowedModels {
  readonly models: readonly string[] | undefined;
  readonly providers: readonly string[] | undefined;
}

/**
 * Returns the candidates that a client allows; a model must match both headers. Throws `invalid_request` for an entry that
 * no candidate matches, and when no candidate matches both.
 */
export function allowedOf(
  pool: readonly PoolCandidate[],
  allowed: AllowedModels,
): readonly PoolCandidate[] {
  const { models, providers } = allowed;
  const byModel = filtered(pool, models, "allowed-models", (entry, { names }) =>
    names.some((name) => matches(entry, name)),
  );
  const byBoth = filtered(pool, providers, "allowed-providers", (entry, candidate) =>
    candidate.providers.includes(entry),
  ).filter((candidate) => byModel.includes(candidate));
  if (byBoth.length > 0) return byBoth;
  throw invalidRequest(
    "Headers cf-aig-allowed-models and cf-aig-allowed-providers: no model of the automatic router matches both",
  );
}

function filtered(
  pool: readonly PoolCandidate[],
  entries: readonly string[] | undefined,
  header: string,
  fits: (entry: string, candidate: PoolCandidate) => boolean,
): readonly PoolCandidate[] {
  if (entries === undefined) return pool;
  for (const entry of entries) {
    if (pool.some((candidate) => fits(entry, candidate))) continue;
    throw invalidRequest(
      `Header cf-aig-${header}: no model of the automatic router matches "${entry.slice(0, 128)}"`,
    );
  }
  return pool.filter((candidate) => entries.some((entry) => fits(entry, candidate)));
}

/** Whether a name matches a pattern, in which `*` stands for any characters but `/`. */
export function matches(pattern: string, name: string): boolean {
  const [patterns, names] = [pattern.split("/"), name.split("/")];
  return (
    patterns.length === names.length &&
    patterns.every((part, index) => fitsPattern(names[index] ?? "", part))
  );
}

/** Returns the candidates that can take a request; throws `chat_format` naming the ability that all of them lack. */
export function ableOf(
  pool: readonly PoolCandidate[],
  needs: Needs,
  format: ChatFormat,
): readonly PoolCandidate[] {
  const able = pool.filter(
    ({ slug, lacks, contextTokens }) =>
      takesChats(slug, format) &&
      needs.contextTokens <= contextTokens &&
      !needs.abilities.some((ability) => lacks.includes(ability)),
  );
  if (able.length > 0) return able;
  const what = [...needs.abilities, `about ${needs.contextTokens} tokens`].join(", ");
  throw new ApiError("chat_format", {
    message: `No model that the automatic router may choose takes this request, which needs: ${what}`,
  });
}
