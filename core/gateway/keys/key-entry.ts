import { quickSha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import type { System } from "../../ports.ts";
import type { GatewayCaller } from "../call/caller.ts";
import type { GatewayName } from "../settings/gateway-name.ts";
import { retryAfter } from "../wire/retry-after.ts";
import type { KeyStore } from "./key-store.ts";
import type { KeyEntrance, KeyReference } from "./keys-actor.ts";

/** Lets callers in by virtual keys. */
export interface KeyEntry {
  /**
   * Who calls with a key; counts one request against its limits, unless `counts` is false. Throws `gateway_unauthorized`
   * for a key that does not open the gateway and `gateway_rate_limited` over a limit of requests.
   */
  bySecret(secret: string, name: GatewayName, counts: boolean): Promise<GatewayCaller>;
  /** The same for a connection that has shown the key before. */
  byId(id: string, name: GatewayName): Promise<GatewayCaller>;
}

const reasons = {
  unknown: "the virtual key is not known: it was deleted, rotated, or belongs to another account",
  disabled: "the virtual key is disabled",
  expired: "the virtual key has expired",
  gateway: "the virtual key is not for this gateway",
} as const;

/** Entry by the keys of a store. */
export function keyEntry(keys: KeyStore, system: System): KeyEntry {
  const enter = async (
    keyReference: KeyReference,
    { account, gateway }: GatewayName,
    counts: boolean,
  ): Promise<GatewayCaller> =>
    callerOf(await keys.at(account).enter(keyReference, gateway, counts));
  return {
    bySecret: async (secret, name, counts) =>
      enter({ hash: await quickSha256Hex(secret, system) }, name, counts),
    byId: (id, name) => enter({ id }, name, true),
  };
}

function callerOf(entrance: KeyEntrance): GatewayCaller {
  if ("reason" in entrance) {
    throw new ApiError("gateway_unauthorized", {
      message: `Unauthorized: ${reasons[entrance.reason]}`,
    });
  }
  if ("refused" in entrance) {
    throw new ApiError("gateway_rate_limited", {
      message: `Rate limited: the virtual key allows ${entrance.refused}`,
      headers: refusalHeaders(entrance.wait),
    });
  }
  const { id, settings } = entrance.key;
  const { models, limits, on_unknown: onUnknown } = settings;
  const counts = (type: string): boolean => limits.some(({ limitType }) => limitType === type);
  const grant = { models, onUnknown, cost: counts("cost"), tokens: counts("tokens") };
  return { kind: "key", id, grant };
}

/** A limit that never frees anything is not worth trying again. */
export function refusalHeaders(wait: number | null): Record<string, string> {
  return wait === null
    ? { "x-should-retry": "false" }
    : { ...retryAfter(wait), "x-should-retry": "false" };
}
