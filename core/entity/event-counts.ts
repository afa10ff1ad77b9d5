import { type ActorClient, actorClient } from "../actors/actor-client.ts";
import type { ActorKind, Actors, Statement, System } from "../ports.ts";
import { startTally, type Counts, type Tally } from "./tally.ts";

/** Names of the counters of a source's inbound events, beside `refused.<reason>`. */
export const eventCounts = [
  "received",
  "verified",
  "handshakes",
  "stored",
  "duplicates",
  "handled",
  "failed",
  "dead",
] as const;

/** The name of a counter; the reasons are those of signatures and the names of errors. */
export type EventCount = (typeof eventCounts)[number] | `refused.${string}`;

const KIND = "webhooks-inbound-counts";
/** Inbound events belong to one account, so one actor counts them all. */
const NAME = "all";

const ADD = `INSERT INTO webhooks_inbound_counts (actor, source, name, value) VALUES (?, ?, ?, ?)
  ON CONFLICT (actor, source, name) DO UPDATE SET value = webhooks_inbound_counts.value + excluded.value`;

interface EventCountsMethods {
  add(counts: Counts): void;
  /** Sources, names and values. */
  read(): Promise<readonly (readonly [string, string, number])[]>;
}

function eventCounter(actors: Pick<Actors, "get">): ActorClient<EventCountsMethods> {
  return actorClient(actors.get(KIND, NAME));
}

/** The kind of actor that adds up the counts of all requests, instances and isolates. */
export const eventCountsKind: ActorKind = {
  name: KIND,
  schema: [
    `CREATE TABLE IF NOT EXISTS webhooks_inbound_counts (
      actor TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL, value BIGINT NOT NULL,
      PRIMARY KEY (actor, source, name))`,
  ],
  interleaved: ["add", "read"],
  start({ name: actor, sql, system }) {
    const tally = startTally(system, (counts) =>
      sql.batch(additions(actor, counts), { lazy: true }),
    );
    const methods: EventCountsMethods = {
      add(counts) {
        for (const [source, names] of Object.entries(counts))
          for (const [name, by] of Object.entries(names)) tally.add(source, name, by);
      },
      async read() {
        await tally.flush();
        const rows = await sql.all(
          "SELECT source, name, value FROM webhooks_inbound_counts WHERE actor = ?",
          [actor],
        );
        return rows.map((row) => [
          String(row["source"]),
          String(row["name"]),
          Number(row["value"]),
        ]);
      },
    };
    return { methods: { ...methods } };
  },
};

function additions(actor: string, counts: Counts): Statement[] {
  return Object.entries(counts).flatMap(([source, names]) =>
    Object.entries(names).map(([name, by]) => ({ sql: ADD, params: [actor, source, name, by] })),
  );
}

/** Counts one thing of a source. */
export type Note = (name: EventCount) => void;

/** Counts inbound events; they are readable about two seconds later. */
export interface EventTally {
  add(source: string, name: EventCount): void;
  of(source: string): Note;
}

/** A tally that hands its counts to the actor which adds them up. */
export function eventTally(actors: Pick<Actors, "get">, system: System): EventTally {
  // Made for each instance of an agent, most of which never count anything.
  let tally: Tally | undefined;
  const add = (source: string, name: EventCount): void => {
    tally ??= startTally(system, (counts) => eventCounter(actors).add(counts));
    tally.add(source, name);
  };
  return {
    add,
    of: (source) => (name) => {
      add(source, name);
    },
  };
}

export type SourceCounts = { readonly [name in (typeof eventCounts)[number]]: number } & {
  /** By reason; only those that occurred. */
  readonly refused: { readonly [reason: string]: number };
};

/** Reads the counts of sources, including sources without any. */
export async function readEventCounts(
  actors: Pick<Actors, "get">,
  sources: Iterable<string>,
): Promise<{ readonly [source: string]: SourceCounts }> {
  const rows = await eventCounter(actors).read();
  const bySource = new Map<string, Map<string, number>>();
  for (const source of sources) bySource.set(source, new Map());
  // Counts of sources that are no longer configured stay.
  for (const [source, name, value] of rows) {
    const names = bySource.get(source) ?? new Map<string, number>();
    bySource.set(source, names.set(name, value));
  }
  return Object.fromEntries(
    [...bySource].map(([source, names]) => [source, countsOf(names)] as const),
  );
}

const REFUSED = "refused.";

function countsOf(names: ReadonlyMap<string, number>): SourceCounts {
  const known = eventCounts.map((name) => [name, names.get(name) ?? 0]);
  const refused = [...names].filter(([name]) => name.startsWith(REFUSED));
  return {
    ...(Object.fromEntries(known) as Record<(typeof eventCounts)[number], number>),
    refused: Object.fromEntries(
      refused.map(([name, value]) => [name.slice(REFUSED.length), value]),
    ),
  };
}
