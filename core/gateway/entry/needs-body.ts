import { cacheTtl } from "../answer/cache/cache-policy.ts";
import type { Call, GatewayDeps, Step } from "../call/call.ts";
import { limitsSpend } from "../observe/spend/spend.ts";
import { retryPolicy } from "../call/policy.ts";
import { translationRoute } from "../providers/translation-route.ts";

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
