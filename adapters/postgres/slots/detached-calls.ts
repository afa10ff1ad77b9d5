import { clearTimeout, setTimeout } from "node:timers";
import type { ActorKind, ActorRef, Log, SqlRow, Statement, System } from "../../../core/ports.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { TIMER_OVER } from "../../../core/time/timer-over.ts";
import type { PostgresDatabase } from "../open-postgres.ts";
import type { PostgresStore } from "../postgres-store.ts";
import { slotOf } from "../slot-of.ts";
import type { DetachedCall } from "./routed-actors.ts";

/** Calls that this node makes without their actors, and actors of this node for which others have done so. */
export interface DetachedCalls {
  /** Learns the methods of a kind. From the first one on, actors of this node take over what others have written. */
  define(kind: ActorKind): void;
  /** Returns how a call is made without its actor; undefined for methods that need it. */
  of(kind: string, name: string, method: string): DetachedCall | undefined;
  /** Ends that; resolves when nothing of it runs. */
  stop(): Promise<void>;
}

export interface DetachedCallsOptions {
  readonly db: Pick<PostgresDatabase, "sqlOf">;
  readonly store: Pick<PostgresStore, "clock" | "prepared" | "sql" | "sqlOf">;
  readonly system: System;
  readonly log: Log;
  readonly ownSlots: () => readonly number[];
  /** The id of this node. */
  readonly ownNode: () => string;
  /** The actors of this node. */
  readonly host: { here(kind: string, name: string): ActorRef };
}

/** How often a node looks for news of its actors, in ms. */
const LOOK_MS = 1000;
/** How long a look waits for the actors that it has told, in ms: one may start with a handler that never ends. */
const TELL_MS = 2000;
/** Actors that one look takes; those beyond follow at once. */
const AT_A_TIME = 100;

/** The alarm stays the instance's: it alone knows what the stored one is. So there is a row beside it, which it hears of. */
const ADD = `INSERT INTO causey_news (kind, actor, slot, version) VALUES (?, ?, ?, 1)
  ON CONFLICT (kind, actor) DO UPDATE SET version = causey_news.version + 1`;
const REMOVE = "DELETE FROM causey_news WHERE kind = ? AND actor = ? AND version = ?";

/** Makes the calls of a node. */
export function detachedCalls(options: DetachedCallsOptions): DetachedCalls {
  const { db, ownNode, store, system } = options;
  const kinds = new Map<string, ActorKind>();
  const looks = repeatedLooks(options, kinds);
  return {
    define(kind) {
      if (kind.detached === undefined) return;
      kinds.set(kind.name, kind);
      looks.start();
    },
    of(kind, name, method) {
      const methods = kinds.get(kind)?.detached?.methods ?? {};
      const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
      if (run === undefined) return undefined;
      return async (args) => {
        await store.prepared();
        // Without a lease, and in the order of this node's other writes for the actor.
        const sql = db.sqlOf(`${kind}\0${name}`, { knownBy: ownNode() });
        const news = { sql: ADD, params: [kind, name, slotOf(kind, name)] };
        const context = {
          name,
          sql,
          system,
          steady: () => store.clock.now(),
          write: async (statements: readonly Statement[]) =>
            (await sql.batch([...statements, news])).slice(0, -1),
        };
        // `as`: the caller and the kind agree on the signature, as with any call.
        return run(context, ...(args as never[]));
      };
    },
    stop: () => looks.stop(),
  };
}

/** Looks for news, one look after the other. */
function repeatedLooks(
  options: DetachedCallsOptions,
  kinds: ReadonlyMap<string, ActorKind>,
): { start(): void } & Pick<DetachedCalls, "stop"> {
  const { log } = options;
  const telling: Telling = new Map();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> = Promise.resolve();
  const state = { isStopped: false };
  const look = async (): Promise<void> => {
    try {
      while (!state.isStopped && (await followUp(options, kinds, telling)));
    } catch (error) {
      if (!state.isStopped && !(error instanceof SqlError && error.isReported))
        log("warn", "News of objects of this node cannot be read", { error: String(error) });
    }
    schedule();
  };
  const schedule = (): void => {
    if (state.isStopped) return;
    timer = setTimeout(() => {
      running = look();
    }, LOOK_MS);
    timer.unref();
  };
  return {
    start() {
      if (timer === undefined) schedule();
    },
    async stop() {
      state.isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** The actors that are being told of their news, by kind and name; resolves to whether they heard. */
type Telling = Map<string, Promise<boolean>>;

/**
 * Has actors take over what is new, in any order: some may always fail, or never answer. Whether there may be more, and all
 * have heard.
 */
async function followUp(
  options: DetachedCallsOptions,
  kinds: ReadonlyMap<string, ActorKind>,
  telling: Telling,
): Promise<boolean> {
  const { ownSlots, store } = options;
  const slots = ownSlots();
  if (slots.length === 0 || kinds.size === 0) return false;
  const marks = [...kinds].map(() => "?").join(", ");
  const rows = await store.sql.all(
    `SELECT kind, actor, version FROM causey_news
      WHERE slot = ANY (CAST(STRING_TO_ARRAY(?, ' ') AS INTEGER[])) AND kind IN (${marks}) ORDER BY random() LIMIT ?`,
    [slots.join(" "), ...kinds.keys(), AT_A_TIME],
  );
  const keyOf = (row: SqlRow): string => `${String(row["kind"])}\0${String(row["actor"])}`;
  const told = rows
    .filter((row) => !telling.has(keyOf(row)))
    .map((row) => {
      const heard = tell(options, kinds, row).finally(() => telling.delete(keyOf(row)));
      telling.set(keyOf(row), heard);
      return heard;
    });
  const over = new AbortController();
  const late = options.system.sleep(TELL_MS, over.signal).then(
    () => [false],
    () => [false],
  );
  const done = await Promise.race([Promise.all(told), late]);
  over.abort(TIMER_OVER);
  return rows.length === AT_A_TIME && told.length > 0 && done.every(Boolean);
}

/** Tells an actor of its news, and removes it; false when that failed: the next look tries again. */
async function tell(
  { host, log, store }: DetachedCallsOptions,
  kinds: ReadonlyMap<string, ActorKind>,
  row: SqlRow,
): Promise<boolean> {
  const [kind, name] = [String(row["kind"]), String(row["actor"])];
  const method = kinds.get(kind)?.detached?.followUp;
  try {
    if (method !== undefined) await host.here(kind, name).call(method);
    const params = [kind, name, Number(row["version"])];
    // Under the fence: who has the actor by now hears of it too.
    await store.sqlOf(kind, name).batch([{ sql: REMOVE, params }]);
    return true;
  } catch (error) {
    if (!(error instanceof SqlError))
      log("warn", "An object could not take over what is new", { kind, error: String(error) });
    return false;
  }
}
