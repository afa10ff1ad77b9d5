import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Actor, ActorContext, ActorKind, Platform } from "../../ports.ts";
import {
  dropInstance,
  type InstancePage,
  type InstanceQuery,
  listInstances,
  putInstance,
  reserveInstance,
} from "./instance-list.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import {
  changeNamespace,
  createNamespace,
  dropNamespace,
  findNamespace,
  listNamespaces,
  type Namespace,
  type NamespaceChanges,
} from "./namespace-store.ts";
import { directoryTables } from "../state/tables.ts";
import { type SearchTokenMethods, tokenMethods } from "./token-store.ts";

/** The instances, namespaces and credentials of one account. The instances themselves are actors of their own. */
export interface Directory extends SearchTokenMethods {
  reserve(settings: InstanceSettings): Promise<void>;
  put(settings: InstanceSettings): Promise<void>;
  drop(settings: InstanceSettings): Promise<void>;
  list(query: InstanceQuery): Promise<InstancePage>;
  createNamespace(name: string, changes: NamespaceChanges): Promise<Namespace>;
  changeNamespace(name: string, changes: NamespaceChanges): Promise<Namespace>;
  namespace(name: string): Promise<Namespace>;
  namespaces(search: string | null): Promise<Namespace[]>;
  dropNamespace(name: string): Promise<Namespace>;
}

/** The kind of actor that lists the instances of an account; named by the account. */
export const directoryKind: ActorKind = {
  name: "search-directory",
  schema: directoryTables,
  interleaved: ["list", "namespace", "namespaces", "token", "tokens", "sealedToken", "ownMaster"],
  start: (context): Actor => ({ methods: { ...methodsOf(context) } }),
};

function methodsOf(context: ActorContext): Directory {
  return {
    reserve: (settings) => reserveInstance(context, settings),
    put: (settings) => putInstance(context, settings),
    drop: (settings) => dropInstance(context, settings),
    list: (query) => listInstances(context, query),
    createNamespace: (name, changes) => createNamespace(context, name, changes),
    changeNamespace: (name, changes) => changeNamespace(context, name, changes),
    namespace: (name) => findNamespace(context, name),
    namespaces: (search) => listNamespaces(context, search),
    dropNamespace: (name) => dropNamespace(context, name),
    ...tokenMethods(context),
  };
}

export function directoryAt(platform: Platform, account: string): ActorClient<Directory> {
  platform.actors.define(directoryKind);
  return actorClient(platform.actors.get(directoryKind.name, account));
}
