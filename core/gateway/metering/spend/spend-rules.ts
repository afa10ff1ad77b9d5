import { type RequestMetadata, readMetadata } from "../../call/controls.ts";
import { segmentOf } from "../../providers/author-segment.ts";
import { modelSpellings, plainName } from "../../prices/model-spellings.ts";
import { formatUsd } from "../ledger/usd.ts";
import type { Budget } from "../ledger/budget.ts";
import type { SpendFilter, SpendLimits, SpendRule } from "../../account/settings/spend-settings.ts";

/** The facts that rules look at. Plain, because they cross to the gateway's actor. */
export type SpendFacts = {
  readonly provider: string;
  /** The spellings of every model that the request names. */
  readonly models: readonly string[];
  /** Whether it may name others that cannot be read. */
  readonly isUnread: boolean;
  /** JSON text of the request's metadata, or null. */
  readonly metadata: string | null;
};

/**
 * Returns the facts of a request for a model (empty = none can be read), with those that may answer in its place; null where
 * these cannot be read.
 */
export type SpendFactsOf = (
  provider: string,
  model: string,
  further: readonly string[] | null,
  metadata: string | null,
) => SpendFacts;

/** Remembers the spellings of the last models: most requests of a while name the same ones. */
export function spendFacts(): SpendFactsOf {
  let [last, models]: [string, readonly string[]] = ["", []];
  return (provider, model, further, metadata) => {
    const names = [model, ...(further ?? [])];
    // Callers write the names: no two lists may look alike.
    const asked = JSON.stringify([provider, ...names]);
    if (asked !== last) {
      const covered = names.flatMap((name) => modelSpellings(name, provider).covered);
      [last, models] = [asked, [...covered, ...covered.map((name) => `${provider}/${name}`)]];
    }
    return { provider, models, isUnread: model === "" || further === null, metadata };
  };
}

/** Characters of one metadata value that tell partitions apart. */
const PART_LIMIT = 256;

export function spendBudgets(limits: SpendLimits | null | undefined, facts: SpendFacts): Budget[] {
  if (limits == null || limits.enabled === false) return [];
  const metadata = readMetadata(facts.metadata);
  return (limits.rules ?? [])
    .filter((rule) => rule.enabled !== false && applies(rule, facts, metadata))
    .map((rule) => budget(rule, metadata));
}

/** Whether a rule applies to a request, or could: its model may not be known. */
export function mayLimit(limits: SpendLimits | null | undefined, facts: SpendFacts): boolean {
  if (limits == null || limits.enabled === false) return false;
  const metadata = readMetadata(facts.metadata);
  const models = facts.isUnread ? null : facts.models;
  return (limits.rules ?? []).some(
    (rule) => rule.enabled !== false && applies(rule, { ...facts, models }, metadata),
  );
}

/** `models` null = any. */
type SpendTarget = Pick<SpendFacts, "provider"> & { readonly models: SpendFacts["models"] | null };

function applies(
  rule: SpendRule,
  { provider, models }: SpendTarget,
  metadata: RequestMetadata,
): boolean {
  return (
    isProvider(rule.provider, provider) &&
    (models === null || isModel(rule.model, models)) &&
    Object.entries(rule.metadata ?? {}).every(([key, condition]) =>
      condition.mode === "partition" ? true : passes(condition, own(metadata, key)),
    )
  );
}

function isProvider(filter: SpendFilter | undefined, provider: string): boolean {
  return (
    filter === undefined ||
    filter.values.some((value) => segmentOf(value.toLowerCase()) === provider.toLowerCase())
  );
}

/** Whether a filter names the model, whatever the spelling of either: a rule for a model is one for its snapshots. */
function isModel(filter: SpendFilter | undefined, models: readonly string[]): boolean {
  return filter === undefined || filter.values.some((value) => models.includes(plainName(value)));
}

function passes(filter: SpendFilter | undefined, value: string | null): boolean {
  return filter === undefined || (value !== null && filter.values.includes(value));
}

function budget(rule: SpendRule, metadata: RequestMetadata): Budget {
  const { limitType, limit, window, technique = "fixed" } = rule;
  const place = { rule: ruleKey(rule), scope: partOf(rule, metadata) };
  return { ...place, limitType, limit, window, technique, text: () => describe(rule) };
}

/** The rule's id, else what it counts: a rule keeps its account when its limit or its place changes. */
function ruleKey({
  id,
  technique = "fixed",
  window,
  model,
  provider,
  metadata,
}: SpendRule): string {
  if (id !== undefined) return `id:${id}`;
  return JSON.stringify([technique, window, model ?? null, provider ?? null, metadata ?? null]);
}

/** Requests without the key share a budget: leaving the key out must not lead around the limit. */
function partOf({ metadata: conditions = {} }: SpendRule, metadata: RequestMetadata): string {
  const keys = Object.keys(conditions).filter((key) => conditions[key]?.mode === "partition");
  if (keys.length === 0) return "";
  return JSON.stringify(
    keys.toSorted().map((key) => [key, own(metadata, key)?.slice(0, PART_LIMIT) ?? null]),
  );
}

function own(metadata: RequestMetadata, key: string): string | null {
  return Object.hasOwn(metadata, key) ? String(metadata[key]) : null;
}

function describe(rule: SpendRule): string {
  const of = [
    rule.provider === undefined ? "" : ` for provider ${rule.provider.values.join(", ")}`,
    rule.model === undefined ? "" : ` for model ${rule.model.values.join(", ")}`,
    rule.metadata === undefined ? "" : ` by metadata ${Object.keys(rule.metadata).join(", ")}`,
  ].join("");
  const name = rule.id === undefined ? "A rule" : `The rule "${rule.id}"`;
  const text = `${name} allows ${formatUsd(rule.limit)} USD per ${rule.window} s${of}`;
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
