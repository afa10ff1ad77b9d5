import type { System } from "../../../ports.ts";
import { recentMap } from "../../../work/recent-map.ts";

/** The circuit breaker of this process for the targets of pools and of the automatic router. */
export interface TargetHealth {
  /** Whether a target failed a short while ago: others are asked before it. */
  isCooling(key: string): boolean;
  /**
   * Notes that a target is asked. The first request after a cool-down is its probe: for `coolDownMs`, or until it ends,
   * others pass the target over.
   */
  asked(key: string, coolDownMs: number): void;
  /** Notes that a target has answered well. */
  served(key: string): void;
  /** Notes that a target could not serve. */
  failed(key: string, terms: CoolDown): void;
}

/** How long a target is passed over. */
export interface CoolDown {
  /** Milliseconds after the first failure; twice as many after each failed probe. */
  readonly coolDownMs: number;
  /** Milliseconds for which the target wants to be left alone. @default it does not say */
  readonly retryAfter?: number | null | undefined;
}

/** A target whose answers {@link TargetHealth} hears of. */
export interface WatchedTarget {
  readonly key: string;
  readonly coolDownMs: number;
  readonly onServed?: () => void;
}

interface State {
  /** By the steady clock, in ms. */
  readonly until: number;
  /** Cool-downs without a good answer in between. */
  readonly failures: number;
  readonly isProbed: boolean;
}

const WELL: State = { until: 0, failures: 0, isProbed: false };

/** Targets that are remembered, and for how many milliseconds. */
const TARGETS = 10_000;
const KEPT_MS = 2 * 60 * 60_000;
/** The longest cool-down in ms: by failures in a row, and by what a provider asks for. */
const LONGEST = 5 * 60_000;
const LONGEST_ASKED = 60 * 60_000;

/** Remembers which targets cannot serve. */
export function targetHealth(system: Pick<System, "monotonic">): TargetHealth {
  const states = recentMap<State>(TARGETS, KEPT_MS, system);
  const isOver = ({ until }: State): boolean => until <= system.monotonic();
  return {
    isCooling(key) {
      const state = states.get(key);
      return state !== undefined && !isOver(state);
    },
    asked(key, coolDownMs) {
      const state = states.get(key);
      if (state === undefined || state.failures === 0 || !isOver(state)) return;
      states.set(key, { ...state, until: system.monotonic() + coolDownMs, isProbed: true });
    },
    served(key) {
      const state = states.get(key);
      // A request that was sent before the failure says nothing about the time after it.
      if (state !== undefined && (state.isProbed || isOver(state))) states.set(key, WELL);
    },
    failed(key, { coolDownMs, retryAfter = null }) {
      const state = states.get(key) ?? WELL;
      const now = system.monotonic();
      // Requests that were under way together fail together: they are one failure.
      const isSame = state.until > now && !state.isProbed;
      const failures = isSame ? state.failures : state.failures + 1;
      const own = isSame ? state.until - now : Math.min(coolDownMs * 2 ** (failures - 1), LONGEST);
      const asked = Math.min(retryAfter ?? 0, LONGEST_ASKED);
      states.set(key, { until: now + Math.max(own, asked), failures, isProbed: false });
    },
  };
}
