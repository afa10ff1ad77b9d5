import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, evict, openPlatform } from "#platform";
import {
  agents,
  defineAgent,
  NonRetryableError,
  type Agent,
  type AgentClass,
  type DeadLetter,
  type QueuedTask,
  type Schedule,
} from "../../../core/agents/mod.ts";
import type { ActorRef, Plain, Platform } from "../../../core/ports.ts";
import { noActors } from "../../fakes/agents-crowd.ts";
import type { TestSocket } from "../../platform/open-platform.d.ts";

/** What handlers did, as `name what`. */
const log: string[] = [];
const retries: number[] = [];
let query = new URLSearchParams();
let release: (() => void) | undefined;

const note = (agent: Agent<unknown>, what: string): void => void log.push(`${agent.name} ${what}`);

const surface: AgentClass = defineAgent<{ n: number }>({
  name: "Surface",
  initialState: { n: 0 },
  clientState: true,
  onStart: (agent) => note(agent, `start ${agent.state.n}`),
  onError: (agent, error, connection) =>
    note(
      agent,
      `error ${(error as Error).message} ${connection === null ? "" : "connection"}`.trim(),
    ),
  onMessage(_agent, connection, message) {
    if (message === "boom") throw new Error("boom");
    connection.send(`${String(message)} ${connection.readonly}`);
  },
  onRequest(_agent, request) {
    if (request.url.endsWith("/network-error")) return Response.error();
    throw new Error("request");
  },
  // The suite's own sockets cannot carry a query, so it comes this way.
  shouldConnectionBeReadonly: () => query.has("readonly"),
  shouldSendProtocolMessages: () => !query.has("silent"),
  connectionTags: () => query.getAll("tag"),
  retry: { maxAttempts: 2, baseMs: 1, maxMs: 5 },
  tasks: {
    ok: (agent, payload: string) => note(agent, `ran ${payload}`),
    fails(agent, payload: string, run) {
      note(agent, `try ${payload} ${run.attempt}`);
      throw new Error(`failed ${payload}`);
    },
    never() {
      throw new NonRetryableError("no use");
    },
  },
  callable: {
    setN: (agent, n: number) => agent.setState({ n }),
    queue: (agent, task: string, payload: Plain, options: object) =>
      agent.queue(task, payload, options),
    dequeue: (agent, id: string) => agent.dequeue(id),
    dequeueAll: (agent) => agent.dequeueAll(),
    dequeueAllByTask: (agent, task: string) => agent.dequeueAllByTask(task),
    getQueue: (agent, id: string) => agent.getQueue(id),
    getQueues: (agent, task?: string) => agent.getQueues(task),
    dead: (agent) => agent.deadLetters(),
    replayDead: (agent, id: string) => agent.replayDeadLetter(id),
    schedule: (agent, when: number | string, task: string) => agent.schedule(when, task, "payload"),
    every: (agent, seconds: number, task: string) => agent.scheduleEvery(seconds, task, "every"),
    getSchedule: (agent, id: string) => agent.getSchedule(id),
    listSchedules: (agent, filter?: object) => agent.listSchedules(filter),
    cancel: (agent, id: string) => agent.cancelSchedule(id),
    async retried(agent, failures: number) {
      retries.length = 0;
      return agent.retry(
        (attempt) => {
          retries.push(attempt);
          if (attempt <= failures) throw new Error("not yet");
          return attempt;
        },
        { baseMs: 1 },
      );
    },
    tell: (agent, without: string[]) => {
      agent.broadcast("text", without);
      agent.broadcast(new Uint8Array([7]), without);
    },
    ids: (agent, tag?: string) => agent.getConnections(tag).map(({ id }) => id),
    hold(agent) {
      release = agent.keepAlive();
    },
    letGo: () => release?.(),
    destroy: (agent) => agent.destroy(),
  },
});

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [surface] });
});
afterAll(() => platform.close());

const refOf = (name: string): ActorRef => platform.actors.get("agent:surface", name);

type Frame = { readonly type: string; readonly [key: string]: Plain };

interface Client {
  readonly socket: TestSocket;
  call<T = Plain>(method: string, ...args: Plain[]): Promise<T>;
}

/** Connects and reads the greeting. */
async function client(name: string, how = ""): Promise<Client> {
  query = new URLSearchParams(how);
  const socket = await connect(refOf(name));
  query = new URLSearchParams();
  if (!how.includes("silent")) for (let i = 0; i < 3; i++) await socket.next();
  let id = 0;
  return {
    socket,
    async call<T>(method: string, ...args: Plain[]) {
      id += 1;
      socket.send(JSON.stringify({ type: "rpc", id: String(id), method, args }));
      for (;;) {
        const message = await socket.next();
        if (typeof message !== "string" || !message.startsWith("{")) continue;
        const frame = JSON.parse(message) as Frame;
        if (frame["id"] !== String(id)) continue;
        if (frame["success"] !== true) throw new Error(frame["error"] as string);
        return frame["result"] as T;
      }
    },
  };
}

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await platform.system.sleep(5);
}
const seen = (line: string): number => log.filter((one) => one === line).length;

