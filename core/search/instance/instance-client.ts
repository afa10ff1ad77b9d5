import type { ActorRef, Plain, Platform } from "../../ports.ts";
import { INSTANCE_KIND, type InstanceMethods } from "./instance-actor.ts";

/** The typed near end of an instance actor: one function per method. */
export type Instance = {
  readonly [Method in keyof InstanceMethods]: (
    ...args: Parameters<InstanceMethods[Method]>
  ) => Promise<Awaited<ReturnType<InstanceMethods[Method]>>>;
};

/** Where an instance lives. */
export interface InstanceAddress {
  readonly account: string;
  readonly namespace: string;
  readonly id: string;
}

/** The instance at an address, whether it exists or not: its methods throw 7002 then. `search()` defines its kind. */
export function instanceAt(
  platform: Platform,
  { account, namespace, id }: InstanceAddress,
): Instance {
  const actor = platform.actors.get(INSTANCE_KIND, `${account}/${namespace}/${id}`);
  const call = <Method extends keyof InstanceMethods>(method: Method): Instance[Method] =>
    caller(actor, method) as Instance[Method];
  return {
    create: call("create"),
    change: call("change"),
    destroy: call("destroy"),
    read: call("read"),
    stats: call("stats"),
    search: call("search"),
    train: call("train"),
    cachedAnswer: call("cachedAnswer"),
    keepAnswer: call("keepAnswer"),
    begin: call("begin"),
    beginSync: call("beginSync"),
    commit: call("commit"),
    fail: call("fail"),
    release: call("release"),
    remove: call("remove"),
    item: call("item"),
    items: call("items"),
    chunks: call("chunks"),
    content: call("content"),
    logs: call("logs"),
    startJob: call("startJob"),
    cancelJob: call("cancelJob"),
    job: call("job"),
    jobLogs: call("jobLogs"),
    jobs: call("jobs"),
  };
}

/** Both ends are written here, so what crosses has the types that the methods declare. */
function caller(
  actor: ActorRef,
  method: string,
): (...args: readonly unknown[]) => Promise<unknown> {
  return (...args) => actor.call(method, ...(args as readonly Plain[]));
}
