import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, openPlatform } from "#platform";
import { agents, defineAgent, type Agent, type AgentClass } from "../../../../core/agents/mod.ts";
import { withDeadline } from "../../../../core/agents/turns/deadline.ts";
import type { IncomingEvent } from "../../../../core/entity/event.ts";
import type { ActorRef, Plain, Platform } from "../../../../core/ports.ts";
import type { TestSocket } from "../../../platform/open-platform.d.ts";

/** What handlers did, as `name what`. */
const log: string[] = [];
/** What waits for the test, by name, and whether it may go on. Looked at, not awaited: objects share no promises. */
const gates = new Map<string, boolean>();

const note = (agent: Agent<unknown>, what: string): void => void log.push(`${agent.name} ${what}`);
async function gate(name: string): Promise<void> {
  gates.set(name, false);
  await until(() => gates.get(name) === true);
}

/** Waits past its own time, then tries everything that could count. */
async function late(agent: Agent<{ n: number }>): Promise<void> {
  const aborted = new Promise<void>((resolve) => {
    agent.signal.addEventListener("abort", () => {
      resolve();
    });
  });
  await aborted;
  const attempts: Record<string, () => unknown> = {
    setState: () => agent.setState({ n: 666 }),
    sql: () => agent.sql`INSERT INTO deadline_notes (actor, text) VALUES (${agent.key}, 'late')`,
    queue: () => agent.queue("note", "late"),
    schedule: () => agent.schedule(0.01, "note", "late"),
    broadcast: () => {
      agent.broadcast("late");
    },
    send: () => agent.getConnections()[0]?.send("late"),
    destroy: () => agent.destroy(),
  };
  for (const [name, attempt] of Object.entries(attempts)) {
    const outcome = await Promise.resolve()
      .then(attempt)
      .then(
        () => "done",
        (error: unknown) => (error as Error).message,
      );
    note(agent, `${name}: ${outcome}`);
  }
  note(agent, "late over");
}

const waiting: AgentClass = defineAgent<{ n: number }>({
  name: "Waiting",
  initialState: { n: 0 },
  clientState: true,
  timeoutMs: 60_000,
  retry: { maxAttempts: 1 },
  async onEvent(agent, event) {
    if (event.type === "slow") await gate(`${agent.name} event`);
    note(agent, `event ${event.id}`);
  },
  async onMessage(agent, _connection, message) {
    if (message === "slow") await gate(`${agent.name} message`);
    note(agent, `message ${String(message)}`);
  },
  async onRequest(agent, request) {
    if (new URL(request.url).pathname.endsWith("/hang")) await new Promise(() => undefined);
    return new Response(agent.name);
  },
  tasks: {
    note: (agent, payload: string) => note(agent, `task ${payload}`),
    late: (agent) => late(agent),
  },
  callable: {
    wait: async (agent, name: string) => {
      await gate(`${agent.name} ${name}`);
      return name;
    },
    alone: {
      exclusive: true,
      run: async (agent, name: string) => {
        note(agent, `begins ${name}`);
        await gate(`${agent.name} ${name}`);
        note(agent, `ends ${name}`);
      },
    },
    add: async (agent, by: number) => {
      await agent.setState({ n: agent.state.n + by });
      return agent.state.n;
    },
    late: { timeoutMs: 30, run: late },
    parts: {
      streaming: true,
      timeoutMs: 3000,
      async run(_agent, stream, steps: number, hang: boolean) {
        for (let step = 0; step < steps; step++) {
          await new Promise((resolve) => setTimeout(resolve, 1100));
          stream.send(step);
        }
        if (hang) await new Promise(() => undefined);
      },
    },
  },
  schema: ["CREATE TABLE IF NOT EXISTS deadline_notes (actor TEXT NOT NULL, text TEXT NOT NULL)"],
});