describe("the life of an instance", () => {
  it("begins with onStart, also after an eviction, with the state that was stored", async () => {
    const one = await client("starts");
    expect(seen("starts start 0")).toBe(1);
    await one.call("setN", 4);
    await evict();
    await one.call("ids");
    expect(seen("starts start 4")).toBe(1);
    one.socket.close();
  });

  it("is prolonged by keepAlive() until it is released", async () => {
    const one = await client("held");
    await one.call("hold");
    const starts = (): number => seen("held start 0");
    if (platform.runtime !== "workers") {
      await evict();
      await one.call("ids");
      expect(starts()).toBe(1);
    }
    await one.call("letGo");
    await evict();
    await one.call("ids");
    expect(starts()).toBe(2);
    one.socket.close();
  });

  it("goes on after a handler that throws; onError hears of it", async () => {
    const one = await client("errors");
    one.socket.send("boom");
    one.socket.send("after");
    expect(await one.socket.next()).toBe("after true");
    await expect(refOf("errors").fetch(new Request("http://causey.test/"))).rejects.toThrow();
    await one.call("queue", "never", "x", {});
    await until(() => seen("errors error no use") === 1);
    expect([seen("errors error boom connection"), seen("errors error request")]).toEqual([1, 1]);
    one.socket.close();
  });
});

describe("the queue", () => {
  it("lists, finds and gives back what waits, over an eviction", async () => {
    const one = await client("queue");
    const later = { delaySeconds: 3600 };
    const first = await one.call<string>("queue", "ok", "a", { ...later, id: "mine" });
    await one.call("queue", "ok", "twice", { ...later, id: "mine" });
    const second = await one.call<string>("queue", "fails", "b", later);
    await one.call("queue", "fails", "c", later);
    expect(first).toBe("mine");
    await evict();
    const all = await one.call<QueuedTask[]>("getQueues");
    expect(all.map(({ payload }) => payload)).toEqual(["a", "b", "c"]);
    expect((await one.call<QueuedTask[]>("getQueues", "fails")).length).toBe(2);
    expect(await one.call("getQueue", "mine")).toMatchObject({
      task: "ok",
      attempt: 0,
      error: null,
    });
    expect(await one.call("getQueue", "nobody")).toBeNull();
    expect([await one.call("dequeue", second), await one.call("dequeue", second)]).toEqual([
      true,
      false,
    ]);
    expect(await one.call("dequeueAllByTask", "fails")).toBe(1);
    expect(await one.call("dequeueAll")).toBe(1);
    expect(await one.call("getQueues")).toEqual([]);
    one.socket.close();
  });

  it("repeats a failing task as told, then keeps it as a dead letter that can be replayed", async () => {
    const one = await client("dead");
    const id = await one.call<string>("queue", "fails", "x", {
      retry: { maxAttempts: 3, baseMs: 1, maxMs: 2 },
    });
    await until(async () => (await one.call<DeadLetter[]>("dead")).length === 1);
    const [letter] = await one.call<DeadLetter[]>("dead");
    expect(letter).toMatchObject({
      id,
      task: "fails",
      payload: "x",
      attempts: 3,
      error: "failed x",
    });
    expect(log.filter((line) => line.startsWith("dead try"))).toEqual([
      "dead try x 1",
      "dead try x 2",
      "dead try x 3",
    ]);
    const fresh = await one.call<string>("replayDead", id);
    expect(fresh).not.toBe(id);
    expect(await one.call("replayDead", id)).toBeNull();
    // Without options of its own the definition's count: two runs.
    await until(async () => (await one.call<DeadLetter[]>("dead"))[0]?.attempts === 2);
    one.socket.close();
  });

  it("buries a non-retryable failure at once", async () => {
    const one = await client("useless");
    await one.call("queue", "never", null, {});
    await until(async () => (await one.call<DeadLetter[]>("dead")).length === 1);
    expect((await one.call<DeadLetter[]>("dead"))[0]).toMatchObject({
      attempts: 1,
      error: "no use",
    });
    one.socket.close();
  });

  it("refuses what it could never run", async () => {
    const one = await client("refuses");
    await expect(one.call("queue", "nothing", null, {})).rejects.toThrow('no task "nothing"');
    await expect(one.call("queue", "ok", 1, { retry: { maxAttempts: 0 } })).rejects.toThrow(
      "maxAttempts: expected a whole number from 1 to 1000000, got 0",
    );
    await expect(one.call("queue", "ok", 1, { delaySeconds: -1 })).rejects.toThrow("delay");
    await expect(one.call("queue", "ok", 1, { id: "" })).rejects.toThrow(
      "id: expected 1 to 256 characters",
    );
    one.socket.close();
  });
});

