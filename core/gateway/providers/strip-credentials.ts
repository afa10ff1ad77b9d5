import type { Step } from "../call/call.ts";
import { choosesAccount, isGatewayHeader, isSecretHeader } from "../wire/header-hygiene.ts";
import { credentialHeaders } from "./known/table.ts";

/**
 * Returns a step without headers and query that may identify the caller at a provider, keys above all. They are meant for
 * the one provider that the caller chose.
 */
export function stripCredentials(step: Step): Step {
  return { ...step, headers: step.headers.filter(([name]) => !isCredential(name)), query: "" };
}

/** Whether a step holds anything that may identify the caller at a provider, other than the gateway's own token. */
export function holdsCredentials({ headers, query }: Step, token: string | null): boolean {
  const holdsToken = (value: string): boolean => token !== null && value.includes(token);
  return query !== "" || headers.some(([name, value]) => isCredential(name) && !holdsToken(value));
}

/** Matches by pattern too, because custom providers take keys under any name. */
function isCredential(name: string): boolean {
  if (isGatewayHeader(name)) return false;
  if (credentialHeaders.has(name)) return true;
  return isSecretHeader(name) || choosesAccount(name);
}
