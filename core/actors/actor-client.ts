import type { ActorRef, Plain } from "../ports.ts";

/** The typed near end of an actor: one function per method of its map. */
export type ActorClient<Methods> = {
  readonly [Method in keyof Methods]: Methods[Method] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/**
 * Calls an actor by the methods that its kind declares. Both ends are written here, so what crosses has the types of the
 * map.
 *
 * @example
 * ```ts
 * interface CounterMethods { add(n: number): Promise<number> }
 * const total = await actorClient<CounterMethods>(platform.actors.get("counter", "a")).add(1);
 * ```
 */
export function actorClient<Methods>(actor: ActorRef): ActorClient<Methods> {
  return new Proxy({} as ActorClient<Methods>, {
    get: (_, method) =>
      // Whoever awaits the client itself looks for `then`: it is no method, and the client no promise.
      typeof method === "symbol" || method === "then"
        ? undefined
        : (...args: readonly Plain[]) => actor.call(method, ...args),
  });
}
