import type { Step } from "./call.ts";
import { isGatewayHeader } from "./header-hygiene.ts";
import { isSecretHeader } from "./manage/custom-provider.ts";
import { credentialHeaders } from "./providers.ts";

/**
 * A step without what may say at a provider who the caller is, keys above all: those are for one provider, which the
 * caller must have chosen.
 */
export function impersonal(step: Step): Step {
  return { ...step, headers: step.headers.filter(([name]) => !isPersonal(name)), query: "" };
}

/** Whether a step holds what may say at a provider who the caller is, other than the gateway's own token. */
export function isPersonalStep({ headers, query }: Step, token: string | null): boolean {
  const isOurs = (value: string): boolean => token !== null && value.includes(token);
  return query !== "" || headers.some(([name, value]) => isPersonal(name) && !isOurs(value));
}

/** Custom providers take keys under names that are not known here. */
function isPersonal(name: string): boolean {
  if (isGatewayHeader(name)) return false;
  if (credentialHeaders.has(name)) return true;
  return isSecretHeader(name) || /organization|project/.test(name);
}
