import { invalidOptions } from "../../../http/api-error.ts";
import type { System } from "../../../ports.ts";
import type { Json } from "../../../http/json.ts";
import type { ModelRouter } from "./model-router.ts";
import { recentMap } from "../../../work/recent-map.ts";
import { turnOf } from "../../chat/conversation.ts";
import type { Call } from "../../call/call.ts";
import type { ChatFormat } from "../../chat/chat-body.ts";
import type { Controls } from "../../call/controls.ts";

export interface Affinity {
  /** The model that served the session last; null without one. */
  readonly model: string | null;
  /** Whether it served this very turn. */
  readonly isSameTurn: boolean;
  /** Whether its provider may still have the prompt in its cache. */
  readonly isWarm: boolean;
  readonly keep: (model: string) => void;
}

export interface Sessions {
  of(request: Routable): Promise<Affinity>;
}

interface Session {
  readonly turn: string | null;
  readonly model: string;
  /** When it was last served, Unix ms. */
  readonly at: number;
}

/** Milliseconds for which providers keep a prompt in their caches, at least. */
const WARM_MS = 300_000;

const none: Affinity = { model: null, isSameTurn: false, isWarm: false, keep: () => undefined };

/** Remembers as many sessions as the options say; throws `invalid_options`. */
export function routerSessions(
  { sessions: size = 10_000, sessionSeconds = 3600 }: ModelRouter,
  system: System,
): Sessions {
  if (!(size >= 1 && size <= 1_000_000 && sessionSeconds > 0)) {
    throw invalidOptions("router: sessions: expected 1 to 1000000, and sessionSeconds above 0");
  }
  const known = recentMap<Session>(size, sessionSeconds * 1000, system);
  return {
    async of({ call, controls, format, body }) {
      const { sessionId, turnId, noSessionAffinity = false } = controls;
      if (sessionId === undefined || noSessionAffinity) return none;
      const { account, gateway } = call.name;
      const key = JSON.stringify([account, gateway, sessionId]);
      const turn = turnId ?? (await turnOf(body, format, system));
      const keep = (model: string): void => {
        const kept = turn ?? known.get(key)?.turn ?? null;
        known.set(key, { turn: kept, model, at: system.monotonic() });
      };
      const session = known.get(key);
      if (session === undefined) return { ...none, keep };
      return {
        model: session.model,
        // A request without a user's message continues the turn before.
        isSameTurn: turn === null || turn === session.turn,
        isWarm: system.monotonic() - session.at < WARM_MS,
        keep,
      };
    },
  };
}

export interface Routable {
  readonly call: Call;
  readonly controls: Controls;
  readonly format: ChatFormat;
  readonly bytes: Uint8Array;
  /** The parsed {@link bytes}. */
  readonly body: Json;
}
