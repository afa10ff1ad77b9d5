import type { GatewaySettings } from "../account/settings/settings.ts";
import type { ActorContext } from "../../ports.ts";
import { SqlError } from "../../sql/sql-error.ts";
import { steadyNow } from "../../time/steady-now.ts";
import type { NowOrLater } from "../../work/now-or-later.ts";
import {
  type RateLimit,
  type RateState,
  type RateWindow,
  rateWindow,
} from "../../work/rate-window.ts";
import { type CountedAhead, countedAhead } from "./counted-ahead.ts";

/** Returns the rate limit of a gateway; null without one. */
function rateOf(settings: GatewaySettings): RateLimit | null {
  const limit = settings.rate_limiting_limit ?? 0;
  const interval = (settings.rate_limiting_interval ?? 0) * 1000;
  if (limit <= 0 || interval <= 0) return null;
  const technique = settings.rate_limiting_technique === "sliding" ? "sliding" : "fixed";
  return { limit, interval, technique };
}

/** Milliseconds between two writes while requests come. */
const STORE_AFTER = 200;

export const rateSchema: string = `CREATE TABLE gateway_rate (actor TEXT PRIMARY KEY, state TEXT NOT NULL)`;

export interface KeptRateWindow {
  /** Counts a request: 0 when it fits, else the ms until one would. */
  admit(settings: GatewaySettings): NowOrLater<number>;
  /** Starts from zero, and does not store the counts so far. */
  forget(): void;
}

/** The stored row: the window, and requests that its instance may have let in since. */
type KeptState = RateState & { readonly ahead?: number };

/**
 * Opens the rate window of one gateway. Requests are counted in memory, but only as many as the database counts already:
 * a row is stored ahead of them, and what of it is not used is given back when no more come. After a kill the next
 * instance counts those as used: it may let in fewer than the limit, never more.
 */
export async function keptRateWindow({ name, sql, system }: ActorContext): Promise<KeptRateWindow> {
  const [row] = await sql.all("SELECT state FROM gateway_rate WHERE actor = ?", [name]);
  const now = steadyNow(system);
  const stored = row === undefined ? null : (JSON.parse(String(row["state"])) as KeptState);
  let rate: RateLimit = { limit: 0, interval: 1, technique: "fixed" };
  /** Requests that the last instance may have let in, of which it is not known when. */
  let unknown = stored?.ahead ?? 0;
  const counting = (window: RateWindow): CountedAhead =>
    countedAhead({
      system,
      // Putting a million times together takes some ms.
      pause: () => Math.max(STORE_AFTER, window.size / 1000),
      now,
      room: (at) => window.room(rate, at),
      admit: (at) => window.admit(rate, at),
      async store(ahead) {
        const params = [name, JSON.stringify({ ...window.state(rate), ahead })];
        try {
          await sql.batch([{ sql: upsert, params }], { lazy: true });
        } catch (error) {
          // A full disk takes no counts, and holds up no requests.
          if (!(error instanceof SqlError) || error.reason !== "full") throw error;
        }
      },
    });
  const first = rateWindow(stored === null ? null : past(stored, now()));
  let current = counting(first);
  return {
    admit(settings) {
      const asked = rateOf(settings);
      if (asked === null) return 0;
      rate = asked;
      while (unknown > 0 && first.admit(rate, now()) === 0) unknown -= 1;
      unknown = 0;
      return current.take();
    },
    forget() {
      current.stop();
      unknown = 0;
      current = counting(rateWindow());
    },
  };
}

/** Counts by a clock that has been set back since must not refuse requests until it is that time again. */
function past(state: RateState, now: number): RateState {
  return { ...state, times: state.times.map(([at, count]) => [Math.min(at, now), count]) };
}

const upsert = `INSERT INTO gateway_rate (actor, state) VALUES (?, ?)
  ON CONFLICT (actor) DO UPDATE SET state = excluded.state`;
