import { ApiError } from "../http/api-error.ts";
import { eventTime, type IncomingEvent, type IngestReceipt } from "../entity/event.ts";
import { agentKindName, kebab } from "../entity/kebab.ts";
import type { Actor, ActorContext, ActorKind, SqlValue } from "../ports.ts";
import { startClock, type Clock } from "../entity/clock.ts";
import type { Agent, AnyAgent } from "./definition.ts";
import { readEvents } from "./events.ts";
import { claimOf, ingest, pruneByAge, pruneByCount } from "./ingest.ts";
import { startJobs, type Jobs } from "./jobs.ts";
import { startLive, type Live } from "./live.ts";
import { agentSchema, agentTables } from "./schema.ts";
import { startSchedules, type Schedules } from "./schedules.ts";
import { forHandlers, grantOf } from "./grant.ts";
import { startSession, type Session } from "./session.ts";
import { startState, type StateHolder } from "./state.ts";

/** Rows that one run of retention deletes: about a millisecond of the database. */
const PRUNE_BATCH = 500;
/** How long an admission may wait for its connection, in ms. */
const ADMISSION_MS = 10_000;

/** The actor kind of an agent class. */
export function agentKind(definition: AnyAgent): ActorKind {
  return {
    name: agentKindName(definition.name),
    schema: [...agentSchema, ...(definition.schema ?? [])],
    // They take no decision that another call could overtake: SQL alone, or waiting for news.
    interleaved: ["ingest", "nextEvents", "getEvents", "getEventsByType", "deadLetters", "admit"],
    start: (context) => startAgent(context, definition),
  };
}

/** Everything that one running instance is made of. */
interface Parts {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly className: string;
  readonly agent: string;
  readonly clock: Clock;
  readonly state: StateHolder;
  readonly live: Live;
  readonly jobs: Jobs;
  readonly schedules: Schedules;
  readonly session: Session;
  readonly api: Agent;
  /** The newest claim that is stored, see `claimOf`. */
  readonly claim: { known: string };
}

async function startAgent(context: ActorContext, definition: AnyAgent): Promise<Actor> {
  const className = kebab(definition.name);
  const agent = `${className}/${context.name}`;
  const clock = await startClock(context, () => nextDue(context, agent));
  const state = await startState(context, definition, agent);
  const live = startLive(context, agent, (connection) => grantOf(connection).follows);
  const schedules = startSchedules({ context, definition, agent, clock });
  const deps = {
    context,
    definition,
    className,
    agent,
    clock,
    state,
    live,
    api: (): Agent => parts.api,
  };
  const jobs = startJobs(deps);
  const session = startSession(deps);
  const parts: Parts = {
    ...deps,
    jobs,
    schedules,
    session,
    claim: { known: "" },
    api: agentApi({ ...deps, jobs, schedules }),
  };
  await schedules.ensureDefined();
  return actorOf(parts);
}

function actorOf(parts: Parts): Actor {
  const { context, definition, agent, jobs, live, session } = parts;
  const { sql, system } = context;
  const admitted = new Map<string, number>();
  return {
    methods: {
      ingest: (event: IncomingEvent) => take(parts, event),
      process: (job: string) => jobs.runEvent(job),
      nextEvents: (since: number, waitMs: number) => live.next(since, waitMs),
      getEvents: (limit?: number) => readEvents(sql, agent, { limit }),
      getEventsByType: (type: string, limit?: number) => readEvents(sql, agent, { type, limit }),
      deadLetters: (limit: number) => jobs.dead(limit),
      replay: (id: string) => jobs.replay(id),
      /** The connection of this `sec-websocket-key` comes with "Agents Edit". */
      admit(key: string) {
        const now = system.now();
        for (const [old, until] of admitted) if (until < now) admitted.delete(old);
        admitted.set(key, now + ADMISSION_MS);
      },
    },
    async fetch(request) {
      if (isUpgrade(request)) {
        const key = request.headers.get("sec-websocket-key") ?? "";
        return session.connect(request, admitted.delete(key));
      }
      if (definition.onRequest !== undefined) return definition.onRequest(parts.api, request);
      throw new ApiError("no_route", {
        message: `The agent "${parts.className}" answers no requests`,
      });
    },
    onAlarm: () =>
      parts.clock.onAlarm(async () => {
        await parts.schedules.fireDue();
        await jobs.runDue();
        await prune(context, agent);
      }),
    onMessage: (connection, message) => session.onMessage(connection, message),
    onClose: (connection, code, reason) => session.onClose(connection, code, reason),
  };
}

