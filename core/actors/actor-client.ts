import type { ActorRef, Plain } from "../ports.ts";

/** The typed near end of an actor: one function per method of its map. */
export type ActorClient<Methods> = {
  readonly [Method in keyof Methods]: Methods[Method] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/**
 * Calls an actor by the methods that its kind declares. Both ends are written here, so what crosses has the types of the
 * map. What is assigned to a client stays beside them.
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
      // Whoever awaits the client itself looks for `then`: it is no method, and the client no promise.
      if (typeof method === "symbol" || method === "then") return undefined;
      return (...args: readonly Plain[]) => actor.call(method, ...args);
    },
  });
}
