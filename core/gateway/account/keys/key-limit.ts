import * as v from "valibot";
import { didYouMean } from "../../../text/nearest.ts";
import { jsonObject } from "../../../http/json.ts";
import { formatUsd } from "../../metering/ledger/usd.ts";
import type { Budget, Limit } from "../../metering/ledger/budget.ts";
import { isAllowedModel } from "./check-model.ts";

export type KeyLimit = Limit & {
  /** Patterns of the models that it counts, in lower case. @default every model */
  readonly models?: readonly string[];
};

/** The models that a request names at its provider; null = they cannot be read. */
export type RequestModels = {
  readonly slug: string;
  readonly names: readonly string[] | null;
};

const LONGEST_WINDOW = 366 * 24 * 3600;
const MOST_LIMITS = 20;

export const modelPattern: v.GenericSchema<unknown, string> = v.pipe(
  v.string(),
  v.regex(/^[^\s/]+\/\S{1,255}$/, 'expected "{provider}/{model}", "*" standing for any text'),
);

const window = v.union(
  [
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(LONGEST_WINDOW)),
    v.picklist(["day", "week", "month"]),
  ],
  `expected "day", "week", "month" or a whole number of seconds up to ${LONGEST_WINDOW}`,
);
const models = v.pipe(
  v.array(v.pipe(modelPattern, v.toLowerCase())),
  v.minLength(1, "expected at least one; leave it out for every model"),
  v.maxLength(100),
);
const common = {
  window: v.optional(v.nullable(window), null),
  technique: v.optional(v.picklist(["fixed", "sliding"]), "fixed"),
  soft: v.exactOptional(v.boolean()),
  models: v.exactOptional(models),
};
const whole = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100_000_000_000));

/** The schema of the limits of a key or a team; two that count the same would be one. */
export const keyLimits: v.GenericSchema<unknown, readonly KeyLimit[]> = v.pipe(
  v.array(
    v.pipe(
      v.variant("limitType", [
        v.object({
          limitType: v.literal("cost"),
          limit: v.pipe(v.number(), v.minValue(0), v.maxValue(100_000)),
          ...common,
        }),
        v.object({ limitType: v.literal("tokens"), limit: whole, ...common }),
        v.object({ limitType: v.literal("requests"), limit: whole, ...common }),
      ]),
      v.check(
        ({ window: length, technique }) => typeof length !== "string" || technique === "fixed",
        'a sliding limit takes its window in seconds, not "day", "week" or "month"',
      ),
      v.check(
        ({ limitType, models: counted }) => limitType !== "requests" || counted === undefined,
        "a limit of requests takes no models: requests are counted before the model is known",
      ),
    ),
  ),
  v.maxLength(MOST_LIMITS, `at most ${MOST_LIMITS} limits are allowed`),
  v.check(
    (limits) => new Set(limits.map(ruleOf)).size === limits.length,
    "expected one limit for each limitType, window, technique, models and soft",
  ),
);

const limitNames = [
  "limitType",
  "limit",
  "window",
  "technique",
  "soft",
  "models",
] as const satisfies readonly (keyof KeyLimit)[];

/** {@link keyLimits} that have no other members, for the configuration. */
export const strictLimits: v.GenericSchema<unknown, readonly KeyLimit[]> = v.pipe(
  v.unknown(),
  v.rawCheck(({ dataset, addIssue }) => {
    const limits: unknown = dataset.value;
    if (!dataset.typed || !Array.isArray(limits)) return;
    for (const limit of limits) {
      const name = unknownName(limit);
      if (name === undefined) continue;
      const guess = didYouMean(name, limitNames);
      addIssue({ message: `unknown member "${name.slice(0, 64)}" of a limit${guess}` });
    }
  }),
  keyLimits,
);

function unknownName(limit: unknown): string | undefined {
  return Object.keys(jsonObject(limit)).find((name) => !limitNames.some((one) => one === name));
}

/** Names what a limit counts, whatever its height: raising it does not begin a new count. */
export function ruleOf({
  limitType,
  window: length,
  technique,
  models: counted,
  soft,
}: KeyLimit): string {
  const rule = `${limitType}/${length ?? "life"}/${technique}`;
  const isSoft = soft === true;
  if (counted === undefined && !isSoft) return rule;
  return `${rule}/${isSoft ? "soft" : ""}/${JSON.stringify(counted?.toSorted() ?? [])}`;
}

/** Describes a limit, for people. */
export function describeLimit({
  limitType,
  limit,
  window: length,
  models: counted,
}: KeyLimit): string {
  const amount = limitType === "cost" ? `${formatUsd(limit)} USD` : `${limit} ${limitType}`;
  const time =
    length === null ? "in all" : `per ${typeof length === "string" ? length : `${length} s`}`;
  const of = counted === undefined ? "" : ` for ${counted.join(", ")}`;
  const text = `${amount} ${time}${of}`;
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** Whether a limit counts a request; one whose models cannot be read counts everywhere. */
export function countsModels(
  { models: counted }: { readonly models?: readonly string[] | undefined },
  { slug, names }: RequestModels,
): boolean {
  if (counted === undefined || names === null) return true;
  return names.some((name) => isAllowedModel(name, slug, counted));
}

/** Returns the budgets of a scope; `owner` begins their texts, such as "the virtual key". */
export function budgetsOf(scope: string, owner: string, limits: readonly KeyLimit[]): Budget[] {
  return limits.map((limit) => ({
    ...limit,
    scope,
    rule: ruleOf(limit),
    text: () => `${owner} allows ${describeLimit(limit)}`,
  }));
}
