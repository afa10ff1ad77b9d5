import { stepwise } from "../../core/work/background.ts";
import type { ApiErrorData } from "../../core/http/api-error.ts";
import { ApiError } from "../../core/http/api-error.ts";
import { noActors } from "./agents-crowd.ts";
import type { Actor, ActorContext, ActorKind, Plain, Platform, System } from "../../core/ports.ts";

/** A clock that only moves when told to. */
export interface ManualClock {
  now: number;
}

/** A platform in memory, whose storage forgets: enough for what keeps its truth in memory, like the token actor. */
export function fakePlatform(clock: ManualClock, transport?: Platform["transport"]): Platform {
  let seed = 1;
  const system: System = {
    now: () => clock.now,
    monotonic: () => clock.now,
    id: () => `00000000-0000-4000-8000-${String(seed++).padStart(12, "0")}`,
    random: (length) =>
      Uint8Array.from(
        { length },
        () => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) >> 16,
      ),
    sleep: (_, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => {
          reject(signal.reason as Error);
        });
      }),
    waitUntil: () => undefined,
  };
  const refuse = { send: () => Promise.reject(new Error("This fake has no network")) };
  return {
    runtime: "node",
    capabilities: {
      actors: true,
      browser: "fake",
      "client-abort": "fake",
      "egress-pinning": "fake",
      "file-limits": "fake",
      "raw-framing": "fake",
      sockets: "fake",
      transport: true,
    },
    actors: fakeActors(system),
    transport: transport ?? refuse,
    egress: refuse,
    webSockets: {
      accept: () => {
        throw new Error("This fake has no WebSockets");
      },
      dial: () => Promise.reject(new Error("This fake has no network")),
    },
    browser: {
      connect: () => Promise.reject(new Error("This fake has no browser")),
      close: async () => undefined,
    },
    system,
    background: stepwise(system),
    log: () => undefined,
    close: async () => undefined,
  };
}

function fakeActors(system: System): Platform["actors"] {
  const kinds = new Map<string, ActorKind>();
  const running = new Map<string, Promise<Actor>>();
  const context = (name: string): ActorContext => ({
    name,
    steady: () => system.now(),
    system,
    actors: noActors,
    sockets: { accept: () => new Response(), broadcast: () => undefined, connections: () => [] },
    alarm: () => Promise.resolve([]),
    sql: {
      dialect: "sqlite",
      all: () => Promise.resolve([]),
      batch: () => Promise.resolve([]),
      close: () => Promise.resolve(),
    },
  });
  return {
    define(kind) {
      kinds.set(kind.name, kind);
    },
    get: (kind, name) => ({
      async call(method, ...args) {
        const key = `${kind}/${name}`;
        const starting = running.get(key) ?? Promise.resolve(kinds.get(kind)!.start(context(name)));
        running.set(key, starting);
        const actor = await starting;
        try {
          const run = actor.methods[method] as (...values: readonly Plain[]) => unknown;
          // Cloned as on Workers, so that nothing but plain data gets through.
          return structuredClone(await run(...structuredClone(args))) as Plain;
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
          throw ApiError.from(structuredClone<ApiErrorData>(error.toData()));
        }
      },
      fetch: () => Promise.resolve(new Response()),
    }),
  };
}