const hasty: AgentClass = defineAgent<{ n: number }>({
  name: "Hasty",
  initialState: { n: 0 },
  timeoutMs: 30,
  retry: { maxAttempts: 1 },
  onEvent: (agent, event) => (event.type === "slow" ? late(agent) : note(agent, event.id)),
  onRequest: () => new Promise<Response>(() => undefined),
  onMessage: async (agent, _connection, message) => {
    if (message === "hang") await new Promise(() => undefined);
    note(agent, `message ${String(message)}`);
  },
  onError: (agent, error) => note(agent, `error ${(error as Error).message}`),
  tasks: { note: (agent, payload: string) => note(agent, `task ${payload}`) },
  callable: {
    notes: (agent) => agent.sql`SELECT text FROM deadline_notes WHERE actor = ${agent.key}`,
  },
  schema: ["CREATE TABLE IF NOT EXISTS deadline_notes (actor TEXT NOT NULL, text TEXT NOT NULL)"],
});

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [waiting, hasty] });
});
afterAll(() => platform.close());

const refOf = (name: string, kind = "waiting"): ActorRef =>
  platform.actors.get(`agent:${kind}`, name);

type Frame = { readonly type: string; readonly [key: string]: Plain };

interface Client {
  readonly socket: TestSocket;
  send(method: string, ...args: Plain[]): string;
  /** Skips states. */
  answer(): Promise<Frame>;
  call(method: string, ...args: Plain[]): Promise<Frame>;
}

