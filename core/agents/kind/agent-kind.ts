import { isWebSocketUpgrade } from "../../http/origins/websocket-upgrade.ts";
import { ApiError } from "../../http/api-error.ts";
import { agentKindName, kebab } from "../../entity/kebab.ts";
import { eventTally } from "../../entity/event-counts.ts";
import type { IncomingEvent } from "../../entity/event.ts";
import type { ReplaySlice } from "../../entity/webhook-replays.ts";
import type { Actor, ActorContext, ActorKind, Plain } from "../../ports.ts";
import { startClock } from "../../entity/clock.ts";
import { handlerRunner, type AgentParts, type RunHandler } from "../handlers/agent-api.ts";
import { builtInCallables } from "../define/built-in.ts";
import type { AnyAgent } from "../define/definition.ts";
import { eventLister, eventReader, type EventFilter, type EventLister } from "../events/events.ts";
import { entityOwner } from "../feed/claim-entity.ts";
import { detachedMethods } from "./detached.ts";
import { firstDelivery } from "../feed/first-delivery.ts";
import { startIntake } from "./ingest.ts";
import { nextJob } from "../handlers/due-jobs.ts";
import { startJobs, type Jobs } from "../handlers/jobs.ts";
import { startLive, type Live } from "../feed/live.ts";
import { startQueue } from "../queue/queue.ts";
import { startInstanceReplays } from "../queue/replays.ts";
import { startReports, type Reports } from "../events/reports.ts";
import { followRetention, nextExpiry, prune } from "../events/retention.ts";
import { agentSchema } from "../define/schema.ts";
import { nextSchedule, startSchedules } from "../schedule/schedules.ts";
import { grantOf } from "../protocol/grant.ts";
import { startReviews, type Reviews } from "../session/reviews.ts";
import { startHolds } from "../turns/holds.ts";
import type { AgentServices } from "../define/services.ts";
import { startSession, type AgentSession } from "../session/session.ts";
import { callByCode } from "../session/call-operation.ts";
import { startSlots, WAITING_LIMIT, type Slots } from "../turns/slots.ts";
import { startState } from "../state/state.ts";
import { readTraceparent, writeTraceparent } from "../../trace/trace-context.ts";
import type { CodeCall } from "../define/agent-stub.ts";

/** Waiting tasks that an inspection shows. */
const SHOWN_TASKS = 100;
/** Longest time between an admission and its connection, in ms. */
const ADMISSION_MS = 10_000;

/** The actor kind of an agent class, whose instances have the services of one platform. */
export function agentKind(definition: AnyAgent, services: AgentServices = {}): ActorKind {
  return {
    name: agentKindName(definition.name),
    shared: { name: "agents", steps: agentSchema },
    schema: definition.schema ?? [],
    // These take no decision that another call could overtake: they only use SQL, or wait for news. Calls wait in
    // queues of their own.
    interleaved: [
      "call",
      "ingest",
      "followUp",
      "forgetSender",
      "answerOf",
      "nextEvents",
      "getEvents",
      "getEventsByType",
      "listEvents",
      "deadLetters",
      "replaySlice",
      "followRetention",
      "admit",
      "ownerOf",
    ],
    timeOfDay: true,
    detached: detachedMethods(definition),
    start: (context) => startAgent(context, definition, services),
  };
}

/** Everything that one running instance is made of. */
interface Parts extends AgentParts {
  readonly listEvents: EventLister;
  readonly live: Live;
  readonly jobs: Jobs;
  readonly session: AgentSession;
  readonly reviews: Reviews;
  readonly run: RunHandler;
  readonly exclusive: Slots;
  /** Applies the retention that is configured now. */
  readonly shrink: () => Promise<void>;
}

