import { Hono } from "hono";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, evict, openPlatform } from "#platform";
import { agents, defineAgent, type AgentClass } from "../../../core/agents/mod.ts";
import type { IncomingEvent, IngestReceipt } from "../../../core/entity/event.ts";
import type { ActorRef, Plain, Platform } from "../../../core/ports.ts";
import type { TestSocket } from "../../platform/open-platform.d.ts";

const log: string[] = [];

const counter: AgentClass = defineAgent<{ count: number }>({
  name: "CounterAgent",
  initialState: { count: 0 },
  clientState: true,
  validateState(state) {
    if (typeof state.count !== "number") throw new Error("count must be a number");
  },
  onStateChanged: (agent, state, source) => void log.push(`${agent.name} ${source} ${state.count}`),
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
    note: (agent, payload: string, run) => void log.push(`${agent.name} ${payload} ${run.attempt}`),
    dayly: () => undefined,
  },
  schedules: { dayly: "0 3 * * *" },
  schema: ["CREATE TABLE IF NOT EXISTS test_notes (actor TEXT NOT NULL, text TEXT NOT NULL)"],
});

let platform: Platform;
let app: Hono;

beforeAll(async () => {
  platform = await openPlatform();
  app = new Hono();
  app.route("/agents", agents({ platform, auth: "off", agents: [counter] }));
});
afterAll(() => platform.close());

const refOf = (name: string, kind = "counter-agent"): ActorRef =>
  platform.actors.get(`agent:${kind}`, name);

function incoming(id: string, extra: Partial<IncomingEvent> = {}): IncomingEvent {
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
      timestamp: new Date(platform.system.now()).toISOString(),
    },
    provider: "test",
    headers: "{}",
    bodyHash: id,
    bodyWindowMs: 0,
    canonical: null,
    owners: ["test"],
    reserved: false,
    respond: "processed",
    retention: { maxEvents: null, maxAgeMs: null },
    ...extra,
  };
}

async function ingest(
  ref: ActorRef,
  id: string,
  extra?: Partial<IncomingEvent>,
): Promise<IngestReceipt> {
  return (await ref.call("ingest", incoming(id, extra))) as IngestReceipt;
}

type Frame = { readonly type: string; readonly [key: string]: Plain };

async function next(socket: TestSocket): Promise<Frame> {
  return JSON.parse(String(await socket.next())) as Frame;
}

/** Connects and reads the frames of the greeting. */
async function greeted(
  ref: ActorRef,
  frames = 3,
): Promise<{ socket: TestSocket; greeting: Frame[] }> {
  const socket = await connect(ref);
  const greeting: Frame[] = [];
  while (greeting.length < frames) greeting.push(await next(socket));
  return { socket, greeting };
}

async function call(socket: TestSocket, method: string, ...args: Plain[]): Promise<Frame> {
  socket.send(JSON.stringify({ type: "rpc", id: "1", method, args }));
  for (;;) {
    const frame = await next(socket);
    if (frame.type === "rpc") return frame;
  }
}

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await platform.system.sleep(5);
}

