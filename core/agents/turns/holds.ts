import type { ActorContext } from "../../ports.ts";

/**
 * Interval at which the alarm of a held instance goes off, in ms: platforms that drop silent instances see that it
 * works.
 */
const BEAT_MS = 30_000;

/** The holds that keep an instance in memory. */
export interface Holds {
  /** Takes one more hold; the returned function releases it. */
  take(): () => void;
  /** When the alarm has to go off for them (Unix ms); null without any. */
  nextBeat(): number | null;
}

/** The holds of an instance; `beat` sets its alarm. */
export function startHolds(
  { steady, system }: Pick<ActorContext, "steady" | "system">,
  beat: (at: number) => Promise<unknown>,
): Holds {
  const held = new Set<() => void>();
  return {
    nextBeat: () => (held.size === 0 ? null : steady() + BEAT_MS),
    take() {
      let release = (): void => undefined;
      const over = new Promise<void>((resolve) => {
        release = () => {
          held.delete(release);
          system.closing?.removeEventListener("abort", release);
          resolve();
        };
      });
      if (system.closing?.aborted === true) return release;
      held.add(release);
      system.closing?.addEventListener("abort", release, { once: true });
      system.waitUntil(Promise.all([over, beat(steady() + BEAT_MS)]));
      return release;
    },
  };
}
