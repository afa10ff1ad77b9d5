import type { Call, GatewayDeps, Step } from "../call.ts";
import { headerValue } from "../header-hygiene.ts";
import { isJsonType, stepModel } from "../request-model.ts";
import { estimateOf, leaveToSpend, limitsSpend } from "./spend.ts";

/** Enters what a step has cost, in USD; null = not known. */
export type Settle = (amount: number | null) => void;

/** Asks for leave to spend on a step, of the model that is given or that it names; throws `gateway_spend_limit`. */
export async function spendOn(
  step: Step,
  call: Call,
  deps: GatewayDeps,
  model?: string,
): Promise<Settle> {
  const { settings, controls, name } = call;
  if (!limitsSpend(settings.spend_limits)) return () => undefined;
  const bytes = step.body instanceof Uint8Array ? step.body : null;
  const isJson = isJsonType(headerValue(step.headers, "content-type") ?? "");
  const json = isJson && bytes !== null ? new TextDecoder().decode(bytes) : null;
  const facts = {
    provider: step.slug,
    model: model ?? stepModel(step, json),
    metadata: controls.metadata ?? null,
  };
  const estimate = estimateOf(facts, bytes?.length ?? 0, controls.customCost);
  const leave = await leaveToSpend(facts, estimate, {
    async admit(asked, amount) {
      const decision = await deps.store.spendAdmit(name, asked, amount);
      if ("refused" in decision) deps.metrics?.refuse(name, "spend_limit");
      return decision;
    },
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
