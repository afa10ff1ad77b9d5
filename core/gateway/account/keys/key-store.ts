import { type ActorClient, actorClient } from "../../../actors/actor-client.ts";
import type { Platform } from "../../../ports.ts";
import { type KeyMethods, keysActor } from "./keys-actor.ts";

/** The virtual keys of all accounts, behind typed calls. */
export interface KeyStore {
  at(account: string): ActorClient<KeyMethods>;
}

/** The key store of a platform. */
export function keyStore({ actors }: Platform): KeyStore {
  actors.define(keysActor);
  return { at: (account) => actorClient(actors.get(keysActor.name, account)) };
}
