import type {
  Budget,
  BudgetAlert,
  Claims,
  LedgerEntry,
  LedgerSum,
  LedgerTable,
  LimitType,
  Reservation,
  LedgerSlices,
  Settlement,
} from "./budget.ts";
import type { ActorContext, Statement } from "../../../ports.ts";
import { steadyNow } from "../../../time/steady-now.ts";
import { type NowOrLater, whenReady } from "../../../work/now-or-later.ts";
import { formatUsd, fromParts } from "./usd.ts";
import { budgetWatch, noWatch } from "./budget-watch.ts";
import { ledgerMemory } from "./ledger-memory.ts";
import { sliceAt, sumSince, unitsOf } from "./time-slices.ts";

/** Counts what is used of limits, in slices of time. */
export interface Ledger {
  /**
   * Sets claims aside, all or none, once the database counts them. Nothing is awaited between reading and entering: requests
   * that come together cannot all take the last of a limit, and one that does not fit is never in another's way. After a kill
   * the next instance counts what was written ahead as used: it may let in less than the limit, never more.
   */
  readonly reserve: (budgets: readonly Budget[], claims: Claims) => NowOrLater<Reservation>;
  /** Enters what was used in place of what was set aside; resolves to the budgets of which a share is used now. */
  readonly settle: (ended: readonly Settlement[]) => NowOrLater<readonly BudgetAlert[]>;
  readonly sums: (budgets: readonly Budget[]) => NowOrLater<LedgerSum[]>;
  /** Forgets what is counted in a scope, or in all; the statement does the same to its rows. */
  readonly forget: (scope?: string) => Statement;
}

/** Keeps the ledger of an actor in memory, and in its table for the next instance: an actor has one home at a time (`bench/SPEED.md`). */
export function ledger(context: ActorContext, table: LedgerTable): Ledger {
  const now = steadyNow(context.system);
  const memory = ledgerMemory(context, table, now);
  const watch = table.alerts ? budgetWatch(memory, now) : noWatch;
  /** Draws on all budgets or none. `at` stays the same after a write: the slice of a later time would need a write of its own. */
  const draw = (
    counted: readonly Budget[],
    claims: Claims,
    at: number,
    isFull = false,
  ): NowOrLater<Reservation> => {
    const drawn = counted.map((budget) => drawOn(budget, claims, memory.slices(budget), at));
    const hard = drawn.filter(({ budget }) => budget.soft !== true);
    const short = hard.find(({ used, limit, needed }) => used >= limit || used + needed > limit);
    if (short !== undefined) return refusal(short, at);
    // All of them, not only those that are behind: a write takes back what no request waits for.
    if (!isFull && !hard.every(({ entry }) => memory.covers(entry)))
      return memory.writeAhead(hard, (isWritten) =>
        memory.with(counted, () => draw(counted, claims, at, !isWritten)),
      );
    const entries = drawn.map(({ entry }) => entry);
    for (const entry of entries) memory.reserve(entry);
    return whenReady(watch.reserved(counted, entries), (alerts) => ({ entries, alerts }));
  };
  return {
    reserve(budgets, claims) {
      const counted = budgets.filter(({ limitType }) => claims[limitType] != null);
      return memory.with(counted, () => draw(counted, claims, now()));
    },
    settle(ended) {
      const all = ended.flatMap(({ entries }) => entries);
      return memory.with(all, () => {
        for (const { entries, amounts } of ended)
          for (const entry of entries) {
            const amount = amounts[entry.limitType] ?? null;
            if (amount !== null)
              memory.add(entry, unitsOf(entry.limitType, amount) - entry.reserved);
          }
        return watch.settled(all);
      });
    },
    sums: (budgets) =>
      memory.with(budgets, () =>
        budgets.map((budget) => {
          const { used, last } = sumSince(memory.slices(budget), sliceAt(budget, now()).since);
          return { used: budget.limitType === "cost" ? fromParts(used) : used, last };
        }),
      ),
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

function drawOn(budget: Budget, claims: Claims, slices: LedgerSlices, at: number): Draw {
  const { limitType, rule, scope } = budget;
  const { needed, guessed } = claims[limitType] ?? { needed: 0, guessed: 0 };
  const { slice, since, ends } = sliceAt(budget, at);
  const { used, first } = sumSince(slices, since);
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
    refused: left === 0 ? text() : text() + more,
    wait: window === null ? null : Math.max(1, first - at),
  };
}

function amountOf(limitType: LimitType, units: number): string {
  return limitType === "cost" ? `${formatUsd(fromParts(units))} USD` : `${units} ${limitType}`;
}
