import type { Price } from "./price.ts";
import { prices } from "./prices.ts";

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
const resellers: readonly string[] = ["aws-bedrock", "google-vertex-ai", "openrouter"];

/** Words with which resellers name an author. */
const authors: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  google: "google",
  mistral: "mistral",
  mistralai: "mistral",
  "x-ai": "xai",
  perplexity: "perplexity",
  cohere: "cohere",
};

/** Families in which another date is another model at another price, and where only `-latest` may be left out. */
const dated: ReadonlySet<string> = new Set(["mistral", "cohere"]);

/**
 * The price of a model at a provider (a path segment), or null when it is not known: nothing is guessed.
 * A date, `-latest`, `-preview` or a revision behind the name names the same price, unless the family says otherwise.
 */
export function priceOf(model: string, provider: string): Price | null {
  if (model === "" || model.length > 256) return null;
  const name = model.toLowerCase().replace(/^models\//, "");
  if (Object.hasOwn(families, provider)) return inFamily(families[provider] ?? "", name);
  if (!resellers.includes(provider)) return null;
  const plain = name.replace(/^(?:us|eu|apac|global)\./, "");
  const at = plain.search(/[./]/);
  const author = at === -1 ? "" : plain.slice(0, at);
  if (Object.hasOwn(authors, author)) return inFamily(authors[author] ?? "", plain.slice(at + 1));
  return inFamily(plain.startsWith("gemini") ? "google" : "anthropic", plain);
}

function inFamily(family: string, name: string): Price | null {
  const table = prices[family] ?? {};
  const names = dated.has(family) ? [name, name.replace(/-latest$/, "")] : namesOf(name);
  for (const candidate of names) {
    if (Object.hasOwn(table, candidate)) return table[candidate] ?? null;
    // Resellers write "claude-sonnet-4.5" for "claude-sonnet-4-5".
    const dashed = candidate.replaceAll(".", "-");
    if (Object.hasOwn(table, dashed)) return table[dashed] ?? null;
  }
  return null;
}

/** What may stand behind a model's name without changing its price; bounded, so no pattern can run long. */
const suffixes: readonly RegExp[] = [
  /-v\d{1,2}(?::\d{1,2})?$/,
  /[@-]\d{8}$/,
  /-\d{4}-\d{2}-\d{2}$/,
  /-\d{2}-\d{4}$/,
  /-\d{2}-\d{2}$/,
  /-\d{4}$/,
  /-\d{3}$/,
  /-latest$/,
  /-preview$/,
  /-exp$/,
  // Variants of the same price; ":free" is another one.
  /:(?:thinking|nitro|floor|online|extended|beta)$/,
];

/** The name as it is, then with one suffix less each time. */
function* namesOf(name: string): Generator<string, void> {
  yield name;
  for (let rounds = 0, rest = name; rounds < 4 && /[-@:]/.test(rest); rounds++) {
    const suffix = suffixes.find((pattern) => pattern.test(rest));
    rest = suffix === undefined ? "" : rest.replace(suffix, "");
    if (rest === "") return;
    yield rest;
  }
}
