import type { Hono } from "hono";
import type { ActorKind, Platform, Transport } from "../../core/ports.ts";
import { webhooksManagement } from "../../core/webhooks/mod.ts";

/** The outbound side of an account whose time the test moves. */
export interface ClockedOutbound {
  readonly app: Hono;
  /** Moves time on and does what is due then. */
  advance(ms: number): Promise<void>;
  now(): number;
  api<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<ApiAnswer<T>>;
}

/** A status, and the `result` and `errors` of the envelope. */
export interface ApiAnswer<T> {
  readonly status: number;
  readonly errors: unknown;
  readonly result: T;
}

/** Serves the management routes over a platform's real actors, with a clock that runs ahead of theirs. */
export function clockedOutbound(
  platform: Platform,
  egress: Transport,
  account: string,
): ClockedOutbound {
  let ahead = 0;
  const now = (): number => platform.system.now() + ahead;
  const clocked = (kind: ActorKind): ActorKind => ({
    ...kind,
    async start(context) {
      const actor = await kind.start({
        ...context,
        steady: () => context.steady() + ahead,
        system: { ...context.system, now },
      });
      return { ...actor, methods: { ...actor.methods, ring: () => actor.onAlarm?.() } };
    },
  });
  const actors: Platform["actors"] = {
    define: (kind) => {
      platform.actors.define(clocked(kind));
    },
    get: (kind, name) => platform.actors.get(kind, name),
  };
  const system = { ...platform.system, now };
  const app = webhooksManagement({
    platform: { ...platform, actors, egress, system },
    auth: "off",
    sources: {},
  });
  return {
    app,
    now,
    async advance(ms) {
      ahead += ms;
      await platform.actors.get("webhooks-outbound", account).call("ring");
    },
    async api<T>(method: string, path: string, body?: unknown): Promise<ApiAnswer<T>> {
      const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
      const url = `http://causey.test/accounts/${account}/webhooks${path}`;
      const response = await app.fetch(new Request(url, init));
      const { errors, result } = (await response.json()) as { errors: unknown; result: T };
      return { status: response.status, errors, result };
    },
  };
}
