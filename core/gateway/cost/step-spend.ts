import type { Call, GatewayDeps, Step } from "../call.ts";
import { headerValue } from "../header-hygiene.ts";
import { modelName } from "../log-row.ts";
import { estimateOf, leaveToSpend, limitsSpend } from "./spend.ts";

/** Enters what a step has cost, in USD; null = not known. */
export type Settle = (amount: number | null) => void;

/** Asks for leave to spend on a step; throws `gateway_spend_limit`. */
export async function spendOn(step: Step, call: Call, deps: GatewayDeps): Promise<Settle> {
  const { settings, controls, name } = call;
  if (!limitsSpend(settings.spend_limits)) return () => undefined;
  const bytes = step.body instanceof Uint8Array ? step.body : null;
  const facts = {
    provider: step.slug,
    model: modelName(jsonOf(bytes, headerValue(step.headers, "content-type") ?? ""), step.rest),
    metadata: controls.metadata ?? null,
  };
  const estimate = estimateOf(facts, bytes?.length ?? 0, controls.customCost);
  const leave = await leaveToSpend(facts, estimate, {
    admit: (asked, amount) => deps.store.spendAdmit(name, asked, amount),
    settle: (ticket, amount) => deps.store.spendSettle(name, ticket, amount),
  });
  return (amount) => {
    const { log, system } = deps.platform;
    const entered = leave.settle(amount).catch((error: unknown) => {
      log("error", "The cost of a request could not be entered", { error: String(error) });
    });
    system.waitUntil(entered);
  };
}

function jsonOf(bytes: Uint8Array | null, type: string): unknown {
  if (bytes === null || !/json/i.test(type)) return null;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}
