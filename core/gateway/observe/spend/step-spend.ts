import type { Call, GatewayDeps, Step } from "../../call/call.ts";
import { jsonOf, plainBytes } from "../../wire/readable-body.ts";
import { stepModel } from "../../chat/request-model.ts";
import { hidesUsage } from "../usage/stream-usage.ts";
import { type CostQuestion, isFree, spendUnknown, unknownCost } from "../cost/known-cost.ts";
import { mayLimit } from "./spend-rules.ts";
import {
  estimateOf,
  leaveToSpend,
  limitsSpend,
  type SpendCalls,
  type SpendLeave,
} from "./spend.ts";

/** Enters what a step has cost, in USD; null = not known. */
export type Settle = (amount: number | null) => void;

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
  deps: GatewayDeps,
  realtime?: RealtimeSpend,
): Promise<Settle> {
  const { settings, controls, name } = call;
  const limits = settings.spend_limits;
  if (!limitsSpend(limits)) return () => undefined;
  const json = jsonOf(step);
  const model = realtime?.model ?? stepModel(step, json);
  const facts = { provider: step.slug, model, metadata: controls.metadata ?? null };
  if (!mayLimit(limits, facts)) return () => undefined;
  const found = call.prices.find(model, step.slug, deps.platform.system.now());
  const isRealtime = realtime !== undefined;
  const paid = { step, model, price: found?.price ?? null, custom: controls.customCost };
  const hides = (): boolean => hidesUsage(step, call, deps);
  const reason = unknownCost({ ...paid, json, realtime: isRealtime, hidesUsage: hides });
  if (reason !== null && limits?.on_unknown !== "allow") {
    deps.metrics?.refuse(name, "spend_unknown");
    throw spendUnknown(reason);
  }
  const estimate = estimated(paid, isRealtime);
  return settling(await leaveToSpend(facts, estimate, callsOf(call, deps)), deps);
}

function estimated(
  { step, price, custom }: Pick<CostQuestion, "step" | "price" | "custom">,
  isRealtime: boolean,
): number {
  const isPaid = isRealtime || !isFree(step);
  return estimateOf(price, isPaid ? (plainBytes(step)?.length ?? 0) : 0, custom);
}

function callsOf({ name }: Call, { store, metrics }: GatewayDeps): SpendCalls {
  return {
    async admit(asked, amount) {
      const decision = await store.spendAdmit(name, asked, amount);
      if ("refused" in decision) metrics?.refuse(name, "spend_limit");
      return decision;
    },
    settle: (ticket, amount) => store.spendSettle(name, ticket, amount),
  };
}

function settling(leave: SpendLeave, { platform: { log, system } }: GatewayDeps): Settle {
  return (amount) => {
    const entered = leave.settle(amount).catch((error: unknown) => {
      log("error", "The cost of a request could not be entered", { error: String(error) });
    });
    system.waitUntil(entered);
  };
}
