import type { ActorContext, Statement } from "../../../ports.ts";
import { steadyNow } from "../../../time/steady-now.ts";
import { formatUsd, fromParts } from "../cost/usd.ts";
import { type BudgetAlert, budgetWatch } from "./budget-watch.ts";
import { ledgerMemory, type Slices } from "./ledger-memory.ts";
import { sliceAt, sumOf, unitsOf } from "./time-slices.ts";

/** The unit of a limit: USD, tokens in and out, or requests. */
export type LimitType = "cost" | "tokens" | "requests";

/** A calendar's period in UTC; weeks begin on Monday. */
export type Period = "day" | "week" | "month";

/** How much may be used in which time. */
export type Limit = {
  readonly limitType: LimitType;
  readonly limit: number;
  /** Seconds, or a period; null = for ever. */
  readonly window: number | Period | null;
  readonly technique: "fixed" | "sliding";
  /** Whether a request passes that does not fit. @default false */
  readonly soft?: boolean;
};

/** A limit, and where it counts. */
export type Budget = Limit & {
  /** Names what is counted, whatever the limit's height: raising it does not begin a new count. */
  readonly rule: string;
  /** The part of the rule that is counted: a virtual key's id, or a partition; empty = the rule has no parts. */
  readonly scope: string;
  /** The limit in words, for people. */
  readonly text: string;
};

/** The amount that a request may use. */
export type Claim = {
  /** Has to fit into what is left, or the request is refused. */
  readonly needed: number;
  /** Set aside beside it, as far as that much is left. */
  readonly guessed: number;
};

/** The amounts that a request may use, by the units of limits; null is not counted. */
export type Claims = { readonly [Type in LimitType]?: Claim | null | undefined };

/** The amounts that a request has used; null stays as it was set aside. */
export type Amounts = { readonly [Type in LimitType]?: number | null | undefined };

/** The amount set aside in one budget, in units. A type, and not an interface: it crosses to an actor and back. */
export type LedgerEntry = Pick<Budget, "rule" | "scope" | "limitType"> & {
  /** The beginning of the slice of time in which it is entered, and when it stops to count. Unix ms. */
  readonly slice: number;
  readonly ends: number;
  readonly reserved: number;
};

/** The entries that were set aside, or the budget into which the request does not fit. */
export type Reservation =
  | { readonly entries: readonly LedgerEntry[]; readonly alerts: readonly BudgetAlert[] }
  | {
      /** The budget in words, for people. */
      readonly refused: string;
      /** Milliseconds until some of it is free again; null = never. */
      readonly wait: number | null;
    };

/** The sum of one budget's entries. */
export interface LedgerSum {
  readonly used: number;
  /** When the last of it stops to count, Unix ms; null for nothing. */
  readonly last: number | null;
}

/** Counts what is used of limits, in slices of time. */
export interface Ledger {
  /**
   * Sets claims aside, all or none. Nothing is awaited between reading and entering: requests that come together cannot
   * all take the last of a limit, and one that does not fit is never in another's way.
   */
  readonly reserve: (budgets: readonly Budget[], claims: Claims) => Promise<Reservation>;
  /** Enters what was used in place of what was set aside; resolves to the budgets of which a share is used now. */
  readonly settle: (
    entries: readonly LedgerEntry[],
    amounts: Amounts,
  ) => Promise<readonly BudgetAlert[]>;
  readonly sums: (budgets: readonly Budget[]) => Promise<LedgerSum[]>;
  /** Forgets what is counted in a scope, or in all; the statement does the same to its rows. */
  readonly forget: (scope?: string) => Statement;
}

/** The table of a ledger, and its column of scopes. */
export type LedgerTable =
  | { readonly table: "gateway_spend"; readonly scope: "part" }
  | { readonly table: "gateway_key_usage"; readonly scope: "key_id" };

/** Keeps the ledger of an actor in memory, and in its table for the next instance: an actor has one home at a time (`bench/SPEED.md`). */
export function ledger(context: ActorContext, table: LedgerTable): Ledger {
  const now = steadyNow(context.system);
  const memory = ledgerMemory(context, table, now);
  const watch = budgetWatch(memory, now);
  return {
    async reserve(budgets, claims) {
      const counted = budgets.filter(({ limitType }) => claims[limitType] != null);
      while (!memory.has(counted)) await memory.load(counted);
      const at = now();
      const drawn = counted.map((budget) => drawOn(budget, claims, memory.slices(budget), at));
      const short = drawn.find(
        ({ budget, used, limit, needed }) =>
          budget.soft !== true && (used >= limit || used + needed > limit),
      );
      if (short !== undefined) return refusal(short, at);
      const entries = drawn.map(({ entry }) => entry);
      for (const entry of entries) memory.add(entry, entry.reserved);
      return { entries, alerts: await watch.reserved(counted, entries) };
    },
    async settle(entries, amounts) {
      while (!memory.has(entries)) await memory.load(entries);
      for (const entry of entries) {
        const amount = amounts[entry.limitType] ?? null;
        if (amount !== null) memory.add(entry, unitsOf(entry.limitType, amount) - entry.reserved);
      }
      return watch.settled(entries);
    },
    async sums(budgets) {
      while (!memory.has(budgets)) await memory.load(budgets);
      return budgets.map((budget) => {
        const { used, last } = sumOf(memory.slices(budget), sliceAt(budget, now()).since);
        return { used: budget.limitType === "cost" ? fromParts(used) : used, last };
      });
    },
    forget(scope) {
      watch.forget(scope);
      return memory.forget(scope);
    },
  };
}

/** The draw of one request on one budget, in units. */
interface Draw {
  readonly budget: Budget;
  readonly entry: LedgerEntry;
  readonly limit: number;
  readonly used: number;
  readonly needed: number;
  /** When the first of what is used stops to count; Unix ms. */
  readonly first: number;
}

function drawOn(budget: Budget, claims: Claims, slices: Slices, at: number): Draw {
  const { limitType, rule, scope } = budget;
  const { needed, guessed } = claims[limitType] ?? { needed: 0, guessed: 0 };
  const { slice, since, ends } = sliceAt(budget, at);
  const { used, first } = sumOf(slices, since);
  const [limit, least] = [unitsOf(limitType, budget.limit), unitsOf(limitType, needed)];
  const reserved = Math.max(least, Math.min(least + unitsOf(limitType, guessed), limit - used));
  const entry = { rule, scope, limitType, slice, ends, reserved };
  return { budget, entry, limit, used, needed: least, first: first ?? ends };
}

/** Says what a budget allows and why a request does not fit into what is left of it. */
function refusal({ budget, limit, used, needed, first }: Draw, at: number): Reservation {
  const { limitType, text, window } = budget;
  const left = Math.max(0, limit - used);
  const [rest, claimed] = [left, needed].map((units) => amountOf(limitType, units));
  const more = `; ${rest} are left, and this request may use ${claimed}. Ask for a shorter answer (max_tokens), or again when the requests that are running have ended`;
  return {
    refused: left === 0 ? text : text + more,
    wait: window === null ? null : Math.max(1, first - at),
  };
}

/** An amount of units, for people. */
function amountOf(limitType: LimitType, units: number): string {
  return limitType === "cost" ? `${formatUsd(fromParts(units))} USD` : `${units} ${limitType}`;
}
