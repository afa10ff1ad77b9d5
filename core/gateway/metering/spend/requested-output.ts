import { asObject, type Json, jsonObject, mayMention } from "../../../http/json.ts";
import type { Step } from "../../call/call.ts";
import type { CostQuestion } from "../cost/known-cost.ts";
import { bodyValue } from "../../wire/readable-body.ts";

export interface RequestedOutput {
  readonly tokens: number;
  /** Whether the request bounds its answer itself. */
  readonly isNamed: boolean;
}

/** Output tokens that are set aside for an answer whose request names no bound. */
export const GUESSED_OUTPUT = 4096;

/** Tokens above which a bound says no more than that it is too much. */
const MOST = 500_000_000;

/** How many prompts there are: a list of numbers is one, in tokens. */
function prompts(prompt: unknown): number {
  return Array.isArray(prompt) && typeof prompt[0] !== "number" ? Math.max(1, prompt.length) : 1;
}

/** The place of a format's bound on its answers, and of the number of answers that one request asks for. */
interface OutputFormat {
  readonly path: RegExp;
  readonly format?: Step["format"];
  /** The object that the names are members of. */
  readonly within: (body: Json) => Json;
  /** All names that some provider of the format reads; the highest counts. */
  readonly names: readonly string[];
  readonly times: (body: Json) => number;
}

const once = (): number => 1;
const itself = (body: Json): Json => body;

const formats: readonly OutputFormat[] = [
  {
    path: /(?:^|\/)responses\/*$/i,
    format: "responses",
    within: itself,
    names: ["max_output_tokens"],
    times: once,
  },
  {
    path: /(?:^|\/)messages\/*$/i,
    format: "messages",
    within: itself,
    names: ["max_tokens"],
    times: once,
  },
  {
    path: /(?:^|\/)(?:chat\/)?completions\/*$/i,
    within: itself,
    names: ["max_completion_tokens", "max_tokens"],
    times: ({ n, best_of: best, prompt }) => Math.max(count(n), count(best)) * prompts(prompt),
  },
  {
    path: /:(?:stream)?generateContent$/i,
    within: (body) => ({
      ...jsonObject(body["generation_config"]),
      ...jsonObject(body["generationConfig"]),
    }),
    names: ["maxOutputTokens", "max_output_tokens"],
    times: (body) => {
      const config = asObject(body["generationConfig"]) ?? jsonObject(body["generation_config"]);
      return Math.max(count(config["candidateCount"]), count(config["candidate_count"]));
    },
  },
  {
    path: /\/converse(?:-stream)?$/i,
    within: ({ inferenceConfig }) => jsonObject(inferenceConfig),
    names: ["maxTokens"],
    times: once,
  },
];

/**
 * The output that a request asks for at most. The bound is read only where the format of its path has it: one that the
 * provider does not read would be no bound.
 */
export function requestedOutput({ step, type, json }: CostQuestion): RequestedOutput {
  // Vectors are no tokens.
  if (type === "embeddings") return { tokens: 0, isNamed: true };
  const format = formats.find(({ format: own, path }) =>
    step.format === undefined ? path.test(step.rest) : step.format === own,
  );
  // Most requests name none of it; names can be escaped.
  if (format === undefined || json === null || !mayMention(json, MENTIONS))
    return { tokens: GUESSED_OUTPUT, isNamed: false };
  const body = asObject(bodyValue(step));
  if (body === null) return { tokens: GUESSED_OUTPUT, isNamed: false };
  const place = format.within(body);
  const named = format.names.map((name) => bound(place[name])).filter((tokens) => tokens !== null);
  const times = format.times(body);
  if (named.length === 0) return { tokens: GUESSED_OUTPUT * times, isNamed: false };
  // A member that stands there twice is read by some as its first, by others as its last.
  const written = format.names.flatMap((name) => writtenBounds(json, name));
  return { tokens: Math.min(MOST, Math.max(...named, ...written) * times), isNamed: true };
}

/** Texts of which each bound, and each number of answers, has one. */
const MENTIONS = ["max_", "maxOutput", "maxTokens", '"n"', "best_of", "candidate", '"prompt"'];

function bound(value: unknown): number | null {
  return typeof value === "number" && value > 0 ? Math.min(MOST, Math.ceil(value)) : null;
}

function count(value: unknown): number {
  return Math.min(1000, Math.max(1, bound(value) ?? 1));
}

/** Every number that a text gives to members of a name; inside of a string its quotes would be escaped. */
function writtenBounds(json: string, name: string): number[] {
  return [
    ...json.matchAll(new RegExp(`"${name}"\\s{0,64}:\\s{0,64}(\\d[\\d.eE+]{0,32})`, "g")),
  ].map(([, digits]) => bound(Number(digits)) ?? 0);
}
