import type { ActorContext } from "../../../ports.ts";
import type { GatewaySettings } from "../../settings/settings.ts";
import { steadyNow } from "../../../steady-now.ts";
import { rateLimit, type RateState, rateWindow } from "./rate-window.ts";

/** Milliseconds after which a change is stored: what a killed process may forget. */
const STORE_AFTER = 200;

/** The table of the windows. */
export const rateSchema: string = `CREATE TABLE gateway_rate (actor TEXT PRIMARY KEY, state TEXT NOT NULL)`;

/** A rate window that outlives its instance. */
export interface KeptRateWindow {
  /** Counts a request: 0 when it fits, else the ms until one would. */
  admit(settings: GatewaySettings): number;
  /** Begins anew, and stores nothing of what was counted before. */
  forget(): void;
}

/**
 * The rate window of one gateway, counted in memory and stored a moment later: an instance that leaves memory, or a
 * process that starts anew, goes on where the last one stopped.
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
      const wait = window.admit(settings, now());
      if (wait > 0 || isPlanned || rateLimit(settings) === null) return wait;
      isPlanned = true;
      const counted = window;
      const store = async (): Promise<void> => {
        if (window !== counted) return;
        isPlanned = false;
        const params = [name, JSON.stringify(counted.state(settings))];
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

/** What was counted by a clock that has been set back since must not stand in the way until it is that time again. */
function past(state: RateState, now: number): RateState {
  return { ...state, times: state.times.map(([at, count]) => [Math.min(at, now), count]) };
}

const upsert = `INSERT INTO gateway_rate (actor, state) VALUES (?, ?)
  ON CONFLICT (actor) DO UPDATE SET state = excluded.state`;
