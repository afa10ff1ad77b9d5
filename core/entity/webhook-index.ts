import type { Retention } from "./event.ts";
import type { Replays } from "./webhook-replays.ts";
import { type ActorClient, actorClient } from "../actors/actor-client.ts";
import type { Actors, SqlRow } from "../ports.ts";

/** Kind of actor that lists the entities and their failures. */
export const INDEX_KIND = "webhooks-index";
/** Inbound events belong to one account, so one actor lists them all. */
export const INDEX_NAME = "all";

/** A job of an entity that has failed. */
export type Failure = {
  /** The job's id, which is also the id of its dead letter. */
  readonly id: string;
  /** Whether it runs again, or has failed for good. */
  readonly state: "failing" | "dead";
  readonly task: string;
  /** Position and id of the job's event; null for a task. */
  readonly seq: number | null;
  readonly event: string | null;
  readonly source: string | null;
  readonly attempts: number;
  readonly error: string;
  readonly failed_at: string;
  /** When a failing job was to run again; null for a dead one. */
  readonly next_at: string | null;
};

/** The report of an entity on itself: its present state, so that a repeated report does no harm. */
export type IndexReport = {
  /** Kebab form of the agent class. */
  readonly agent: string;
  readonly entity: string;
  /** Left out: nothing new; null: it was destroyed. */
  readonly row?: { readonly source: string | null; readonly last_seen: string } | null;
  readonly failures: readonly Failure[];
  /** Jobs that no longer fail. */
  readonly settled: readonly string[];
  /** The retention that is configured in the entity's process, if any. */
  readonly retention?: Retention;
};

/** The filter and page of a list. */
export type IndexQuery = {
  readonly agent?: string | undefined;
  readonly entity?: string | undefined;
  readonly source?: string | undefined;
  /** All sources that have their entities together with `source`. @default itself alone */
  readonly owners?: readonly string[] | undefined;
  /** The end of the previous page. */
  readonly cursor?: string | undefined;
  readonly limit: number;
};

/** A page of a list; `cursor` is null on the last one. */
export type IndexPage = { readonly rows: SqlRow[]; readonly cursor: string | null };

export interface IndexMethods {
  report(report: IndexReport): Promise<void>;
  entities(query: IndexQuery): Promise<IndexPage>;
  failures(state: Failure["state"], query: IndexQuery): Promise<IndexPage>;
  /**
   * The source that had an agent class to itself, or none (null). If there was none and the asking source is alone, it
   * is that source from now on.
   */
  plainHolder(agent: string, owners: readonly string[], isAlone: boolean): Promise<string | null>;
  createReplay: Replays["create"];
  listReplays: Replays["list"];
  getReplay: Replays["get"];
  cancelReplay: Replays["cancel"];
}

/** The index of the account. */
export function webhookIndex(actors: Pick<Actors, "get">): ActorClient<IndexMethods> {
  return actorClient(actors.get(INDEX_KIND, INDEX_NAME));
}
