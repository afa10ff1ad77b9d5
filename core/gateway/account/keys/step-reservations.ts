import type { ApiError } from "../../../http/api-error.ts";
import { unitsOf } from "../../metering/ledger/time-slices.ts";
import type { Amounts, Claims, LedgerEntry } from "../../metering/ledger/budget.ts";
import type { ClaimedUse } from "../../metering/spend/expected-use.ts";
import { type LimitScope, reserveIn } from "../../metering/spend/spend.ts";
import type { Settle } from "../../call/limits.ts";
import type { SettledLimits, Settlements } from "./settlements.ts";

/** Limits that a step draws on. */
export interface AppliedLimits extends LimitScope, SettledLimits {
  /** The claims that they count of a step's use; `isFirst` = of its beginning. */
  claims(use: ClaimedUse, isFirst: boolean): Claims;
  /** Why they could not count what the step uses, where that is refused; null = they can. */
  readonly unknown: ApiError | null;
  /** Returns the step's use once it is settled at an amount in USD; null = not known. */
  used(amount: number | null): Amounts;
}

/** The reservations of a running step in its limits. */
export interface StepReservations {
  /**
   * Sets more aside in every limit; throws what refuses it. Resolves to the part of the guess that the limits had left, from 0
   * to 1; Infinity = none of them counts the claim.
   */
  readonly hold: (use: ClaimedUse) => Promise<number>;
  /** Enters what the step has used in place of what is held. Only the first call counts. */
  readonly settle: Settle;
}

/** Entries in the ledger of some limits. */
interface Held {
  readonly limits: AppliedLimits;
  readonly first: readonly LedgerEntry[];
  /** Entries of later reservations. */
  readonly further: LedgerEntry[];
}

/** Holds nothing yet. `onRefusal` is told why a limit, or its ledger, has refused. */
export function stepReservations(
  applied: readonly AppliedLimits[],
  settling: Settlements,
  onRefusal: (error: unknown) => void,
): StepReservations {
  const held = new Map<AppliedLimits, Held>();
  let isOpen = true;
  const enter = (
    limits: AppliedLimits,
    entries: readonly LedgerEntry[],
    amounts: Amounts,
  ): void => {
    if (entries.length > 0) settling.add(limits, { entries, amounts });
  };
  const reserve = async (limits: AppliedLimits, use: ClaimedUse): Promise<number> => {
    const before = held.get(limits);
    const claims = limits.claims(use, before === undefined);
    const entries = await reserveIn(limits, claims);
    // The step ended meanwhile.
    if (!isOpen) enter(limits, entries, NOTHING_USED);
    else if (before === undefined) held.set(limits, { limits, first: entries, further: [] });
    else before.further.push(...entries);
    return partOf(entries, claims, before === undefined);
  };
  return {
    async hold(use) {
      // The reservation has to see what has ended before.
      settling.flush();
      try {
        let part = Infinity;
        for (const limits of applied) part = Math.min(part, await reserve(limits, use));
        return part;
      } catch (error) {
        onRefusal(error);
        throw error;
      }
    },
    settle(amount) {
      if (!isOpen) return;
      isOpen = false;
      for (const { limits, first, further } of held.values()) {
        const amounts = limits.used(amount);
        enter(limits, first, amounts);
        enter(limits, further, released(amounts));
      }
    },
  };
}

const NOTHING_USED: Amounts = { cost: 0, tokens: 0 };

/** The whole use is entered once: what was set aside beside it becomes nothing, or stays where the use is not known. */
function released({ cost, tokens }: Amounts): Amounts {
  return { cost: cost == null ? null : 0, tokens: tokens == null ? null : 0 };
}

/** The part of a guess that was set aside. A further claim of which nothing was has passed a soft limit. */
function partOf(entries: readonly LedgerEntry[], claims: Claims, isFirst: boolean): number {
  const parts = entries.map(({ limitType, reserved }) => {
    const { needed, guessed } = claims[limitType] ?? { needed: 0, guessed: 0 };
    const units = unitsOf(limitType, guessed);
    const isUncounted = units === 0 || (reserved === 0 && !isFirst);
    return isUncounted ? Infinity : (reserved - unitsOf(limitType, needed)) / units;
  });
  return Math.min(...parts);
}
