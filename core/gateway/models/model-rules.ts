import { ownMember } from "../../http/json.ts";
import { fitsPattern, modelSpellings, providerOfFamily } from "../prices/model-spellings.ts";
import file from "./model-rules.json" with { type: "json" };

/** How a model thinks. Its words are explained by the file's schema. */
export interface ThinkingRules {
  readonly byDefault: boolean;
  readonly off?: string;
  readonly efforts?: readonly string[];
  /** Tokens by effort. */
  readonly budgets?: Readonly<Record<string, number | undefined>>;
  readonly least?: number;
  readonly most?: number;
  readonly refuses?: readonly string[];
  readonly yieldsTo?: readonly string[];
}

/** The parameters that some models of one provider take. */
export interface ModelRules {
  /** Names, in which `*` stands for any text. */
  readonly models: readonly string[];
  /** The address of a public page that says so. */
  readonly source: string;
  readonly refuses?: readonly string[];
  readonly oneSampler?: boolean;
  /** Null: it does not think. @default not known: everything passes */
  readonly thinking?: ThinkingRules | null;
  /** The most tokens of an answer. @default not known */
  readonly output?: number;
}

const providers: Readonly<Record<string, readonly ModelRules[]>> = file.providers;

/** Providers that serve the models of others as these are: each model has the rules of its author's. */
const CLOUDS: ReadonlySet<string> = new Set(["aws-bedrock", "azure-openai", "google-vertex-ai"]);

/**
 * Returns the parameters that a model of a provider (a path segment) takes; undefined for an unknown model or provider,
 * whose requests pass as they are. Names are compared without their date; the first row that names the model counts.
 */
export function modelRules(slug: string, model: string): ModelRules | undefined {
  const author = CLOUDS.has(slug) ? modelSpellings(model, slug).family : null;
  const by = author === null ? slug : providerOfFamily(author);
  const rows = ownMember(providers, by);
  if (rows === undefined) return undefined;
  const names = modelSpellings(model, slug).priced;
  return rows.find(({ models }) =>
    models.some((pattern) => names.some((name) => fitsPattern(name, pattern))),
  );
}
