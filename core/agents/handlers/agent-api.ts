import type { ActorContext, Plain, Sockets, SqlValue } from "../../ports.ts";
import type { Clock } from "../../entity/clock.ts";
import { retryInPlace } from "../queue/backoff.ts";
import { withDeadline, type Deadline } from "../turns/deadline.ts";
import type { AnyAgent } from "../define/definition.ts";
import type { Agent, AgentReach } from "../define/agent.ts";
import type { EventReader } from "../events/events.ts";
import { forHandlers } from "../protocol/grant.ts";
import type { Holds } from "../turns/holds.ts";
import { deleteOwnRows } from "./own-tables.ts";
import { flushOutbox, queueWebhook, type OutboxDeps } from "../queue/outbox.ts";
import type { Queue } from "../queue/queue.ts";
import { ITSELF, type Reports } from "../events/reports.ts";
import { agentTables } from "../define/schema.ts";
import type { Schedules } from "../schedule/schedules.ts";
import type { AgentServices } from "../define/services.ts";
import type { StateHolder } from "../state/state.ts";
import { type Caller, agentStub } from "../define/agent-stub.ts";
import { transact } from "./transaction.ts";
import { capabilitiesOf } from "../define/capabilities.ts";

/** The name of the run of `onStart`. */
const START = "onStart";

/** Time limit of a handler or a callable, unless the definition sets one. */
const DEFAULT_TIMEOUT_MS = 30_000;

/** The pending changes in an instance's life. */
export interface Life {
  /** The instance was destroyed: its next use starts it afresh. */
  isOver: boolean;
  /** Retention has more to delete than it did in one go. */
  hasOldEvents: boolean;
}

/** The parts that the handlers' view of an instance is made of. */
export interface AgentParts {
  readonly agent: string;
  readonly className: string;
  readonly clock: Clock;
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly events: EventReader;
  readonly holds: Holds;
  readonly life: Life;
  readonly queue: Queue;
  readonly reports: Reports;
  readonly schedules: Schedules;
  readonly services: AgentServices;
  readonly state: StateHolder;
}

/** Runs a handler with an agent of its own, which does nothing more once the handler's time is over. */
export type RunHandler = <T>(
  what: string,
  work: (agent: Agent, deadline: Deadline) => T | Promise<T>,
  options?: HandlerOptions,
) => Promise<T>;

/** Options of one run of a handler. */
export interface HandlerOptions {
  /** Time limit in ms. @default the definition's */
  readonly ms?: number | undefined;
  /** The time in ms that a message names, where `ms` is the rest of it. @default `ms` */
  readonly limit?: number | undefined;
  /** The callers that wait for the run, itself included. @default none */
  readonly chain?: readonly Caller[];
  /** The `traceparent` to send with the run's own requests. @default no tracing */
  readonly trace?: string | null;
  /** The name of the task, if the run is one. @default none */
  readonly task?: string | null;
  /** Aborted when the client that the run is for has left; the run may still store what it has. @default no client */
  readonly left?: AbortSignal;
}

/** Makes the function that runs an instance's handlers. */
export function handlerRunner(parts: AgentParts): RunHandler {
  const { context, definition } = parts;
  return (
    what,
    work,
    { ms = timeOf(definition), limit, chain = [], trace = null, task = null, left } = {},
  ) =>
    withDeadline(context.system, { ms, limit }, what, (deadline) => {
      const signal =
        left === undefined ? deadline.signal : AbortSignal.any([deadline.signal, left]);
      const run = { ...parts, trace, task, isStart: what === START, signal };
      const api = agentApi(run, deadline, chain);
      const { asyncLocal } = context.system;
      if (asyncLocal === undefined) return work(api, deadline);
      return asyncLocal.run(api, () => work(api, deadline));
    });
}

/** The time limit in ms of a class's handlers and of callables that set none of their own. */
export function timeOf({ timeoutMs = DEFAULT_TIMEOUT_MS }: AnyAgent): number {
  return timeoutMs;
}

type RunParts = AgentParts & {
  readonly trace: string | null;
  readonly task: string | null;
  /** Whether the run is that of `onStart`, whose one-time schedules do not pile up. */
  readonly isStart: boolean;
  readonly signal: AbortSignal;
};