async function startAgent(
  context: ActorContext,
  definition: AnyAgent,
  services: AgentServices,
): Promise<Actor> {
  const className = kebab(definition.name);
  const agent = `${className}/${context.name}`;
  let soonest: () => number | null = () => null;
  const reports = startReports(context, { agent, className, retention: services.retention });
  const clock = await startClock(context, () => nextDue(context, agent, reports, soonest()));
  // An earlier version stored reports without an alarm: if there are any, the alarm goes off now.
  if ((await reports.nextDue()) !== null) await clock.clear([], context.steady());
  const holds = startHolds(context, (at) => clock.write([], at));
  const state = await startState(context, definition, agent);
  const reviews = startReviews(context, services.reviewer, (at) => clock.write([], at));
  const live = await startLive(context, agent, (connection) => grantOf(connection).follows);
  const life = { isOver: false, hasOldEvents: false };
  soonest = () => {
    if (life.hasOldEvents) return context.steady();
    const dues = [holds.nextBeat(), reviews.nextDue()].filter((at) => at !== null);
    return dues.length === 0 ? null : Math.min(...dues);
  };
  const listEvents = eventLister(context, agent);
  const events = eventReader(listEvents);
  const base = {
    services,
    context,
    definition,
    className,
    agent,
    clock,
    events,
    holds,
    life,
    reports,
    reviews,
    state,
  };
  const queue = startQueue(base);
  const schedules = startSchedules({ ...base, queue });
  const run = handlerRunner({ ...base, queue, schedules });
  const tally = eventTally(context.actors, context.system);
  const exclusive = startSlots(1, WAITING_LIMIT);
  const deps = { ...base, exclusive, listEvents, queue, schedules, live, tally, run };
  const jobs = startJobs(deps);
  const session = startSession(deps);
  const shrink = shrinker(base);
  const start = async (): Promise<void> => {
    await shrink();
    await schedules.ensureDefined();
    await run("onStart", (api) => definition.onStart?.(api));
  };
  await start();
  return actorOf({ ...deps, jobs, session, shrink }, start);
}

/** Restarts a destroyed instance at its next use. */
function restarter({ life }: Parts, start: () => Promise<void>): () => Promise<void> | undefined {
  let restarting: Promise<void> | undefined;
  return () => {
    if (!life.isOver) return restarting;
    life.isOver = false;
    restarting = start().catch((error: unknown) => {
      life.isOver = true;
      throw error;
    });
    restarting.then(
      () => (restarting = undefined),
      () => (restarting = undefined),
    );
    return restarting;
  };
}

function actorOf(parts: Parts, start: () => Promise<void>): Actor {
  const { context, agent, events, jobs, listEvents, live, queue, session } = parts;
  const { system } = context;
  const admitted = new Map<string, number>();
  const ready = restarter(parts, start);
  const replays = startInstanceReplays(parts);
  const intake = startIntake(parts);
  return {
    methods: {
      ingest(event: IncomingEvent) {
        const restart = ready();
        return restart === undefined ? intake.take(event) : restart.then(() => intake.take(event));
      },
      async followUp() {
        await ready();
        await intake.followUp();
      },
      async call(call: CodeCall) {
        await ready();
        return callByCode(parts, call);
      },
      process: (job: string) => jobs.runEvent(job),
      forgetSender: (job: string) => jobs.giveUp(job),
      answerOf: (provider: string, id: string) =>
        firstDelivery(context.sql, agent, { provider, id }).then(({ answer }) => answer),
      nextEvents: (since: number, waitMs: number) => live.next(since, waitMs),
      getEvents: (limit?: number) => events({ limit }),
      getEventsByType: (type: string, limit?: number) => events({ type, limit }),
      listEvents: (filter: EventFilter) => listEvents(filter),
      async inspect(): Promise<Plain> {
        await ready();
        return inspection(parts);
      },
      ownerOf: () => entityOwner(context.sql, agent),
      deadLetters: (limit: number) => queue.deadRows(limit),
      replay: (id: string) => queue.replay(id),
      followRetention: () => parts.shrink(),
      replayEvent: (id: string, source?: string) => replays.event(id, source),
      replaySlice: (slice: ReplaySlice) => replays.slice(slice),
      /** The connection of this `sec-websocket-key` comes with "Agents Edit". */
      admit(key: string) {
        const now = system.monotonic();
        for (const [old, until] of admitted) if (until < now) admitted.delete(old);
        admitted.set(key, now + ADMISSION_MS);
      },
    },
    async fetch(request) {
      await ready();
      if (isWebSocketUpgrade(request)) {
        const key = request.headers.get("sec-websocket-key") ?? "";
        return session.connect(request, admitted.delete(key));
      }
      return serve(parts, request);
    },
    onAlarm: () => parts.clock.onAlarm(() => runDue(parts)),
    onMessage: (connection, message) => session.onMessage(connection, message),
    onClose: (connection, code, reason) => session.onClose(connection, code, reason),
  };
}

