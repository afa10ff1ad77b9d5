import type { ActorContext, SqlValue } from "../ports.ts";
import type { Clock } from "../entity/clock.ts";
import { retryInPlace } from "./backoff.ts";
import type { Agent, AnyAgent } from "./definition.ts";
import { readEvents } from "./events.ts";
import { forHandlers } from "./grant.ts";
import type { Holds } from "./holds.ts";
import { ownTables } from "./own-tables.ts";
import type { Queue } from "./queue.ts";
import { agentTables } from "./schema.ts";
import type { Schedules } from "./schedules.ts";
import type { StateHolder } from "./state.ts";

/** What the handlers' view of an instance is made of. */
export interface AgentParts {
  readonly agent: string;
  readonly className: string;
  readonly clock: Clock;
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly holds: Holds;
  readonly queue: Queue;
  readonly schedules: Schedules;
  readonly state: StateHolder;
}

/** An instance as its handlers see it. */
export function agentApi(parts: AgentParts): Agent {
  const { agent, className, context, definition, holds, queue, schedules, state } = parts;
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
    getSchedule: (id) => schedules.get(id),
    listSchedules: (filter) => schedules.list(filter),
    cancelSchedule: (id) => schedules.cancel(id),
    queue: (task, payload, options) => queue.add(task, payload, options),
    dequeue: (id) => queue.remove(id),
    dequeueAll: () => queue.removeAll(),
    dequeueAllByTask: (task) => queue.removeAll(task),
    getQueue: (id) => queue.get(id),
    getQueues: (task) => queue.list(task),
    deadLetters: (limit) => queue.dead(limit),
    replayDeadLetter: (id) => queue.replay(id),
    retry: (work, options) => retryInPlace(system, work, options),
    broadcast(message, without = []) {
      if (typeof message === "string") sockets.broadcast(message, without);
      else
        for (const one of sockets.connections()) if (!without.includes(one.id)) one.send(message);
    },
    getConnections: (tag) => sockets.connections(tag).map(forHandlers),
    keepAlive: () => holds.take(),
    destroy: () => destroy(parts),
  };
  return api;
}

/** The tables stay, also the class's own: other instances may share them, and this one may be used again. */
async function destroy({ agent, context, definition, state }: AgentParts): Promise<void> {
  const params = [agent];
  await context.sql.batch([
    ...agentTables.map((table) => ({ sql: `DELETE FROM ${table} WHERE agent = ?`, params })),
    ...ownTables(definition.schema ?? []).map((table) => ({
      sql: `DELETE FROM ${table} WHERE actor = ?`,
      params,
    })),
  ]);
  await state.reload();
  for (const connection of context.sockets.connections())
    connection.close(1000, "The agent was destroyed");
}
