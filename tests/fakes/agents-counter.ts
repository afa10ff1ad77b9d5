import { Hono } from "hono";
import { afterAll, beforeAll } from "vitest";
import { connect, openPlatform } from "#platform";
import { agents, defineAgent, type AgentClass } from "../../core/agents/mod.ts";
import type { IncomingEvent, IngestReceipt } from "../../core/entity/event.ts";
import type { ActorRef, Plain, Platform } from "../../core/ports.ts";
import { SqlError, type SqlErrorReason } from "../../core/sql/sql-error.ts";
import type { TestSocket } from "../platform/open-platform.d.ts";

/** An agent that does a little of everything, and tells a log of it. */
function counterAgent(log: string[]): AgentClass {
  return defineAgent<{ count: number }>({
    name: "CounterAgent",
    initialState: { count: 0 },
    clientState: true,
    validateState(state) {
      if (typeof state.count !== "number") throw new Error("count must be a number");
    },
    onStateChanged: (agent, state, source) =>
      void log.push(`${agent.name} ${source} ${state.count}`),
    connectionTags: () => ["tagged"],
    onConnect(_agent, connection) {
      connection.state = { greeted: true };
    },
    onMessage(agent, connection, message) {
      if (message === "who") {
        const tagged = agent.getConnections("tagged").map(({ id }) => id === connection.id);
        connection.send(
          JSON.stringify({ tagged, state: connection.state, readonly: connection.readonly }),
        );
        connection.readonly = false;
        return;
      }
      connection.send(`echo ${String(message)}`);
      if (message === "shout") agent.broadcast("to all");
    },
    async onRequest(agent, request) {
      return Response.json({ name: agent.name, method: request.method, state: agent.state });
    },
    callable: {
      async increment(agent, by: number) {
        await agent.setState({ count: agent.state.count + by });
        return agent.state.count;
      },
      fail() {
        throw new Error("as asked");
      },
      notStored(_agent, reason: SqlErrorReason) {
        throw new SqlError(reason, 'no room in "INSERT INTO hidden"');
      },
      vanish: (agent) => agent.destroy(),
      guarded: { edit: true, run: () => "secret" },
      numbers: {
        streaming: true,
        run(_agent, stream, upTo: number) {
          for (let i = 1; i < upTo; i++) stream.send(i);
          stream.end(upTo);
        },
      },
      async later(agent) {
        await agent.queue("note", "queued");
        const once = await agent.schedule(0.01, "note", "scheduled");
        await agent.scheduleEvery(3600, "note", "every");
        await agent.scheduleEvery(3600, "note", "every");
        const later = await agent.listSchedules();
        return [once, ...later.filter(({ id }) => id !== once.id)].map(({ kind }) => kind);
      },
      async own(agent) {
        await agent.sql`INSERT INTO test_notes (actor, text) VALUES (${agent.key}, ${"it's"})`;
        return agent.sql`SELECT text FROM test_notes WHERE actor = ${agent.key}`;
      },
    },
    tasks: {
      note: (agent, payload: string, run) =>
        void log.push(`${agent.name} ${payload} ${run.attempt}`),
      dayly: () => undefined,
    },
    schedules: { dayly: "0 3 * * *" },
    schema: ["CREATE TABLE IF NOT EXISTS test_notes (actor TEXT NOT NULL, text TEXT NOT NULL)"],
  });
}

/** A platform with the counter agent, for the tests of one file. */
export interface AgentsUnderTest {
  readonly counter: AgentClass;
  readonly log: readonly string[];
  readonly platform: () => Platform;
  readonly send: (path: string, init?: RequestInit) => Promise<Response>;
  readonly refOf: (name: string, kind?: string) => ActorRef;
  readonly ingest: (
    ref: ActorRef,
    id: string,
    extra?: Partial<IncomingEvent>,
  ) => Promise<IngestReceipt>;
  readonly until: (holds: () => Promise<boolean> | boolean) => Promise<void>;
}

/** Opens the platform before the tests of the file that calls this, and closes it after them. */
export function agentsUnderTest(): AgentsUnderTest {
  const log: string[] = [];
  const counter = counterAgent(log);
  let platform: Platform;
  let app: Hono;
  beforeAll(async () => {
    platform = await openPlatform();
    app = new Hono();
    app.route("/agents", agents({ platform, auth: "off", agents: [counter] }));
  });
  afterAll(() => platform.close());
  return {
    counter,
    log,
    platform: () => platform,
    send: async (path, init) => app.fetch(new Request(`http://causey.test/agents${path}`, init)),
    refOf: (name, kind = "counter-agent") => platform.actors.get(`agent:${kind}`, name),
    ingest: async (ref, id, extra = {}) =>
      (await ref.call("ingest", {
        ...incoming(id, platform.system.now()),
        ...extra,
      })) as IngestReceipt,
    async until(holds) {
      while (!(await holds())) await platform.system.sleep(5);
    },
  };
}

function incoming(id: string, now: number): IncomingEvent {
  return {
    record: {
      id,
      type: "push",
      action: null,
      title: `Event ${id}`,
      description: null,
      url: null,
      actor: null,
      payload: "{}",
      timestamp: new Date(now).toISOString(),
    },
    provider: "test",
    headers: "{}",
    bodyHash: id,
    bodyWindowMs: 0,
    canonical: null,
    owners: ["test"],
    claim: "free",
    respond: "processed",
    retention: { maxEvents: null, maxAgeMs: null },
  };
}

export type Frame = { readonly type: string; readonly [key: string]: Plain };

export async function next(socket: TestSocket): Promise<Frame> {
  return JSON.parse(String(await socket.next())) as Frame;
}

/** Connects and reads the frames of the greeting. */
export async function greeted(
  ref: ActorRef,
  frames = 3,
): Promise<{ socket: TestSocket; greeting: Frame[] }> {
  const socket = await connect(ref);
  const greeting: Frame[] = [];
  while (greeting.length < frames) greeting.push(await next(socket));
  return { socket, greeting };
}

export async function call(socket: TestSocket, method: string, ...args: Plain[]): Promise<Frame> {
  socket.send(JSON.stringify({ type: "rpc", id: "1", method, args }));
  for (;;) {
    const frame = await next(socket);
    if (frame.type === "rpc") return frame;
  }
}
