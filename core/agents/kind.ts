import { ApiError } from "../http/api-error.ts";
import { agentKindName, kebab } from "../entity/kebab.ts";
import { eventTally } from "../entity/event-counts.ts";
import type { Actor, ActorContext, ActorKind } from "../ports.ts";
import { startClock } from "../entity/clock.ts";
import { handlerRunner, type AgentParts, type RunHandler } from "./agent-api.ts";
import type { AnyAgent } from "./definition.ts";
import { readEvents } from "./events.ts";
import { startIntake } from "./intake.ts";
import { startJobs, type Jobs } from "./jobs.ts";
import { startLive, type Live } from "./live.ts";
import { startQueue } from "./queue.ts";
import { nextExpiry, prune } from "./retention.ts";
import { agentSchema } from "./schema.ts";
import { startSchedules } from "./schedules.ts";
import { grantOf } from "./grant.ts";
import { startHolds } from "./holds.ts";
import { startSession, type Session } from "./session.ts";
import { startState } from "./state.ts";

/** How long an admission may wait for its connection, in ms. */
const ADMISSION_MS = 10_000;

/** The actor kind of an agent class. */
export function agentKind(definition: AnyAgent): ActorKind {
  return {
    name: agentKindName(definition.name),
    shared: { name: "agents", steps: agentSchema },
    schema: definition.schema ?? [],
    // They take no decision that another call could overtake: SQL alone, or waiting for news.
    interleaved: ["ingest", "nextEvents", "getEvents", "getEventsByType", "deadLetters", "admit"],
    start: (context) => startAgent(context, definition),
  };
}

/** Everything that one running instance is made of. */
interface Parts extends AgentParts {
  readonly live: Live;
  readonly jobs: Jobs;
  readonly session: Session;
  readonly run: RunHandler;
}

async function startAgent(context: ActorContext, definition: AnyAgent): Promise<Actor> {
  const className = kebab(definition.name);
  const agent = `${className}/${context.name}`;
  let beat: () => number | null = () => null;
  const clock = await startClock(context, () => nextDue(context, agent, beat()));
  const holds = startHolds(context.system, (at) => clock.write([], at));
  beat = () => holds.nextBeat();
  const state = await startState(context, definition, agent);
  const live = await startLive(context, agent, (connection) => grantOf(connection).follows);
  const base = { context, definition, className, agent, clock, holds, state };
  const schedules = startSchedules(base);
  const queue = startQueue(base);
  const run = handlerRunner({ ...base, queue, schedules });
  const tally = eventTally(context.actors, context.system);
  const deps = { ...base, queue, schedules, live, tally, run };
  const jobs = startJobs(deps);
  const session = startSession(deps);
  await schedules.ensureDefined();
  await run("onStart", (api) => definition.onStart?.(api));
  return actorOf({ ...deps, jobs, session });
}

function actorOf(parts: Parts): Actor {
  const { context, agent, jobs, live, queue, session } = parts;
  const { sql, system } = context;
  const admitted = new Map<string, number>();
  return {
    methods: {
      ingest: startIntake(parts),
      process: (job: string) => jobs.runEvent(job),
      nextEvents: (since: number, waitMs: number) => live.next(since, waitMs),
      getEvents: (limit?: number) => readEvents(sql, agent, { limit }),
      getEventsByType: (type: string, limit?: number) => readEvents(sql, agent, { type, limit }),
      deadLetters: (limit: number) => queue.deadRows(limit),
      replay: (id: string) => queue.replay(id),
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
      return answer(parts, request);
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

async function answer({ className, definition, run }: Parts, request: Request): Promise<Response> {
  const respond = definition.onRequest?.bind(definition);
  if (respond === undefined) {
    throw new ApiError("no_route", { message: `The agent "${className}" answers no requests` });
  }
  try {
    return await run("onRequest", (api) => respond(api, request));
  } catch (error) {
    await run("onError", (api) => definition.onError?.(api, error, null));
    throw error;
  }
}

/** Whether a request wants to become a WebSocket. */
export function isUpgrade(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** The earliest time at which something is to be done: a job, a schedule, an event's end of age. */
async function nextDue(
  context: ActorContext,
  agent: string,
  beat: number | null,
): Promise<number | null> {
  const [row] = await context.sql.all(
    `SELECT (SELECT MIN(due) FROM agents_jobs WHERE agent = ?) AS job,
      (SELECT MIN(due) FROM agents_schedules WHERE agent = ?) AS schedule`,
    [agent, agent],
  );
  const expiry = await nextExpiry(context, agent);
  const times = [row?.["job"], row?.["schedule"], beat, expiry].filter((due) => due != null);
  return times.length === 0 ? null : Math.min(...times.map(Number));
}
