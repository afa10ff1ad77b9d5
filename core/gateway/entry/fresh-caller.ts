import type { Call } from "../call/call.ts";
import type { GatewayAccess } from "./access.ts";

/** Returns a call with its caller as it is now; throws `gateway_unauthorized`. */
export async function withFreshCaller(
  call: Call,
  access: Pick<GatewayAccess, "refreshCaller">,
): Promise<Call> {
  const { caller, token, name } = call;
  if (caller === null) return call;
  return { ...call, caller: await access.refreshCaller(caller, name, { token, counts: false }) };
}

/**
 * Whether an answer under way ends with the rights of its caller: of a virtual key or an API token, which can be taken back. A
 * JWT cannot be, and lives for minutes: it is checked once.
 */
export function isRevocable({ caller, token }: Call): boolean {
  return caller?.kind === "key" || (caller?.kind === "token" && token !== null);
}