/** Whether a request wants to become a WebSocket. */
export function isUpgrade(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** Stores an event; those who follow the instance hear of it after the commit. */
async function take(parts: Parts, event: IncomingEvent): Promise<IngestReceipt> {
  const { context, definition, agent, clock } = parts;
  const claim = claimOf(event);
  const receipt = await ingest(event, {
    isClaimed: parts.claim.known === claim,
    agent,
    clock,
    now: context.system.now(),
    jobId: context.system.id(),
    handled: definition.onEvent !== undefined,
  });
  if (receipt.outcome === "stored") {
    parts.claim.known = claim;
    parts.state.addEvent(receipt.seq, event.record);
    parts.live.publish(receipt.seq, event.record);
  }
  return receipt;
}

/** The earliest time at which something is to be done: a job, a schedule, an event's end of age. */
async function nextDue(context: ActorContext, agent: string): Promise<number | null> {
  const [row] = await context.sql.all(
    `SELECT (SELECT MIN(due) FROM agents_jobs WHERE agent = ?) AS job,
      (SELECT MIN(due) FROM agents_schedules WHERE agent = ?) AS schedule,
      (SELECT max_age_ms FROM agents_entities WHERE agent = ?) AS max_age,
      (SELECT v.timestamp FROM agents_events v WHERE v.agent = ?
        AND NOT EXISTS (SELECT 1 FROM agents_jobs j WHERE j.agent = v.agent AND j.event_seq = v.seq)
        AND NOT EXISTS (SELECT 1 FROM agents_dead d WHERE d.agent = v.agent AND d.event_seq = v.seq)
        ORDER BY v.timestamp LIMIT 1) AS oldest`,
    [agent, agent, agent, agent],
  );
  const times = [row?.["job"], row?.["schedule"]].filter((due) => due != null).map(Number);
  if (row?.["max_age"] != null && typeof row["oldest"] === "string") {
    // One past the age: retention deletes what is older than that.
    times.push(Date.parse(row["oldest"]) + Number(row["max_age"]) + 1);
  }
  return times.length === 0 ? null : Math.min(...times);
}

async function prune(context: ActorContext, agent: string): Promise<void> {
  const [row] = await context.sql.all(
    "SELECT max_events, max_age_ms FROM agents_entities WHERE agent = ?",
    [agent],
  );
  const statements = [];
  if (row?.["max_events"] != null) statements.push(pruneByCount(agent, PRUNE_BATCH));
  if (row?.["max_age_ms"] != null) {
    const before = eventTime(context.system.now() - Number(row["max_age_ms"]));
    statements.push(pruneByAge(agent, before, PRUNE_BATCH));
  }
  if (statements.length > 0) await context.sql.batch(statements);
}

type ApiParts = Pick<
  Parts,
  "agent" | "className" | "context" | "definition" | "jobs" | "schedules" | "state"
>;

function agentApi(parts: ApiParts): Agent {
  const { agent, className, context, definition, jobs, schedules, state } = parts;
  const { sql, sockets, system } = context;
  const api: Agent = {
    name: context.name,
    className,
    key: agent,
    get state() {
      return state.current();
    },
    async setState(next) {
      await state.set(next, "server");
      await definition.onStateChanged?.(api, next, "server");
    },
    events: (query = {}) => readEvents(sql, agent, query),
    async sql(strings, ...values: readonly SqlValue[]) {
      const [result] = await sql.batch([{ sql: strings.join("?"), params: values }]);
      return result?.rows ?? [];
    },
    schedule: (when, task, payload) => schedules.add(when, task, payload),
    scheduleEvery: (seconds, task, payload) => schedules.addInterval(seconds, task, payload),
    schedules: () => schedules.list(),
    cancel: (id) => schedules.cancel(id),
    queue: (task, payload) => jobs.add(task, payload, system.now()),
    broadcast: (text, except) => {
      sockets.broadcast(text, except);
    },
    connections: (tag) => sockets.connections(tag).map(forHandlers),
    async destroy() {
      await sql.batch(
        agentTables.map((table) => ({
          sql: `DELETE FROM ${table} WHERE agent = ?`,
          params: [agent],
        })),
      );
      await state.reload();
      for (const connection of sockets.connections())
        connection.close(1000, "The agent was destroyed");
    },
  };
  return api;
}
