import { ownMember } from "../../http/json.ts";
import { decodedValue } from "../wire/own-tokens.ts";

/** The names of one model at one provider, the most specific first. */
export interface ModelSpellings {
  /** The family whose price list the model is on; null = unknown. */
  readonly family: string | null;
  /** By which a price may be found: every one of them is sold at the same price as the next. */
  readonly priced: readonly string[];
  /** Names by which a rule may name the model: those of `priced`, and those of its base model. */
  readonly covered: readonly string[];
}

/** The family of models that a provider sells under its own names; the others resell. */
const families: Readonly<Record<string, string>> = {
  openai: "openai",
  "azure-openai": "openai",
  anthropic: "anthropic",
  "google-ai-studio": "google",
  grok: "xai",
  groq: "groq",
  mistral: "mistral",
  "perplexity-ai": "perplexity",
  cohere: "cohere",
  cerebras: "cerebras",
};

/** Providers that sell the models of others at about the author's own price. */
const resellers: ReadonlySet<string> = new Set(["aws-bedrock", "google-vertex-ai", "openrouter"]);

/** Words with which resellers, and callers, name an author. */
const authors: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "google",
  mistral: "mistral",
  mistralai: "mistral",
  "x-ai": "xai",
  perplexity: "perplexity",
  cohere: "cohere",
  amazon: "amazon",
};

/** Returns the path segment of the provider whose own price list a family is; else the family's name. */
export function providerOfFamily(family: string): string {
  // Amazon sells its own models beside those of others.
  if (family === "amazon") return "aws-bedrock";
  const found = Object.entries(families).find(([, one]) => one === family);
  return found?.[0] ?? family;
}

const MONTH = "(?:0[1-9]|1[0-2])";
const DAY = "(?:0[1-9]|[12]\\d|3[01])";
const YEAR = "20\\d\\d";
const ISO_DATE = new RegExp(`-${YEAR}-${MONTH}-${DAY}$`);
const SHORT_DATE = new RegExp(`-${MONTH}${DAY}$`);
const PLAIN_DATE = new RegExp(`[@-]${YEAR}${MONTH}${DAY}$`);
const LATEST = /-latest$/;
/** The revision of a model at Amazon: "cohere.embed-v4:0". */
const REVISION = /:\d{1,2}$/;

/**
 * Suffixes behind a model's name that do not change its price, as each author writes them: snapshots by their date, aliases
 * of the newest one, previews. Where another date is another model at another price, no date is left out. Each is anchored
 * and bounded, so that matching is fast. OpenAI: https://platform.openai.com/docs/models (snapshots). Anthropic:
 * https://docs.anthropic.com/en/docs/about-claude/models/overview (names on Bedrock and Vertex AI included). Google:
 * https://ai.google.dev/gemini-api/docs/models (version name patterns). xAI: https://docs.x.ai/docs/models.
 */
const versions: Readonly<Record<string, readonly RegExp[]>> = {
  openai: [ISO_DATE, SHORT_DATE, LATEST, /-preview$/],
  anthropic: [/-v\d{1,2}(?::\d{1,2})?$/, PLAIN_DATE, /(?:-|@)latest$/, /@default$/],
  google: [
    new RegExp(`-${MONTH}-${YEAR}$`),
    new RegExp(`-${MONTH}-${DAY}$`),
    /-0\d\d$/,
    LATEST,
    /-preview$/,
    /-exp$/,
  ],
  xai: [SHORT_DATE, LATEST],
  mistral: [LATEST],
  cohere: [LATEST, /(?<=-v\d)\.0$/, REVISION],
  amazon: [REVISION],
  perplexity: [],
  groq: [],
  cerebras: [],
};

/** Variants of OpenRouter at the same price; ":free" is another one. */
const SAME_PRICE = /:(?:thinking|nitro|floor|online|extended|beta)$/;

/** Names of a model that the author calls a version of another one, at a price of its own. */
const versionOf: Readonly<Record<string, string>> = {
  // https://platform.openai.com/docs/models/chatgpt-4o-latest: "GPT-4o model used in ChatGPT".
  "chatgpt-4o": "gpt-4o",
};

/** The most pieces that are left out of one name. */
const ROUNDS = 4;
const LONGEST_NAME = 256;

/**
 * Returns the names under which a model is known, as its provider (a path segment) writes them: letter case, `models/`,
 * dates, `-latest` and the spellings of resellers aside. A wrong name would charge the wrong price, so a model that is not
 * surely the same shares no name with it.
 */
