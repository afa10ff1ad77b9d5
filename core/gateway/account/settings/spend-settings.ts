import * as v from "valibot";

const LONGEST_WINDOW = 366 * 24 * 3600;
const RULE_LIMIT = 20;
const name = v.pipe(v.string(), v.minLength(1), v.maxLength(256));
const values = v.pipe(v.array(name), v.minLength(1), v.maxLength(100));
const filter = v.object({ mode: v.literal("filter"), values });

const rule = v.object({
  limit: v.pipe(v.number(), v.minValue(0), v.maxValue(100_000)),
  limitType: v.literal("cost"),
  window: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(LONGEST_WINDOW)),
  id: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(64))),
  enabled: v.exactOptional(v.boolean()),
  technique: v.exactOptional(v.picklist(["fixed", "sliding"])),
  model: v.exactOptional(filter),
  provider: v.exactOptional(filter),
  metadata: v.exactOptional(
    v.pipe(
      v.record(name, v.variant("mode", [v.object({ mode: v.literal("partition") }), filter])),
      v.maxEntries(5, "at most 5 metadata keys are allowed: a request carries no more"),
    ),
  ),
});

/** A condition on one fact of a request: one of these values. */
export type SpendFilter = { mode: "filter"; values: string[] };

export type SpendRule = {
  /** USD per window. */
  limit: number;
  limitType: "cost";
  /** Seconds. */
  window: number;
  id?: string;
  /** @default true */
  enabled?: boolean;
  /** @default "fixed" */
  technique?: "fixed" | "sliding";
  model?: SpendFilter;
  provider?: SpendFilter;
  /** `partition`: every value of the key has a budget of its own. */
  metadata?: Record<string, { mode: "partition" } | SpendFilter>;
};

/** The setting `spend_limits` of a gateway; the hosted service has no `on_unknown`. */
export type SpendLimits = {
  /** Whether a request is refused whose cost cannot be known while a rule applies to it. @default "refuse" */
  on_unknown?: "refuse" | "allow";
  /** @default true */
  enabled?: boolean;
  rules?: SpendRule[];
};

/** The schema of the setting `spend_limits`; two rules of one id would share a budget, so that is refused. */
export const spendLimits: v.GenericSchema<unknown, SpendLimits> = v.object({
  enabled: v.exactOptional(v.boolean()),
  on_unknown: v.exactOptional(v.picklist(["refuse", "allow"])),
  rules: v.exactOptional(
    v.pipe(
      v.array(rule),
      v.maxLength(RULE_LIMIT, `at most ${RULE_LIMIT} rules are allowed`),
      v.check((rules) => {
        const ids = rules.flatMap(({ id }) => (id === undefined ? [] : [id]));
        return new Set(ids).size === ids.length;
      }, "expected each rule id once"),
    ),
  ),
});