async function client(ref: ActorRef): Promise<Client> {
  const socket = await connect(ref);
  for (let i = 0; i < 3; i++) await socket.next();
  let last = 0;
  const self: Client = {
    socket,
    send(method, ...args) {
      const id = String(++last);
      socket.send(JSON.stringify({ type: "rpc", id, method, args }));
      return id;
    },
    async answer() {
      for (;;) {
        const frame = JSON.parse(String(await socket.next())) as Frame;
        if (frame.type === "rpc") return frame;
      }
    },
    call(method, ...args) {
      self.send(method, ...args);
      return self.answer();
    },
  };
  return self;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function opened(name: string): Promise<void> {
  await until(() => gates.has(name));
  gates.set(name, true);
}

const logged = (line: string): Promise<void> => until(() => log.includes(line));

function ingest(ref: ActorRef, id: string, type = "push"): Promise<Plain> {
  const timestamp = new Date(platform.system.now()).toISOString();
  const nothing = { action: null, description: null, url: null, actor: null };
  const event: IncomingEvent = {
    record: { id, type, title: id, payload: "{}", timestamp, ...nothing },
    provider: "test",
    headers: "{}",
    bodyHash: null,
    bodyWindowMs: 0,
    canonical: null,
    owners: ["test"],
    claim: "free",
    respond: "queued",
    retention: { maxEvents: null, maxAgeMs: null },
  };
  return ref.call("ingest", event);
}

describe("while a callable waits", () => {
  it("connections, reads, states, other callables, events and tasks go on", async () => {
    const ref = refOf("busy");
    const one = await client(ref);
    const held = one.send("wait", "first");
    await until(() => gates.has("busy first"));
    expect(await one.call("getEvents")).toMatchObject({ success: true, result: [] });
    const two = await client(ref);
    expect(await two.call("add", 2)).toMatchObject({ result: 2 });
    await ingest(ref, "e1");
    await logged("busy event e1");
    two.socket.send("hello");
    await logged("busy message hello");
    await opened("busy first");
    expect(await one.answer()).toMatchObject({ id: held, result: "first" });
    for (const { socket } of [one, two]) socket.close();
  });

  it("exclusive ones wait for each other, in order, and nobody else does", async () => {
    const { call, send, answer, socket } = await client(refOf("alone"));
    send("alone", "a");
    send("alone", "b");
    await until(() => gates.has("alone a"));
    expect(await call("add", 1)).toMatchObject({ result: 1 });
    await ingest(refOf("alone"), "e1");
    await logged("alone event e1");
    await opened("alone a");
    await answer();
    await opened("alone b");
    await answer();
    const mine = log.filter((line) => /^alone (begins|ends)/.test(line));
    expect(mine).toEqual(["alone begins a", "alone ends a", "alone begins b", "alone ends b"]);
    socket.close();
  });

  it("concurrent changes of the state build on each other", async () => {
    const { send, answer, socket } = await client(refOf("adding"));
    for (let i = 0; i < 20; i++) send("add", 1);
    let newest = 0;
    for (let i = 0; i < 20; i++) newest = Number((await answer())["result"]);
    expect(newest).toBe(20);
    socket.close();
    const again = await connect(refOf("adding"));
    await again.next();
    expect(JSON.parse(String(await again.next()))).toMatchObject({ state: { n: 20 } });
    again.close();
  });
});

describe("a connection's own messages", () => {
  it("are handled in order, and those of others meanwhile", async () => {
    const [one, two] = [await client(refOf("lines")), await client(refOf("lines"))];
    one.socket.send("slow");
    one.socket.send("after");
    two.socket.send("other");
    await logged("lines message other");
    expect(log).not.toContain("lines message after");
    await opened("lines message");
    await logged("lines message after");
    for (const { socket } of [one, two]) socket.close();
  });

  it("that hang give way to the next after the class's time", async () => {
    const { socket } = await client(refOf("hang", "hasty"));
    socket.send("hang");
    socket.send("next");
    await logged("hang message next");
    expect(log).toContain("hang error onMessage took more than 30 ms");
    socket.close();
  });
});

describe("a callable past its time", () => {
  it("is told its whole time, also when it had the rest of it", async () => {
    const rest = { ms: 3, limit: 50 };
    const never = (): Promise<never> => new Promise(() => undefined);
    await expect(withDeadline(platform.system, rest, "Method x", never)).rejects.toThrow(
      "Method x took more than 50 ms",
    );
  });

  it("is answered with what happened, and does nothing more", async () => {
    const ref = refOf("past");
    const { call, socket } = await client(ref);
    const error = "Method late took more than 30 ms";
    expect(await call("late")).toEqual({ type: "rpc", id: "1", success: false, error });
    await logged("past late over");
    const attempts = "setState sql queue schedule broadcast send destroy".split(" ");
    expect(log.filter((line) => line.startsWith("past "))).toEqual([
      ...attempts.map((name) => `past ${name}: ${error}`),
      "past late over",
    ]);
    expect(await call("add", 1)).toMatchObject({ result: 1 });
    socket.close();
  });

  it("streams as long as parts come, and not a part longer", async () => {
    const { send, answer, socket } = await client(refOf("parts"));
    send("parts", 3, false);
    for (let part = 0; part < 3; part++) expect(await answer()).toMatchObject({ result: part });
    expect(await answer()).toMatchObject({ success: true, done: true });
    send("parts", 1, true);
    expect(await answer()).toMatchObject({ result: 0 });
    const error = "Method parts took more than 3000 ms";
    expect(await answer()).toMatchObject({ success: false, error });
    socket.close();
  });
});

describe("a handler past its time", () => {
  it("does nothing more beside the next, which runs", async () => {
    const ref = refOf("over", "hasty");
    const { call, socket } = await client(ref);
    await ingest(ref, "e1", "slow");
    await ingest(ref, "e2");
    await logged("over e2");
    await logged("over late over");
    const error = "The handler took more than 30 ms";
    expect(log).toContain(`over setState: ${error}`);
    expect(log.filter((line) => line.startsWith("over ") && line.endsWith(": done"))).toEqual([]);
    expect(await call("notes")).toMatchObject({ result: [] });
    expect(await ref.call("deadLetters", 5)).toMatchObject([{ error }]);
    socket.close();
  });

  it("of requests is a 408", async () => {
    const answer = refOf("request", "hasty").fetch(new Request("http://causey.test/x"));
    await expect(answer).rejects.toMatchObject({
      status: 408,
      message: "onRequest took more than 30 ms",
    });
  });
});
