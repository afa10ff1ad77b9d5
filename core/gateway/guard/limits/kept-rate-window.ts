import type { ActorContext } from "../../../ports.ts";
import { rateLimit, type RateState, rateWindow, type RateWindow } from "./rate-window.ts";

/** Milliseconds after which a change is stored: what a killed process may forget. */
const STORE_AFTER = 200;

/** The table of the windows. */
export const rateSchema: string = `CREATE TABLE gateway_rate (actor TEXT PRIMARY KEY, state TEXT NOT NULL)`;

/** A rate window that outlives its instance. */
export interface KeptRateWindow extends Pick<RateWindow, "admit"> {
  /** Begins anew, and stores nothing of what was counted before. */
  forget(): void;
}

/**
 * The rate window of one gateway, counted in memory and stored a moment later: an instance that leaves memory, or a
 * process that starts anew, goes on where the last one stopped.
 */
export async function keptRateWindow({ name, sql, system }: ActorContext): Promise<KeptRateWindow> {
  const [row] = await sql.all("SELECT state FROM gateway_rate WHERE actor = ?", [name]);
  let window = rateWindow(
    row === undefined ? null : (JSON.parse(String(row["state"])) as RateState),
  );
  let isPlanned = false;
  return {
    admit(settings, now) {
      const wait = window.admit(settings, now);
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

const upsert = `INSERT INTO gateway_rate (actor, state) VALUES (?, ?)
  ON CONFLICT (actor) DO UPDATE SET state = excluded.state`;
