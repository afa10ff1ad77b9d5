import type { GatewaySettings } from "../account/settings/settings.ts";
import type { ActorContext } from "../../ports.ts";
import { steadyNow } from "../../time/steady-now.ts";
import { type RateLimit, type RateState, rateWindow } from "../../work/rate-window.ts";

/** Returns the rate limit of a gateway; null without one. */
function rateOf(settings: GatewaySettings): RateLimit | null {
  const limit = settings.rate_limiting_limit ?? 0;
  const interval = (settings.rate_limiting_interval ?? 0) * 1000;
  if (limit <= 0 || interval <= 0) return null;
  const technique = settings.rate_limiting_technique === "sliding" ? "sliding" : "fixed";
  return { limit, interval, technique };
}

/** Milliseconds after which a change is stored: what a killed process may forget. */
const STORE_AFTER = 200;

export const rateSchema: string = `CREATE TABLE gateway_rate (actor TEXT PRIMARY KEY, state TEXT NOT NULL)`;

export interface KeptRateWindow {
  /** Counts a request: 0 when it fits, else the ms until one would. */
  admit(settings: GatewaySettings): number;
  /** Starts from zero, and does not store the counts so far. */
  forget(): void;
}

/**
 * Opens the rate window of one gateway, counted in memory and stored a moment later. An evicted instance or a new process
 * goes on where the last one stopped.
 */
export async function keptRateWindow({ name, sql, system }: ActorContext): Promise<KeptRateWindow> {
  const [row] = await sql.all("SELECT state FROM gateway_rate WHERE actor = ?", [name]);
  const now = steadyNow(system);
  let window = rateWindow(
    row === undefined ? null : past(JSON.parse(String(row["state"])) as RateState, now()),
  );
  let isPlanned = false;
  return {
    admit(settings) {
      const rate = rateOf(settings);
      if (rate === null) return 0;
      const wait = window.admit(rate, now());
      if (wait > 0 || isPlanned) return wait;
      isPlanned = true;
      const counted = window;
      const store = async (): Promise<void> => {
        if (window !== counted) return;
        isPlanned = false;
        const params = [name, JSON.stringify(counted.state(rate))];
        await sql.batch([{ sql: upsert, params }], { lazy: true });
      };
      // Putting a million times together takes some ms.
      const pause = Math.max(STORE_AFTER, window.size / 1000);
      system.waitUntil(system.sleep(pause).then(store));
      return wait;
    },
    forget() {
      window = rateWindow();
      isPlanned = false;
    },
  };
}

/** Counts by a clock that has been set back since must not refuse requests until it is that time again. */
function past(state: RateState, now: number): RateState {
  return { ...state, times: state.times.map(([at, count]) => [Math.min(at, now), count]) };
}

const upsert = `INSERT INTO gateway_rate (actor, state) VALUES (?, ?)
  ON CONFLICT (actor) DO UPDATE SET state = excluded.state`;
