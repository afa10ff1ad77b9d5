import { ApiError } from "../../../http/api-error.ts";
import type {
  BudgetAlert,
  Claims,
  LedgerEntry,
  Reservation,
  Settlement,
} from "../ledger/budget.ts";
import { retryAfter } from "../../../http/fields/retry-after.ts";
import type { SpendLimits } from "../../account/settings/spend-settings.ts";

/** Limits that a request draws on: a gateway's, or those of a virtual key and its team. */
export interface LimitScope {
  readonly reserve: (claims: Claims) => Promise<Reservation>;
  readonly settle: (ended: readonly Settlement[]) => Promise<readonly BudgetAlert[]>;
}

/** Whether a gateway has any rule that could refuse a request. */
export function limitsSpend(limits: SpendLimits | null | undefined): boolean {
  return limits != null && limits.enabled !== false && (limits.rules ?? []).length > 0;
}

/** Sets aside what a request may use; throws `gateway_spend_limit` (429/2003), which names the limit that has too little left. */
export async function reserveIn(
  { reserve }: Pick<LimitScope, "reserve">,
  claims: Claims,
): Promise<readonly LedgerEntry[]> {
  const reservation = await reserve(claims);
  if ("entries" in reservation) return reservation.entries;
  const { refused, wait } = reservation;
  throw new ApiError("gateway_spend_limit", {
    message: `Spend limit reached: ${refused}`,
    headers: refusalHeaders(wait),
  });
}

/** A limit that never frees anything is not worth trying again. */
export function refusalHeaders(wait: number | null): Record<string, string> {
  return { ...(wait === null ? {} : retryAfter(wait)), "x-should-retry": "false" };
}