describe("schedules", () => {
  it("are found, listed by kind and task, and cancelled, over an eviction", async () => {
    const one = await client("schedules");
    const once = await one.call<Schedule>("schedule", 3600, "ok");
    const cron = await one.call<Schedule>("schedule", "0 0 1 1 *", "fails");
    const every = await one.call<Schedule>("every", 60, "ok");
    expect((await one.call<Schedule>("every", 60, "ok")).id).toBe(every.id);
    await evict();
    expect(await one.call("getSchedule", cron.id)).toMatchObject({ kind: "cron", task: "fails" });
    expect(await one.call("getSchedule", "nobody")).toBeNull();
    const ids = async (filter: Plain = {}): Promise<string[]> =>
      (await one.call<Schedule[]>("listSchedules", filter)).map(({ id }) => id);
    expect(await ids({ kind: "once" })).toEqual([once.id]);
    expect((await ids({ task: "ok" })).toSorted()).toEqual([once.id, every.id].toSorted());
    expect(await one.call("cancel", once.id)).toBe(true);
    expect(await one.call("cancel", once.id)).toBe(false);
    expect((await ids()).toSorted()).toEqual([cron.id, every.id].toSorted());
    one.socket.close();
  });

  it("of an interval do not pile up behind a run that is still queued", async () => {
    const one = await client("overlap");
    await one.call("every", 0.02, "fails");
    await until(() => log.filter((line) => line === "overlap try every 1").length >= 2);
    const waiting = await one.call<QueuedTask[]>("getQueues");
    expect(waiting.length).toBeLessThanOrEqual(1);
    one.socket.send(JSON.stringify({ type: "rpc", id: "end", method: "destroy", args: [] }));
    expect((await one.socket.closed).code).toBe(1000);
  });
});

describe("retry()", () => {
  it("repeats work in place up to three times, then throws its last error", async () => {
    const one = await client("in-place");
    expect(await one.call("retried", 2)).toBe(3);
    expect(retries).toEqual([1, 2, 3]);
    await expect(one.call("retried", 3)).rejects.toThrow("not yet");
    one.socket.close();
  });
});

describe("connections", () => {
  it("are found by any of nine tags of their own, over an eviction", async () => {
    const tags = Array.from({ length: 9 }, (_, index) => `t${index}`);
    const one = await client("tags", tags.map((tag) => `tag=${tag}`).join("&"));
    const two = await client("tags", "tag=t8");
    await evict();
    expect((await one.call<string[]>("ids", "t0")).length).toBe(1);
    expect((await one.call<string[]>("ids", "t8")).length).toBe(2);
    expect(await one.call("ids", "other")).toEqual([]);
    one.socket.close();
    two.socket.close();
  });

  it("get broadcasts, text and bytes, except those that are left out", async () => {
    const [one, two] = [await client("tell", "tag=a"), await client("tell", "tag=b")];
    const [left] = await one.call<string[]>("ids", "a");
    await one.call("tell", [left ?? ""]);
    expect(await two.socket.next()).toBe("text");
    expect(await two.socket.next()).toEqual(new Uint8Array([7]));
    await one.call("tell", []);
    one.socket.close();
    two.socket.close();
  });

  it("that are silent get no frame of the protocol unasked, but their results", async () => {
    const [loud, silent] = [await client("silent"), await client("silent", "silent")];
    await loud.call("setN", 3);
    silent.socket.send("hello");
    expect(await silent.socket.next()).toBe("hello true");
    silent.socket.send(JSON.stringify({ type: "rpc", id: "q", method: "ids", args: [] }));
    expect(JSON.parse(String(await silent.socket.next()))).toMatchObject({
      id: "q",
      success: true,
    });
    loud.socket.close();
    silent.socket.close();
  });
});

describe("a connection that could set the state", () => {
  it("is kept from it where shouldConnectionBeReadonly() says so", async () => {
    for (const [how, readonly] of [
      ["", false],
      ["readonly", true],
    ] as const) {
      const upgrade = {
        upgrade: "websocket",
        connection: "upgrade",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      };
      const accepted: Plain[] = [];
      const kind = surface.kind;
      const actor = await kind.start({
        name: "granted",
        steady: () => platform.system.now(),
        actors: noActors,
        sql: {
          dialect: "sqlite",
          all: () => Promise.resolve([]),
          batch: () => Promise.resolve([]),
          close: () => Promise.resolve(),
        },
        alarm: () => Promise.resolve([]),
        sockets: {
          accept(_request, options) {
            accepted.push(options?.attachment);
            return new Response();
          },
          broadcast: () => undefined,
          connections: () => [],
        },
        system: platform.system,
      });
      query = new URLSearchParams(how);
      await (actor.methods["admit"] as (key: string) => unknown)(upgrade["sec-websocket-key"]);
      await actor.fetch?.(new Request("http://causey.test/", { headers: upgrade }));
      query = new URLSearchParams();
      expect(accepted).toMatchObject([{ edit: true, readonly }]);
    }
  });

  it("takes Response.error() of onRequest for a failure: no server can send it", async () => {
    const answer = refOf("errors").fetch(new Request("http://causey.test/network-error"));
    await expect(answer).rejects.toThrow("Response.error()");
  });
});
