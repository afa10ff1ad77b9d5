import type { ActorRef, Plain } from "../ports.ts";

/** The typed near end of an actor: one function per method of its map. */
export type ActorClient<Methods> = {
  readonly [Method in keyof Methods]: Methods[Method] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/**
 * Calls an actor by the methods that its kind declares. The types of the map are trusted, because both ends are in this
 * code base. A property that is assigned to a client stays on the client and is not forwarded.
 *
 * @example
 * ```ts
 * interface CounterMethods { add(n: number): Promise<number> }
 * const total = await actorClient<CounterMethods>(platform.actors.get("counter", "a")).add(1);
 * ```
 */
export function actorClient<Methods>(actor: ActorRef): ActorClient<Methods> {
  return new Proxy({} as ActorClient<Methods>, {
    get(own, method) {
      if (Object.hasOwn(own, method)) return Reflect.get(own, method);
      // An `await` of the client itself looks for `then`, which must be missing: the client is not a promise.
      if (typeof method === "symbol" || method === "then") return undefined;
      return (...args: readonly Plain[]) => actor.call(method, ...args);
    },
  });
}