/** An instance as one run of a handler sees it. */
function agentApi(parts: RunParts, deadline: Deadline, chain: readonly Caller[]): Agent {
  const { agent, className, context, definition, queue, schedules, state } = parts;
  const { sql, sockets, system } = context;
  // A task that queues itself, as polls do, begins a trace each time: else one trace would never end.
  const traceFor = (task: string): string | null => (task === parts.task ? null : parts.trace);
  const inTime =
    <Args extends readonly unknown[], Result>(work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      deadline.check();
      return work(...args);
    };
  const changed = (next: Plain): unknown => definition.onStateChanged?.(api, next, "server");
  const api: Agent = {
    ...reachOf(parts, deadline, chain),
    name: context.name,
    className,
    key: agent,
    signal: parts.signal,
    get state() {
      return state.current();
    },
    setState: inTime(async (next) => {
      await state.set(next, "server");
      await changed(next);
    }),
    transaction: inTime((collect) => transact(parts, collect, changed)),
    events: inTime((query = {}) => parts.events(query)),
    sql: inTime(async (strings, ...values: readonly SqlValue[]) => {
      const [result] = await sql.batch([{ sql: strings.join("?"), params: values }]);
      return result?.rows ?? [];
    }),
    schedule: inTime((when, task, payload, { idempotent = parts.isStart || undefined } = {}) =>
      schedules.add(when, task, payload, { idempotent, trace: traceFor(task) }),
    ),
    scheduleEvery: inTime((seconds, task, payload) =>
      schedules.addInterval(seconds, task, payload),
    ),
    getSchedule: inTime((id) => schedules.get(id)),
    listSchedules: inTime((filter) => schedules.list(filter)),
    cancelSchedule: inTime((id) => schedules.cancel(id)),
    queue: inTime((task, payload, options) => queue.add(task, payload, options, traceFor(task))),
    dequeue: inTime((id) => queue.remove(id)),
    dequeueAll: inTime(() => queue.removeAll()),
    dequeueAllByTask: inTime((task) => queue.removeAll(task)),
    getQueue: inTime((id) => queue.get(id)),
    getQueues: inTime((task) => queue.list(task)),
    deadLetters: inTime((limit) => queue.dead(limit)),
    replayDeadLetter: inTime((id) => queue.replay(id)),
    retry: (work, options) => retryInPlace(system, work, options, deadline.signal),
    broadcast(message, without = []) {
      deadline.check();
      broadcast(sockets, message, without);
    },
    getConnections: (tag) =>
      sockets.connections(tag).map((one) => forHandlers(one, deadline.check)),
    ...keptAlive(parts, deadline),
    destroy: inTime(() => destroy(parts)),
  };
  return api;
}

/** The methods that keep an instance in memory. */
function keptAlive(
  { holds }: Pick<AgentParts, "holds">,
  deadline: Deadline,
): Pick<Agent, "keepAlive" | "keepAliveWhile"> {
  const keepAlive = (): (() => void) => {
    deadline.check();
    return holds.take();
  };
  return {
    keepAlive,
    async keepAliveWhile(work) {
      const release = keepAlive();
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}

function broadcast(
  sockets: Sockets,
  message: string | Uint8Array,
  without: readonly string[],
): void {
  if (typeof message === "string") sockets.broadcast(message, without);
  else for (const one of sockets.connections()) if (!without.includes(one.id)) one.send(message);
}

/** Keeps the tables, also the class's own: other instances may share them, and this one may be used again. */
async function destroy(parts: AgentParts): Promise<void> {
  const { agent, clock, context, definition, life, reports, state } = parts;
  const params = [agent];
  // Messages that wait to be sent are not among the instance's own rows.
  await flushOutbox(parts);
  const rows = [
    ...agentTables.map((table) => ({ sql: `DELETE FROM ${table} WHERE agent = ?`, params })),
    ...(await deleteOwnRows(context.sql, definition.schema ?? [], agent)),
  ];
  await clock.clear([...rows, reports.note(ITSELF)], context.steady()).finally(reports.end);
  life.isOver = true;
  await state.reload();
  for (const connection of context.sockets.connections())
    connection.close(1000, "The agent was destroyed");
}

/** The capabilities of one run of a handler. */
function reachOf(
  deps: OutboxDeps & { readonly clock: Clock },
  deadline: Deadline,
  chain: readonly Caller[],
): AgentReach {
  const { clock, context, services, trace } = deps;
  return {
    webhooks: {
      async send(message) {
        deadline.check();
        const job = await queueWebhook(deps, message);
        await clock.write([job], context.steady());
      },
    },
    ...capabilitiesOf(services, deadline, trace),
    getAgentByName: (of, name) =>
      agentStub(context.actors, of, name, () => {
        deadline.check();
        return { chain, ms: deadline.left() };
      }),
  };
}
