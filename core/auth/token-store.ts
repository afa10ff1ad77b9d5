import type { Plain, Platform } from "../ports.ts";
import type { Principal } from "./principal.ts";
import { tokenKind, type TokenRecord } from "./token-actor.ts";

/** The stored tokens, as the handlers see them. */
export interface TokenStore {
  find(hash: string): Promise<Principal | null>;
  add(record: TokenRecord): Promise<TokenRecord>;
  /** Rejects with `conflict` when the record is no longer the one that was seen. */
  replace(record: TokenRecord, seen: TokenRecord): Promise<TokenRecord>;
  /** `owner` null looks at the tokens of all owners. */
  get(owner: string | null, id: string): Promise<TokenRecord | null>;
  list(owner: string): Promise<readonly TokenRecord[]>;
  remove(owner: string, id: string): Promise<boolean>;
}

/** The token store of a platform. */
export function tokenStore(platform: Pick<Platform, "actors">): TokenStore {
  // Not on first use: another process may call the actor in this one.
  platform.actors.define(tokenKind);
  const call = (method: string, ...args: readonly Plain[]): Promise<Plain> =>
    platform.actors.get(tokenKind.name, "all").call(method, ...args);
  return {
    find: async (hash) => (await call("find", hash)) as Principal | null,
    add: async (record) => (await call("add", record)) as TokenRecord,
    replace: async (record, seen) =>
      (await call("replace", record, seen.modifiedOn)) as TokenRecord,
    get: async (owner, id) => (await call("get", owner, id)) as TokenRecord | null,
    list: async (owner) => (await call("list", owner)) as readonly TokenRecord[],
    remove: async (owner, id) => (await call("remove", owner, id)) === true,
  };
}
