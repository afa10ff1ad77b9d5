import { type ActorClient, actorClient } from "../actors/actor-client.ts";
import type { Platform } from "../ports.ts";
import { tokenKind, type TokenMethods } from "./token-actor.ts";

/** The stored tokens, as the handlers see them. */
export type TokenStore = ActorClient<TokenMethods>;

/** The token store of a platform. */
export function tokenStore(platform: Pick<Platform, "actors">): TokenStore {
  // Not on first use: another process may call the actor in this one.
  platform.actors.define(tokenKind);
  return actorClient(platform.actors.get(tokenKind.name, "all"));
}
