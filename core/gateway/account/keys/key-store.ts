import { type ActorClient, actorClient } from "../../../actors/actor-client.ts";
import type { ActorRef, Platform } from "../../../ports.ts";
import { type DeclaredKeys, keyDeclaration } from "./declared-keys.ts";
import { type KeyMethods, keysActor } from "./keys-actor.ts";

/** The virtual keys and teams of all accounts, behind typed calls. */
export interface KeyStore {
  at(account: string): ActorClient<KeyMethods>;
}

export interface KeyStoreOptions extends DeclaredKeys {
  readonly platform: Platform;
  /** The account in which declared keys and teams exist. @default "local" */
  readonly accountId?: string | undefined;
}

/**
 * Makes the key store of a platform. What is declared is applied before the first call to the account: a factory cannot
 * wait for it.
 */
export function keyStore({
  platform,
  accountId = "local",
  ...declared
}: KeyStoreOptions): KeyStore {
  const { actors, system } = platform;
  actors.define(keysActor);
  const of = (account: string): ActorRef => actors.get(keysActor.name, account);
  let [applying, isApplied]: [Promise<void> | null, boolean] = [null, false];
  const apply = async (): Promise<void> => {
    try {
      const declaration = await keyDeclaration(declared, system);
      await actorClient<KeyMethods>(of(accountId)).declare(declaration);
      isApplied = true;
    } finally {
      applying = null;
    }
  };
  return {
    at(account) {
      const actor = of(account);
      if (isApplied || account !== accountId) return actorClient(actor);
      return actorClient({
        fetch: (request) => actor.fetch(request),
        async call(...call) {
          if (!isApplied) await (applying ??= apply());
          return actor.call(...call);
        },
      });
    },
  };
}
