import type { Plain, Platform } from "../../ports.ts";
import type { GatewayName } from "../settings/gateway-name.ts";
import type { KeyAmounts, KeyDecision, KeyLedgerEntry } from "./key-ledger.ts";
import {
  type KeyEntrance,
  type KeyPage,
  type KeyQuery,
  type KeyReference,
  keysActor,
} from "./keys-actor.ts";
import type { LimitUsage, VirtualKey } from "./virtual-key.ts";

/** A key, and what it has used. */
export type KeyWithUsage = { readonly key: VirtualKey; readonly usage: readonly LimitUsage[] };

/** The virtual keys of all accounts, behind typed calls. */
export interface KeyStore {
  /** Whom a key stands for at a gateway; counts one request, if `counts`. */
  enter(keyReference: KeyReference, name: GatewayName, counts: boolean): Promise<KeyEntrance>;
  /** Sets aside what a request is expected to use, see `KeyLedger`. */
  reserve(account: string, id: string, amounts: KeyAmounts): Promise<KeyDecision>;
  settle(
    account: string,
    id: string,
    entries: readonly KeyLedgerEntry[],
    amounts: KeyAmounts,
  ): Promise<void>;
  create(account: string, key: VirtualKey): Promise<KeyWithUsage>;
  get(account: string, id: string): Promise<KeyWithUsage | null>;
  replace(account: string, key: VirtualKey, seen: number): Promise<KeyWithUsage>;
  /** Resolves to whether there was such a key. */
  remove(account: string, id: string): Promise<boolean>;
  list(account: string, query: KeyQuery, offset: number, limit: number): Promise<KeyPage>;
}

/** The key store of a platform. */
export function keyStore({ actors }: Platform): KeyStore {
  actors.define(keysActor);
  const call = (account: string, method: string, ...args: readonly Plain[]): Promise<Plain> =>
    actors.get(keysActor.name, account).call(method, ...args);
  return {
    enter: async (keyReference, { account, gateway }, counts) =>
      (await call(account, "enter", keyReference, gateway, counts)) as KeyEntrance,
    reserve: async (account, id, amounts) =>
      (await call(account, "reserve", id, amounts)) as KeyDecision,
    async settle(account, id, entries, amounts) {
      await call(account, "settle", id, entries, amounts);
    },
    create: async (account, key) => (await call(account, "create", key)) as KeyWithUsage,
    get: async (account, id) => (await call(account, "get", id)) as KeyWithUsage | null,
    replace: async (account, key, seen) =>
      (await call(account, "replace", key, seen)) as KeyWithUsage,
    remove: async (account, id) => (await call(account, "remove", id)) === true,
    list: async (account, query, offset, limit) =>
      (await call(account, "list", query, offset, limit)) as KeyPage,
  };
}