export function modelSpellings(model: string, provider: string): ModelSpellings {
  const name = normalized(model, provider);
  if (name === "" || model.length > LONGEST_NAME * 2)
    return { family: null, priced: [], covered: [] };
  const { family, prefix, bare } = placed(name, provider);
  const fineTune = /^ft:([^:]{1,128})(?::|$)/.exec(bare)?.[1];
  if (fineTune !== undefined) return fineTuned(bare, fineTune, family);
  const plain = [...without(bare, family)];
  const dashed = plain.map(withDashes);
  const priced = unique([
    ...(prefix === "" ? [] : plain.map((one) => prefix + one)),
    ...plain,
    ...dashed,
  ]);
  const bases = plain.flatMap((one) => ownMember(versionOf, one) ?? []);
  const variant = /^(.+):[\w-]{1,32}$/.exec(bare)?.[1];
  const free = family === null || variant === undefined ? [] : [...without(variant, family)];
  return { family, priced, covered: unique([...priced, ...bases, ...free]) };
}

/** Returns the name as a rule or a price writes it: no case, no `models/`. */
export function plainName(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/^\/?(?:publishers\/[\w-]{1,64}\/)?models\//, "");
}

function normalized(model: string, provider: string): string {
  const decoded = model.includes("%") ? decodedValue(model) : model;
  const name = plainName(decoded);
  if (!name.startsWith("arn:")) return name;
  // Only these two kinds of Amazon's resources name the model; a profile of one's own, or a custom model, could be any.
  const arn = /^arn:aws[\w-]*:bedrock:[\w-]*:\d*:(?:foundation-model|inference-profile)\/([^/]+)$/;
  return provider === "aws-bedrock" ? (arn.exec(name)?.[1] ?? name) : name;
}

interface Placed {
  readonly family: string | null;
  /** The text before the author's own name of the model. */
  readonly prefix: string;
  readonly bare: string;
}

function placed(name: string, provider: string): Placed {
  const first = ownMember(families, provider);
  if (first !== undefined) return withoutAuthor(name, provider, first);
  if (!resellers.has(provider)) return { family: null, prefix: "", bare: name };
  // Amazon's inference profiles begin with a region.
  const region = /^(?:us|us-gov|eu|apac|jp|au|ca|global)\./.exec(name)?.[0] ?? "";
  const rest = name.slice(region.length);
  const at = rest.search(/[./]/);
  const author = ownMember(authors, at === -1 ? "" : rest.slice(0, at));
  if (author !== undefined)
    return {
      family: author,
      prefix: name.slice(0, region.length + at + 1),
      bare: rest.slice(at + 1),
    };
  if (rest.startsWith("gemini")) return { family: "google", prefix: region, bare: rest };
  if (/^(?:titan|nova)-/.test(rest)) return { family: "amazon", prefix: region, bare: rest };
  return { family: rest.startsWith("claude") ? "anthropic" : null, prefix: region, bare: rest };
}

/** Some clients write `openai/gpt-4o` also where the address names the provider. */
function withoutAuthor(name: string, provider: string, family: string): Placed {
  const at = name.indexOf("/");
  const word = name.slice(0, Math.max(0, at));
  const isAuthor = word === provider || ownMember(authors, word) === family;
  return isAuthor
    ? { family, prefix: name.slice(0, at + 1), bare: name.slice(at + 1) }
    : { family, prefix: "", bare: name };
}

/** A fine-tuned model costs more than its base: it is a version of it that has no price but one of its own. */
function fineTuned(name: string, base: string, family: string | null): ModelSpellings {
  const bases = [...without(base, family)];
  const priced = unique([name, ...bases.map((one) => `ft:${one}`)]);
  return { family, priced, covered: unique([...priced, ...bases]) };
}

/** Yields the name as it is, then with one piece less each time. */
function* without(name: string, family: string | null): Generator<string, void> {
  yield name;
  const patterns = family === null ? [] : [...(versions[family] ?? []), SAME_PRICE];
  for (let round = 0, rest = name; round < ROUNDS; round++) {
    const found = patterns.find((pattern) => pattern.test(rest));
    if (found === undefined) return;
    rest = rest.replace(found, "");
    yield rest;
  }
}

/** Resellers write "claude-sonnet-4.5" for "claude-sonnet-4-5". */
function withDashes(name: string): string {
  return name.startsWith("claude") ? name.replaceAll(".", "-") : name;
}

function unique(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}

/**
 * Whether a model's name fits a pattern, in which `*` stands for any text. Each part between stars is looked for once,
 * from left to right, so that no pattern can be made slow.
 */
export function fitsPattern(name: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
