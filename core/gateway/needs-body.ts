import { cacheTtl } from "./cache/cache-policy.ts";
import type { Call, GatewayDeps, Step } from "./call.ts";
import { limitsSpend } from "./cost/spend.ts";
import { retryPolicy } from "./policy.ts";
import { translationRoute } from "./translate/route.ts";

/** Whether something would read a step's body, or send it twice: then it cannot stream through. */
export function needsBody(step: Step, call: Call, deps: GatewayDeps): boolean {
  const { settings, controls, caller } = call;
  return (
    step.slug === "compat" ||
    translationRoute(step, deps.targets) !== undefined ||
    deps.safetyOf(settings) !== null ||
    limitsSpend(settings.spend_limits) ||
    // A virtual key's models and budget are those of the body.
    caller?.grant !== undefined ||
    cacheTtl(call) > 0 ||
    retryPolicy(settings, controls, deps.firstByteMs).attempts > 1
  );
}
