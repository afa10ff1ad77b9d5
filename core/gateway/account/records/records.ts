import { type ActorClient, actorClient } from "../../../actors/actor-client.ts";
import type { Platform } from "../../../ports.ts";
import type { GatewayName } from "../settings/gateway-name.ts";
import { type RecordMethods, recordsActor } from "./records-actor.ts";

/** The records of one account or gateway, behind typed calls. */
export type Records = ActorClient<RecordMethods> & {
  /** The name of their place, for what is bound to it. */
  readonly place: string;
};

/** The records of the management API, by account or gateway. */
export interface RecordStore {
  ofAccount(account: string): Records;
  ofGateway(name: GatewayName): Records;
}

export function recordStore(platform: Platform): RecordStore {
  platform.actors.define(recordsActor);
  return {
    ofAccount: (account) => recordsOf(platform, `account:${account}`),
    ofGateway: ({ account, gateway }) => recordsOf(platform, `gateway:${account}/${gateway}`),
  };
}

function recordsOf(platform: Platform, place: string): Records {
  const calls = actorClient<RecordMethods>(platform.actors.get(recordsActor.name, place));
  return Object.assign(calls, { place });
}
