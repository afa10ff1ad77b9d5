import { sha256Hex } from "../../crypto/digest.ts";
import { OUTBOUND_KIND, type SendBody } from "../../entity/outbound.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import type { Plain, Platform } from "../../ports.ts";
import type { BudgetAlert } from "../metering/ledger/budget.ts";
import { pauseOrClosing } from "../../time/pause-or-closing.ts";

/** The owner of a budget; a rule of a gateway may have partitions. */
export type BudgetOwner =
  | { readonly team: string }
  | { readonly key: string }
  | { readonly gateway: string; readonly partition?: string };

/** Reports budgets of which a share is used: a line in the log and an event to the account's webhooks. Never waits or throws. */
export type ReportBudgets = (
  account: string,
  alerts: readonly BudgetAlert[],
  ownerOf: (alert: BudgetAlert) => BudgetOwner,
) => void;

export interface BudgetReportOptions {
  readonly platform: Pick<Platform, "actors" | "log" | "system">;
  /** Whether there are webhooks to send an event to. @default false */
  readonly sendsWebhooks?: boolean | undefined;
}

/** The payload of an event, and what tells it from all others. */
interface BudgetEvent {
  readonly key: string;
  readonly payload: Plain;
}

type Message = SendBody & Readonly<Record<string, Plain>>;

/** Pauses before an event is given to the webhooks again, in ms. */
const RETRIES = [200, 1000, 5000];

export function budgetReport({
  platform,
  sendsWebhooks = false,
}: BudgetReportOptions): ReportBudgets {
  const { actors, log, system } = platform;
  const send = async (account: string, message: Message): Promise<void> => {
    for (const pause of [...RETRIES, null]) {
      try {
        await actors.get(OUTBOUND_KIND, account).call("send", message);
        return;
      } catch (error) {
        if (pause === null) throw error;
        await pauseOrClosing(pause, system);
      }
    }
  };
  const sendAll = async (account: string, events: readonly BudgetEvent[]): Promise<void> => {
    for (const { key, payload } of events) {
      // However often this is sent, each endpoint gets it once.
      const idempotencyKey = `budget-${await sha256Hex(key)}`;
      await send(account, { type: "budget.reached", payload, idempotency_key: idempotencyKey });
    }
  };
  return (account, alerts, ownerOf) => {
    const events: BudgetEvent[] = [];
    for (const alert of alerts) {
      const { share, text: budget, limitType, limit, window, rule, slice, ends } = alert;
      const owner = ownerOf(alert);
      const level = share < 80 ? "info" : "warn";
      log(level, `A budget is used to ${share} %`, { account, ...owner, share, budget });
      const resetsAt = window === null ? null : formatInstant(ends);
      const payload = { ...owner, share, budget, limitType, limit, window, resets_at: resetsAt };
      events.push({ key: JSON.stringify([owner, rule, slice, share]), payload });
    }
    if (!sendsWebhooks || events.length === 0) return;
    const sent = sendAll(account, events).catch((error: unknown) => {
      log("error", "The event of a budget could not be sent", { account, error: String(error) });
    });
    system.waitUntil(sent);
  };
}

/** Returns the owner of a budget in the ledger of an account's keys. */
export function keyBudgetOwner({ scope }: BudgetAlert): BudgetOwner {
  return scope.startsWith("team:") ? { team: scope.slice("team:".length) } : { key: scope };
}

export function gatewayBudgetOwner(gateway: string): (alert: BudgetAlert) => BudgetOwner {
  return ({ scope }) => (scope === "" ? { gateway } : { gateway, partition: scope });
}