/** Lists the state of an instance, its plans and waiting tasks, and the operations that clients may call. */
async function inspection({ definition, queue, schedules, state }: Parts): Promise<Plain> {
  const [planned, tasks] = await Promise.all([schedules.list(), queue.list()]);
  return {
    state: state.current(),
    schedules: planned.map((one) => ({ ...one })),
    queue: tasks.slice(0, SHOWN_TASKS).map((one) => ({ ...one })),
    callables: [...builtInCallables, ...Object.keys(definition.callable ?? {})],
  };
}

/** Does whatever is due when the alarm goes off. */
async function runDue(parts: Parts): Promise<void> {
  const { agent, context, jobs, life, reports, reviews, schedules, services, session } = parts;
  await schedules.followClock();
  for (const one of await reviews.runDue()) await session.onClose(one, 1006, "");
  await schedules.fireDue();
  await jobs.runDue();
  await reports.flush();
  await follow(context, agent, services);
  life.hasOldEvents = await prune(context, agent);
}

/** Applies a changed retention: an idle instance has no alarm by which it would shrink. */
function shrinker(parts: Omit<AgentParts, "queue" | "schedules">): () => Promise<void> {
  const { agent, clock, context, life, services } = parts;
  return async () => {
    if (!(await follow(context, agent, services))) return;
    life.hasOldEvents = true;
    await clock.write([], context.steady());
  };
}

/** Takes over the retention of the services; resolves to whether it was another one. */
async function follow(
  context: ActorContext,
  agent: string,
  { retention }: AgentServices,
): Promise<boolean> {
  return retention !== undefined && (await followRetention(context, agent, retention));
}

async function serve(parts: Parts, request: Request): Promise<Response> {
  const { className, definition, run, services } = parts;
  const respond = definition.onRequest?.bind(definition);
  if (respond === undefined) {
    const message = `The agent "${className}" answers no requests here: connect a WebSocket, GET its "/events", or POST to its "/ticket"`;
    throw new ApiError("no_route", { message });
  }
  try {
    const trace = services.tracer === undefined ? null : requestTrace(request);
    const response = await run("onRequest", (api) => respond(api, request), { trace });
    // No server can send a network error (https://fetch.spec.whatwg.org/#concept-network-error), and each says so in other words.
    if (response.type === "error") throw new TypeError("onRequest returned Response.error()");
    return response;
  } catch (error) {
    await run("onError", (api) => definition.onError?.(api, error, null));
    throw error;
  }
}

/** The trace that a request names, written out again, because the header may hold more. */
function requestTrace({ headers }: Request): string | null {
  const span = readTraceparent(headers.get("traceparent"));
  return span === null ? null : writeTraceparent(span);
}

/** The earliest time at which a job, a schedule or the expiry of an event is due. */
async function nextDue(
  context: ActorContext,
  agent: string,
  reports: Reports,
  soonest: number | null,
): Promise<number | null> {
  const times = [
    await nextJob(context, agent),
    await nextSchedule(context, agent),
    soonest,
    await nextExpiry(context, agent),
    await reports.nextDue(),
  ].filter((due) => due !== null);
  return times.length === 0 ? null : Math.min(...times);
}
