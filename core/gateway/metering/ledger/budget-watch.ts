import type { Budget, BudgetAlert, LedgerEntry } from "./budget.ts";
import type { NowOrLater } from "../../../work/now-or-later.ts";
import type { LedgerMemory } from "./ledger-memory.ts";
import { sliceAt, sumSince, unitsOf } from "./time-slices.ts";

/** The shares of a budget that are told, in percent. */
const SHARES = [50, 80, 100] as const;

/** Finds out when budgets are used up to a share; what is only set aside does not count. */
export interface BudgetWatch {
  /** Notes what was set aside. Resolves to what is to be told, which only requests cause: they are used at once. */
  reserved(budgets: readonly Budget[], entries: readonly LedgerEntry[]): NowOrLater<BudgetAlert[]>;
  /** Resolves to what is to be told once entries are settled. */
  settled(entries: readonly LedgerEntry[]): NowOrLater<BudgetAlert[]>;
  /** Forgets the budgets of a scope, or all. */
  readonly forget: (scope?: string) => void;
}

export const noWatch: BudgetWatch = {
  reserved: () => [],
  settled: () => [],
  forget: () => undefined,
};

/** Budgets that are watched at once. */
const WATCHED = 100_000;

/** A budget that requests draw on. */
interface Watched {
  readonly budget: Budget;
  /** The latest slice, in which `held` units are set aside. */
  readonly slice: number;
  held: number;
}

/** A budget of which a share is used, told before or not. */
interface Reached {
  readonly budget: Budget;
  readonly shares: readonly number[];
  /** The ledger entry that keeps which shares were reported already. */
  readonly marker: LedgerEntry;
}

/** Watches the budgets of a ledger. What was told is kept in the ledger itself, as a rule of its own. */
export function budgetWatch(memory: LedgerMemory, now: () => number): BudgetWatch {
  const watched = watchedBudgets();
  const reached = ({ budget, held }: Watched): Reached[] => {
    const { since, slice, ends } = sliceAt(budget, now());
    const used = sumSince(memory.slices(budget), since).used - held;
    const limit = unitsOf(budget.limitType, budget.limit);
    const shares = SHARES.filter((share) => used > 0 && used * 100 >= limit * share);
    if (shares.length === 0) return [];
    const { scope, limitType } = budget;
    const marker = { scope, rule: `told/${budget.rule}`, limitType, slice, ends, reserved: 0 };
    return [{ budget, shares, marker }];
  };
  const tell = (some: Iterable<Watched>): NowOrLater<BudgetAlert[]> => {
    const all: Reached[] = [];
    for (const one of some) all.push(...reached(one));
    if (all.length === 0) return [];
    const markers = all.map(({ marker }) => marker);
    return memory.with(markers, () => all.flatMap((one) => alertsOf(one, memory, now())));
  };
  return {
    reserved(budgets, entries) {
      const atOnce: Watched[] = [];
      for (const [at, entry] of entries.entries()) {
        const budget = budgets[at];
        if (budget === undefined) continue;
        const noted = watched.note(budget, entry);
        if (budget.limitType === "requests") atOnce.push(noted);
        else noted.held += entry.reserved;
      }
      return tell(atOnce);
    },
    settled(entries) {
      // Each budget is looked at once, however many requests have ended together.
      const open = new Set<Watched>();
      for (const entry of entries) {
        const found = watched.find(entry);
        if (found === undefined || !isIn(found, entry)) continue;
        found.held = Math.max(0, found.held - entry.reserved);
        open.add(found);
      }
      return tell(open);
    },
    forget: (scope) => watched.forget(scope),
  };
}

/** Whether an entry is in the slice of time in which a budget was last drawn on. */
function isIn({ budget, slice }: Watched, entry: LedgerEntry): boolean {
  return slice === entry.slice || budget.technique === "sliding";
}

/** The budgets that are drawn on, by scope and rule. */
interface WatchedBudgets {
  find(entry: LedgerEntry): Watched | undefined;
  note(budget: Budget, entry: LedgerEntry): Watched;
  readonly forget: (scope?: string) => void;
}

function watchedBudgets(): WatchedBudgets {
  const scopes = new Map<string, Map<string, Watched>>();
  let size = 0;
  const find = ({ scope, rule }: LedgerEntry): Watched | undefined => scopes.get(scope)?.get(rule);
  return {
    find,
    note(budget, entry) {
      const found = find(entry);
      const { slice, scope, rule } = entry;
      const isSame = found !== undefined && isIn(found, entry);
      const noted = { budget, slice, held: isSame ? found.held : 0 };
      if (found === undefined && ++size > WATCHED) {
        scopes.clear();
        size = 1;
      }
      const rules = scopes.get(scope) ?? new Map<string, Watched>();
      scopes.set(scope, rules.set(rule, noted));
      return noted;
    },
    forget(scope) {
      size -= scope === undefined ? size : (scopes.get(scope)?.size ?? 0);
      if (scope === undefined) scopes.clear();
      else scopes.delete(scope);
    },
  };
}

/** Returns the alerts of shares that were not told in this slice, and notes that they are. */
function alertsOf(
  { budget, shares, marker }: Reached,
  memory: LedgerMemory,
  now: number,
): BudgetAlert[] {
  const markers = [...memory.slices(marker).values()];
  const told = Math.max(0, ...markers.filter(({ ends }) => ends > now).map(({ amount }) => amount));
  const fresh = shares.filter((share) => share > told);
  const highest = fresh.at(-1);
  if (highest === undefined) return [];
  const current = memory.slices(marker).get(marker.slice)?.amount ?? 0;
  memory.add(marker, highest - current);
  const { rule, scope, limitType, limit, window, text } = budget;
  const { slice, ends } = marker;
  return fresh.map((share) => ({
    rule,
    scope,
    limitType,
    limit,
    window,
    text: text(),
    share,
    slice,
    ends,
  }));
}
