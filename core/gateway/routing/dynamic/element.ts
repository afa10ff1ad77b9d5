import * as v from "valibot";
import { plainText } from "../../../http/plain-text.ts";
import { conditionProblem } from "../../../http/json/condition.ts";
import { factProblem } from "./facts.ts";

/** One element of a route as it runs; what leads on is the id of another element, or null. */
export type RouteElement =
  | { readonly kind: "start"; readonly next: string }
  | {
      readonly kind: "conditional";
      readonly condition: unknown;
      readonly yes: string;
      readonly no: string;
    }
  | {
      readonly kind: "percentage";
      readonly shares: readonly Share[];
      readonly otherwise: string | null;
    }
  | RateElement
  | ModelElement
  | { readonly kind: "end" };

/** A branch of a percentage element: `percent` of the requests go `to`. */
export type Share = { readonly percent: number; readonly to: string };

/** Lets requests on to `success` up to a limit, then to `fallback`. */
export type RateElement = {
  readonly kind: "rate";
  readonly id: string;
  /** Path of the fact that partitions the count, e.g. `metadata.user_id`. Empty = one count for all. */
  readonly key: string;
  readonly limit: number;
  /** `cost` counts US dollars. */
  readonly limitType: "count" | "cost";
  /** Seconds. */
  readonly window: number;
  readonly technique: "fixed" | "sliding";
  readonly success: string;
  readonly fallback: string | null;
};

/** Calls a model; `fallback` takes over when it fails. */
export type ModelElement = {
  readonly kind: "model";
  readonly provider: string;
  readonly model: string;
  readonly retries: number;
  /** Milliseconds to the first bytes of the answer; null = no limit. */
  readonly timeout: number | null;
  /** Never followed: an answer that succeeded is the route's answer. */
  readonly success: string | null;
  readonly fallback: string | null;
};

const id = plainText(64);
const output = v.pipe(
  v.object({ elementId: id }),
  v.transform(({ elementId }) => elementId),
);
const optionalOutput = v.pipe(
  v.nullish(v.object({ elementId: id }), null),
  v.transform((to) => to?.elementId ?? null),
);
const count = (minimum: number, maximum: number) =>
  v.pipe(v.number(), v.minValue(minimum), v.maxValue(maximum));
const start = v.object({ id, type: v.literal("start"), outputs: v.object({ next: output }) });

/** A conditional element; the documentation writes `condition`, the official client `conditions` (docs/compatibility.md). */
const conditional = (condition: v.GenericSchema) =>
  v.object({
    id,
    type: v.literal("conditional"),
    properties: v.union([v.object({ conditions: condition }), v.object({ condition })]),
    outputs: v.object({ true: output, false: output }),
  });

const percentage = v.object({
  id,
  type: v.literal("percentage"),
  outputs: v.record(v.string(), output),
});

const rate = v.object({
  id,
  type: v.picklist(["rate", "rate_limit"]),
  properties: v.pipe(
    v.object({
      key: v.optional(v.pipe(v.string(), v.maxLength(128)), ""),
      limit: count(0, 1e12),
      limitType: v.optional(v.picklist(["count", "cost"]), "count"),
      window: v.nullish(count(1, 31_622_400)),
      interval: v.nullish(count(1, 31_622_400)),
      technique: v.optional(v.picklist(["fixed", "sliding"]), "fixed"),
    }),
    v.check((given) => (given.window ?? given.interval) != null, "window: expected seconds"),
  ),
  outputs: v.object({ success: output, fallback: optionalOutput }),
});

const model = v.object({
  id,
  type: v.literal("model"),
  properties: v.object({
    provider: plainText(80),
    model: plainText(256),
    retries: v.nullish(v.pipe(count(0, 5), v.integer()), 0),
    timeout: v.nullish(count(0, 86_400_000), 0),
  }),
  outputs: v.object({ success: optionalOutput, fallback: optionalOutput }),
});

const end = v.object({ id, type: v.literal("end"), outputs: v.optional(v.unknown()) });

const elementOf = (condition: v.GenericSchema) =>
  v.variant("type", [start, conditional(condition), percentage, rate, model, end]);

const elementsOf = (condition: v.GenericSchema): v.GenericSchema<unknown, Identified[]> =>
  v.pipe(
    // Counted before any of them is read. The description of the API has the bound of the list itself.
    v.custom<readonly unknown[]>(Array.isArray, "expected a list of elements"),
    v.maxLength(100, "at most 100 elements are allowed"),
    v.array(
      v.pipe(
        elementOf(condition),
        v.transform((raw) => ({ id: raw.id, element: toElement(raw) })),
      ),
    ),
    v.minLength(2, "expected at least a start and an end"),
    v.maxLength(100),
  );

/** Checks the elements of a new route; both spellings, of the documentation and of the official client. */
export const elementsSchema: v.GenericSchema<unknown, Identified[]> = elementsOf(
  v.pipe(
    v.unknown(),
    v.check(
      (value) => conditionProblem(value, factProblem) === null,
      ({ input }) => conditionProblem(input, factProblem) ?? "expected a condition",
    ),
  ),
);

/** Reads stored elements. Their conditions were checked when they were stored: this version may accept fewer. */
export const storedElements: v.GenericSchema<unknown, Identified[]> = elementsOf(v.unknown());

export type Identified = { readonly id: string; readonly element: RouteElement };

function toElement(raw: v.InferOutput<ReturnType<typeof elementOf>>): RouteElement {
  switch (raw.type) {
    case "start":
      return { kind: "start", next: raw.outputs.next };
    case "end":
      return { kind: "end" };
    case "conditional": {
      const { true: yes, false: no } = raw.outputs;
      const { properties } = raw;
      const given = "conditions" in properties ? properties.conditions : properties.condition;
      return { kind: "conditional", condition: given, yes, no };
    }
    case "percentage": {
      const { else: otherwise = null, ...shares } = raw.outputs;
      return {
        kind: "percentage",
        otherwise,
        shares: Object.entries(shares).map(([share, to]) => ({ percent: percentOf(share), to })),
      };
    }
    case "rate":
    case "rate_limit": {
      const { key, limit, limitType, technique, window, interval } = raw.properties;
      const seconds = window ?? interval ?? 1;
      return {
        kind: "rate",
        id: raw.id,
        key,
        limit,
        limitType,
        technique,
        window: seconds,
        ...raw.outputs,
      };
    }
    case "model": {
      const { provider, model: name, retries, timeout } = raw.properties;
      const limit = timeout === null || timeout === 0 ? null : timeout;
      const limits = { retries: retries ?? 0, timeout: limit };
      return { kind: "model", provider, model: name, ...limits, ...raw.outputs };
    }
  }
}

/** Parses a share's name such as `"10%"`; NaN for anything else. */
function percentOf(share: string): number {
  const digits = /^(\d{1,3}(?:\.\d{1,4})?)%$/.exec(share)?.[1];
  const number = digits === undefined ? Number.NaN : Number(digits);
  return number >= 0 && number <= 100 ? number : Number.NaN;
}
