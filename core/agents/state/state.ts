import type { ActorContext, Plain, Statement } from "../../ports.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { EventRecord } from "../../entity/event.ts";
import type { AnyAgent } from "../define/definition.ts";
import { LAST_SEQ } from "../events/events.ts";
import { startStateFrames } from "./state-frames.ts";

/** Longest state as JSON, in characters: it is sent to every client on every change. */
const STATE_LIMIT = 1024 * 1024;

/** The state of an instance: a row, a value in memory, and frames to the clients. */
export interface StateHolder {
  /** The newest state, which may still be on its way to the database; undefined before the first. */
  current(): Plain;
  /** The newest stored state, which is what clients may see. */
  stored(): Plain;
  /** Checks and stores a state (by `store`, if given), then sends it to every client except the connection `origin`. */
  set(
    next: Plain,
    source: "server" | "client",
    origin?: string,
    store?: (row: Statement) => Promise<unknown>,
  ): Promise<void>;
  /** Takes a stored event into a feed's state. */
  addEvent(seq: number, event: EventRecord): void;
  /** Sends a pending frame. */
  flush(): void;
  /** Reads the rows again, after they were deleted. */
  reload(): Promise<void>;
}

/** Loads the state of an instance. */
export async function startState(
  context: ActorContext,
  definition: AnyAgent,
  agent: string,
): Promise<StateHolder> {
  const feed = definition.feed === true;
  const load = (): Promise<Loaded> =>
    feed ? loadFeed(context, agent) : loadState(context, definition, agent);
  let { value: stored, eventCount } = await load();
  let current = stored;
  const { announce, flush } = startStateFrames(context, () => stored);

  return {
    current: () => current,
    stored: () => stored,
    flush,
    async reload() {
      ({ value: stored, eventCount } = await load());
      current = stored;
    },
    addEvent(seq, event) {
      if (!feed || seq <= eventCount) return;
      const { payload: _, ...lastEvent } = event;
      eventCount = seq;
      stored = { eventCount, lastEvent };
      current = stored;
      announce(undefined);
    },
    async set(next, source, from, store = (row) => context.sql.batch([row])) {
      if (feed) throw invalidRequest("This agent keeps its state itself");
      definition.validateState?.(next, source);
      const text = encodeState(next);
      // Read back from the text: a handler that goes on changing its object changes nothing here.
      const value = JSON.parse(text) as Plain;
      // Set at once, so that a callable that runs meanwhile builds on it and does not undo another one's change.
      current = value;
      try {
        await store({
          sql: `INSERT INTO agents_entities (agent, last_seq, state) VALUES (?, 0, ?)
            ON CONFLICT (agent) DO UPDATE SET state = excluded.state`,
          params: [agent, text],
        });
      } catch (error) {
        if (current === value) current = stored;
        throw error;
      }
      stored = value;
      announce(from);
    },
  };
}

function encodeState(state: Plain): string {
  const text = JSON.stringify(state);
  if (text === undefined) throw invalidRequest("The state must be JSON");
  if (text.length > STATE_LIMIT) {
    throw new ApiError("too_large", {
      message: `The state is over ${STATE_LIMIT} characters of JSON`,
    });
  }
  return text;
}

interface Loaded {
  readonly value: Plain;
  readonly eventCount: number;
}

async function loadState(
  context: ActorContext,
  definition: AnyAgent,
  agent: string,
): Promise<Loaded> {
  const [row] = await context.sql.all("SELECT state FROM agents_entities WHERE agent = ?", [agent]);
  const text = row?.["state"];
  const value = typeof text === "string" ? (JSON.parse(text) as Plain) : definition.initialState;
  return { value, eventCount: 0 };
}

/** A feed's state is derived from the events; without the payload, because it goes to every client. */
async function loadFeed(context: ActorContext, agent: string): Promise<Loaded> {
  const [row] = await context.sql.all(
    `SELECT ${LAST_SEQ} AS last_seq, v.id, v.type, v.action, v.title, v.description, v.url, v.actor, v.timestamp
     FROM agents_entities e LEFT JOIN agents_events v ON v.agent = e.agent AND v.seq = ${LAST_SEQ}
     WHERE e.agent = ?`,
    [agent],
  );
  const { last_seq: seq = 0, ...event } = row ?? {};
  const eventCount = Number(seq);
  const lastEvent = event["id"] == null ? null : (event as Plain);
  return { value: { eventCount, lastEvent }, eventCount };
}
