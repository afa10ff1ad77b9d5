import { callerName, type GatewayCaller } from "./caller.ts";
import type { Call } from "./call.ts";

/**
 * Names the callers who share answers with this one: in the cache, exact or semantic, in identical requests at the same
 * time, and in streams that are resumed. Null = everybody who sends the same request to the same gateway.
 *
 * Two callers that the operator's provider key pays for may be strangers to each other: each has its answers alone,
 * unless the gateway's `share_answers` says otherwise. A caller who brings the provider's key shares with those who
 * have the same key: the provider would answer them alike. A caller without a name cannot be told from the next one.
 */
export function sharingScope(
  { caller, settings }: Pick<Call, "caller" | "settings">,
  bringsKey: boolean,
): string | null {
  if (caller === null || bringsKey || settings.share_answers === true) return null;
  return callerScope(caller);
}

/** Names a caller alone; null for one without a name. */
export function callerScope(caller: GatewayCaller): string | null {
  return callerName(caller) ?? caller.tokenHash ?? null;
}
