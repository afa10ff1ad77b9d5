import type { Log, System } from "../../../ports.ts";
import type { BudgetOwner, ReportBudgets } from "../../observe/budget-report.ts";
import type { BudgetAlert, Settlement } from "../../metering/ledger/budget.ts";
import type { LimitScope } from "../../metering/spend/spend.ts";

/** Limits in whose ledger the use of requests is entered. */
export interface SettledLimits extends Pick<LimitScope, "settle"> {
  /** Names the ledger: what ends together in one of them is entered by one call. */
  readonly ledger: string;
  readonly account: string;
  readonly ownerOf: (alert: BudgetAlert) => BudgetOwner;
}

/** Collects what requests have used, and enters what ends together by one call for each ledger. */
export interface Settlements {
  /** Takes what a request has used. It is entered before the event loop turns to anything else. */
  add(limits: SettledLimits, ended: Settlement): void;
  /** Enters what waits: the next reservation has to see it. */
  flush(): void;
}

export interface SettlementParts {
  readonly system: System;
  readonly log: Log;
  readonly report: ReportBudgets;
}

/** Makes a queue for the ledgers of one engine. */
export function settlements({ system, log, report }: SettlementParts): Settlements {
  let waiting = new Map<string, { readonly limits: SettledLimits; readonly all: Settlement[] }>();
  const enter = async (
    { settle, account, ownerOf }: SettledLimits,
    all: Settlement[],
  ): Promise<void> => {
    try {
      report(account, await settle(all), ownerOf);
    } catch (error) {
      log("error", "What requests used could not be entered in their limits", {
        account,
        requests: all.length,
        error: String(error),
      });
    }
  };
  const flush = (): void => {
    if (waiting.size === 0) return;
    const taken = waiting;
    waiting = new Map();
    for (const { limits, all } of taken.values()) system.waitUntil(enter(limits, all));
  };
  return {
    add(limits, ended) {
      if (waiting.size === 0) queueMicrotask(flush);
      const found = waiting.get(limits.ledger);
      if (found === undefined) waiting.set(limits.ledger, { limits, all: [ended] });
      else found.all.push(ended);
    },
    flush,
  };
}
