import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Platform } from "../../ports.ts";
import { INSTANCE_KIND, type InstanceMethods } from "./instance-actor.ts";

/** The typed near end of an instance actor. */
export type Instance = ActorClient<InstanceMethods>;

export interface InstanceAddress {
  readonly account: string;
  readonly namespace: string;
  readonly id: string;
}

/**
 * Returns the instance at an address, whether it exists or not: its methods throw 7002 then. `search()` defines its kind.
 */
export function instanceAt(
  platform: Platform,
  { account, namespace, id }: InstanceAddress,
): Instance {
  return actorClient(platform.actors.get(INSTANCE_KIND, `${account}/${namespace}/${id}`));
}
