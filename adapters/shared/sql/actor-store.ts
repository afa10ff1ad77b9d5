import type { ActorKind, Sql } from "../../../core/ports.ts";
import type { AlarmTable } from "./alarm-rows.ts";
import type { SteadyClock } from "./steady-clock.ts";

/** The database of local actors: their rows, their tables and their time. */
export interface ActorStore {
  /** The database as one actor sees it. */
  sqlOf(kind: string, name: string): Sql;
  /** The database of what belongs to no single actor, such as the list of alarms. */
  readonly sql: Sql;
  /** As that of an actor's context. */
  readonly fullText?: (() => Sql) | undefined;
  readonly clock: SteadyClock;
  readonly alarms: AlarmTable;
  /**
   * Prepares the tables of a kind, before its first instance starts. A database that is at hand does so at once, and throws
   * when it cannot; another one resolves later.
   */
  prepare(kind: ActorKind): Promise<void> | undefined;
}