describe("a connection", () => {
  it("is greeted with identity, state and servers, in this order", async () => {
    const { socket, greeting } = await greeted(refOf("hello"));
    expect(greeting).toEqual([
      { type: "cf_agent_identity", name: "hello", agent: "counter-agent", stateFollows: true },
      { type: "cf_agent_state", state: { count: 0 } },
      { type: "cf_agent_mcp_servers", mcp: { prompts: [], resources: [], servers: {}, tools: [] } },
    ]);
    socket.close();
  });

  it("calls operations; the state it sets comes before the result", async () => {
    const { socket } = await greeted(refOf("calls"));
    socket.send(JSON.stringify({ type: "rpc", id: "7", method: "increment", args: [2] }));
    expect(await next(socket)).toEqual({ type: "cf_agent_state", state: { count: 2 } });
    expect(await next(socket)).toEqual({
      type: "rpc",
      id: "7",
      success: true,
      done: true,
      result: 2,
    });
    socket.close();
  });

  it("gets streamed results in parts", async () => {
    const { socket } = await greeted(refOf("streams"));
    socket.send(JSON.stringify({ type: "rpc", id: "s", method: "numbers", args: [3] }));
    const parts = [await next(socket), await next(socket), await next(socket)];
    expect(parts.map(({ result, done }) => [result, done])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    socket.close();
  });

  it("reaches nothing but the allow-list", async () => {
    const { socket } = await greeted(refOf("walls"));
    const errors: Record<string, string> = {
      fail: "as asked",
      nothing: "Method nothing does not exist",
      setState: "Method setState is not callable",
      destroy: "Method destroy is not callable",
      constructor: "Method constructor does not exist",
      __proto__: "Method __proto__ does not exist",
      hasOwnProperty: "Method hasOwnProperty does not exist",
      guarded: 'Method guarded needs the permission "Agents Edit"',
    };
    for (const method of Object.getOwnPropertyNames(errors)) {
      const frame = await call(socket, method);
      expect(frame).toMatchObject({
        success: false,
        error: Object.getOwnPropertyDescriptor(errors, method)?.value,
      });
    }
    socket.close();
  });

  it("without Agents Edit may not set the state", async () => {
    const { socket } = await greeted(refOf("readonly"));
    socket.send(JSON.stringify({ type: "cf_agent_state", state: { count: 9 } }));
    expect(await next(socket)).toEqual({
      type: "cf_agent_state_error",
      error: "Connection is readonly",
    });
    socket.close();
  });

  it("has tags and a state of its own, which survive the instance and grant nothing", async () => {
    const { socket } = await greeted(refOf("own"));
    for (const readonly of [true, false]) {
      socket.send("who");
      const state = { greeted: true };
      expect(await next(socket)).toEqual({ tagged: [true], state, readonly });
      await evict();
    }
    socket.send(JSON.stringify({ type: "cf_agent_state", state: { count: 7 } }));
    expect((await call(socket, "increment", 1))["result"]).toBe(8);
    socket.send(JSON.stringify({ type: "cf_agent_state", state: { count: "x" } }));
    expect(await next(socket)).toEqual({
      type: "cf_agent_state_error",
      error: "State update rejected",
    });
    socket.close();
  });

  it("passes every other message to onMessage, malformed calls too", async () => {
    const { socket } = await greeted(refOf("messages"));
    for (const message of [
      "plain",
      "{",
      "[]",
      "null",
      '{"type":"rpc"}',
      '{"type":"rpc","id":1,"method":"x","args":[]}',
    ]) {
      socket.send(message);
      expect(await socket.next()).toBe(`echo ${message}`);
    }
    socket.send("shout");
    expect([await socket.next(), await socket.next()]).toEqual(["echo shout", "to all"]);
    socket.close();
  });
});

describe("state", () => {
  it("survives the instance and reaches every client, coalesced to the newest", async () => {
    const ref = refOf("state");
    const [one, two] = [await greeted(ref), await greeted(ref)];
    for (let i = 0; i < 5; i++) await call(one.socket, "increment", 1);
    let seen: Frame;
    do seen = await next(two.socket);
    while ((seen["state"] as { count: number }).count < 5);
    one.socket.close();
    two.socket.close();
    await evict();
    const { greeting, socket } = await greeted(ref);
    expect(greeting[1]).toEqual({ type: "cf_agent_state", state: { count: 5 } });
    socket.close();
  });
});

describe("destroy()", () => {
  it("deletes everything and disconnects; the next event is the first again", async () => {
    const ref = refOf("gone");
    for (const id of ["e1", "e2"]) await ingest(ref, id);
    const { socket } = await greeted(ref);
    await call(socket, "increment", 3);
    socket.send(JSON.stringify({ type: "rpc", id: "x", method: "vanish", args: [] }));
    expect((await socket.closed).code).toBe(1000);
    expect(await ref.call("getEvents")).toEqual([]);
    expect(await ingest(ref, "e2")).toMatchObject({ outcome: "stored", seq: 1 });
    const again = await greeted(ref);
    expect(again.greeting[1]).toEqual({ type: "cf_agent_state", state: { count: 0 } });
    again.socket.close();
  });
});

describe("tasks", () => {
  it("run from the queue and from schedules, each once; equal intervals are one", async () => {
    const { socket } = await greeted(refOf("tasks"));
    const kinds = (await call(socket, "later"))["result"] as string[];
    expect(kinds.toSorted()).toEqual(["cron", "interval", "once"]);
    await until(() => log.includes("tasks scheduled 1") && log.includes("tasks queued 1"));
    expect(log.filter((line) => line === "tasks queued 1")).toHaveLength(1);
    socket.close();
  });

  it("may use tables of their own", async () => {
    const { socket } = await greeted(refOf("sql"));
    expect((await call(socket, "own"))["result"]).toEqual([{ text: "it's" }]);
    socket.close();
  });
});

describe("defineAgent()", () => {
  it("refuses names that clients cannot use", () => {
    const run = (): null => null;
    expect(() => defineAgent({ name: "x", callable: { toString: run } })).toThrow(TypeError);
    expect(() => defineAgent({ name: "x", callable: { getEvents: run } })).toThrow(TypeError);
    expect(() => defineAgent({ name: "a/b" })).toThrow(TypeError);
    expect(() => defineAgent({ name: "x", schedules: { missing: 5 } })).toThrow(TypeError);
    expect(() =>
      agents({ platform, auth: "off", agents: [counter, defineAgent({ name: "counter_agent" })] }),
    ).toThrow(TypeError);
  });
});
