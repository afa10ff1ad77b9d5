import { cacheTtl } from "../answer/cache/cache-key.ts";
import type { Call, Step } from "../call/call.ts";
import { limitsSpend } from "../observe/spend/spend.ts";
import { retryPolicy } from "../call/policy.ts";
import type { ConfiguredTargets } from "../providers/target.ts";
import type { GatewaySettings } from "../settings/settings.ts";
import { translationRoute } from "../providers/families.ts";

/** What the needs of a request depend on beside itself. */
export interface BodyNeeds {
  readonly targets: ConfiguredTargets;
  readonly hasChecks: (settings: GatewaySettings) => boolean;
  /** Milliseconds within which a provider must begin to answer, where a request says nothing else. */
  readonly firstByteMs: number;
}

/** Whether something would read a step's body, or send it twice: then it cannot stream through. */
export function needsBody(step: Step, call: Call, parts: BodyNeeds): boolean {
  const { settings, controls, caller } = call;
  return (
    step.slug === "compat" ||
    translationRoute(step, parts.targets) !== undefined ||
    parts.hasChecks(settings) ||
    limitsSpend(settings.spend_limits) ||
    // A virtual key's models and budget are those of the body.
    caller?.grant !== undefined ||
    cacheTtl(call) > 0 ||
    retryPolicy(settings, controls, parts.firstByteMs).attempts > 1
  );
}
