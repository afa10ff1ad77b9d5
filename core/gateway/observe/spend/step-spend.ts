import type { Log, System } from "../../../ports.ts";
import type { Call, Step } from "../../call/call.ts";
import type { Settle } from "../../call/limits.ts";
import type { ConfiguredTargets } from "../../providers/target.ts";
import type { GatewayName } from "../../settings/gateway-name.ts";
import type { SpendLedger } from "./spend-ledger.ts";
import { jsonOf, plainBytes } from "../../wire/readable-body.ts";
import { stepModel } from "../../providers/requested-model.ts";
import { hidesUsage } from "../../providers/openai/stream-usage.ts";
import type { CustomCost } from "../cost/cost.ts";
import { type CostQuestion, isFree, spendUnknown, unknownCost } from "../cost/known-cost.ts";
import { requestPrice } from "../cost/dearest-price.ts";
import { mayLimit } from "./spend-rules.ts";
import {
  estimateOf,
  reserveSpend,
  limitsSpend,
  type SpendCalls,
  type SpendPermit,
} from "./spend.ts";

/** What {@link spendOn} works with. */
export interface SpendParts {
  readonly system: System;
  readonly log: Log;
  readonly targets: ConfiguredTargets;
  /** The ledgers of gateways. */
  readonly store: { at(name: GatewayName): SpendLedger };
  /** Counts what is refused. @default nothing is counted */
  readonly refused?:
    | ((name: GatewayName, reason: "spend_limit" | "spend_unknown") => void)
    | undefined;
}

/** What {@link spendOn} knows of a connection better than from its step. */
export interface RealtimeSpend {
  readonly model: string;
}

/**
 * Asks for leave to spend on a step, or on a connection. Throws `gateway_spend_limit` when a budget is exhausted and,
 * unless the gateway allows it, `gateway_spend_unknown` when a limit could not count what the step will cost.
 */
export async function spendOn(
  step: Step,
  call: Call,
  parts: SpendParts,
  realtime?: RealtimeSpend,
): Promise<Settle> {
  const { settings, controls, name } = call;
  const limits = settings.spend_limits;
  if (!limitsSpend(limits)) return () => undefined;
  const json = jsonOf(step);
  const model = realtime?.model ?? stepModel(step, json);
  const facts = { provider: step.slug, model, metadata: controls.metadata ?? null };
  if (!mayLimit(limits, facts)) return () => undefined;
  const asked = { slug: step.slug, model, json };
  const priced = requestPrice(asked, call.prices, parts.system.now());
  const isRealtime = realtime !== undefined;
  const paid = { step, ...priced };
  const hides = (): boolean => hidesUsage(step, call, parts.targets);
  const reason = unknownCost({ ...paid, json, realtime: isRealtime, hidesUsage: hides });
  if (reason !== null && limits?.on_unknown !== "allow") {
    parts.refused?.(name, "spend_unknown");
    throw spendUnknown(reason);
  }
  const estimate = estimated(paid, isRealtime, controls.customCost);
  return settling(await reserveSpend(facts, estimate, callsOf(call, parts)), parts);
}

function estimated(
  { step, price }: Pick<CostQuestion, "step" | "price">,
  isRealtime: boolean,
  custom: CustomCost | undefined,
): number {
  const isPaid = isRealtime || !isFree(step);
  return estimateOf(price, isPaid ? (plainBytes(step)?.length ?? 0) : 0, custom);
}

function callsOf({ name }: Call, { store, refused }: SpendParts): SpendCalls {
  return {
    async admit(asked, amount) {
      const decision = await store.at(name).spendAdmit(asked, amount);
      if ("refused" in decision) refused?.(name, "spend_limit");
      return decision;
    },
    settle: (ticket, amount) => store.at(name).spendSettle(ticket, amount),
  };
}

function settling(leave: SpendPermit, { log, system }: SpendParts): Settle {
  return (amount) => {
    const entered = leave.settle(amount).catch((error: unknown) => {
      log("error", "The cost of a request could not be entered", { error: String(error) });
    });
    system.waitUntil(entered);
  };
}
