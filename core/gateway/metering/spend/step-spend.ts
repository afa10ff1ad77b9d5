import type { Log, System } from "../../../ports.ts";
import type { Call } from "../../call/call.ts";
import type { Settle } from "../../call/limits.ts";
import type { ConfiguredTargets } from "../../providers/target.ts";
import type { GatewayName } from "../../account/settings/gateway-name.ts";
import type { SpendLedger } from "./spend-ledger.ts";
import { spendUnknown, unknownCost } from "../cost/known-cost.ts";
import { type ExpectedUse, withCustomCost } from "./expected-use.ts";
import { mayLimit } from "./spend-rules.ts";
import { reserveSpend, type SpendCalls, type SpendPermit } from "./spend.ts";

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

/**
 * Asks for leave to spend on a step, or on a connection. Throws `gateway_spend_limit` when a budget has too little left
 * and, unless the gateway allows it, `gateway_spend_unknown` when a limit could not count what the step will cost.
 */
export async function spendOn(
  expected: ExpectedUse,
  call: Call,
  parts: SpendParts,
): Promise<Settle> {
  const { settings, controls, name } = call;
  const limits = settings.spend_limits;
  const {
    model,
    question: { step, further },
  } = expected;
  const facts = { provider: step.slug, model, further, metadata: controls.metadata ?? null };
  if (!mayLimit(limits, facts)) return () => undefined;
  const reason = unknownCost(expected.question);
  if (reason !== null && limits?.on_unknown !== "allow") {
    parts.refused?.(name, "spend_unknown");
    throw spendUnknown(reason);
  }
  const claim = withCustomCost(expected, controls.customCost);
  return settling(await reserveSpend(facts, claim, callsOf(call, parts)), parts);
}

function callsOf({ name }: Call, { store, refused }: SpendParts): SpendCalls {
  return {
    async admit(asked, claim) {
      const decision = await store.at(name).spendAdmit(asked, claim);
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
