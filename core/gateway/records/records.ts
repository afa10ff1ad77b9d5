import type { Plain, Platform } from "../../ports.ts";
import type { GatewayName } from "../settings/gateway-name.ts";
import {
  type Collection,
  noRecord,
  type RecordName,
  type RecordPage,
  type RecordQuery,
  type StoredRecord,
} from "./record.ts";
import { recordsActor } from "./records-actor.ts";
import type { WindowLimit } from "./window-counters.ts";

/** What one write creates, replaces and removes, all or nothing. */
export interface RecordChanges {
  readonly creates?: readonly StoredRecord[];
  readonly replaces?: readonly StoredRecord[];
  readonly removes?: readonly RecordName[];
  /** A flag that one record of a parent can have: whoever had it before loses it. @default none */
  readonly sole?: string | null;
}

/** The records of one account or gateway, behind typed calls. */
export interface Records {
  /** The name of their place, for what is bound to it. */
  readonly place: string;
  /** Throws `not_found`. */
  get(name: RecordName): Promise<StoredRecord>;
  find(collection: Collection, key: string): Promise<StoredRecord | null>;
  group(collection: Collection, parent: string): Promise<readonly StoredRecord[]>;
  list(query: RecordQuery, offset: number, limit: number): Promise<RecordPage>;
  write(changes: RecordChanges): Promise<void>;
  /** Replaces a sealed text in the records that still have it. */
  reseal(collection: Collection, from: string, to: string): Promise<void>;
  /** Removes a record and what belongs to it. */
  remove(name: RecordName): Promise<void>;
  clear(): Promise<void>;
  storedMaster(): Promise<string | null>;
  ownMaster(): Promise<string>;
  /** Counts against a limit: 0, or the ms to wait. */
  take(key: string, amount: number, limit: WindowLimit): Promise<number>;
  spend(key: string, amount: number, window: number): Promise<void>;
}

/** Where the management API keeps what it manages. */
export interface RecordStore {
  ofAccount(account: string): Records;
  ofGateway(name: GatewayName): Records;
}

/** The record store of a platform. */
export function recordStore(platform: Platform): RecordStore {
  platform.actors.define(recordsActor);
  return {
    ofAccount: (account) => recordsOf(platform, `account:${account}`),
    ofGateway: ({ account, gateway }) => recordsOf(platform, `gateway:${account}/${gateway}`),
  };
}

function recordsOf(platform: Platform, place: string): Records {
  const actor = platform.actors.get(recordsActor.name, place);
  const call = (method: string, ...args: readonly Plain[]): Promise<Plain> =>
    actor.call(method, ...args);
  return {
    place,
    async get(name) {
      const { collection, id } = name;
      const found = (await call("get", { collection, id })) as StoredRecord | null;
      if (found === null) throw noRecord(name);
      return found;
    },
    find: async (collection, key) => (await call("find", collection, key)) as StoredRecord | null,
    group: async (collection, parent) =>
      (await call("group", collection, parent)) as readonly StoredRecord[],
    list: async (query, offset, limit) => (await call("list", query, offset, limit)) as RecordPage,
    async write({ creates = [], replaces = [], removes = [], sole = null }) {
      await call("write", creates, replaces, removes, sole);
    },
    async reseal(collection, from, to) {
      await call("reseal", collection, from, to);
    },
    async remove(name) {
      await call("remove", { collection: name.collection, id: name.id });
    },
    async clear() {
      await call("clear");
    },
    storedMaster: async () => (await call("storedMaster")) as string | null,
    ownMaster: async () => (await call("ownMaster")) as string,
    take: async (key, amount, limit) => (await call("take", key, amount, limit)) as number,
    async spend(key, amount, window) {
      await call("spend", key, amount, window);
    },
  };
}
