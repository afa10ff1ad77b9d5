import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, openPlatform } from "#platform";
import {
  agents,
  defineAgent,
  NonRetryableError,
  type Agent,
  type AgentClass,
  type AgentDefinition,
} from "../../../../core/agents/mod.ts";
import type { IncomingEvent, IngestReceipt } from "../../../../core/entity/event.ts";
import type { ActorRef, Plain, Platform } from "../../../../core/ports.ts";
import type { TestSocket } from "../../../platform/open-platform.d.ts";

/** What handlers did, as `name what`. */
const log: string[] = [];
const note = (agent: Agent<unknown>, what: string): void => void log.push(`${agent.name} ${what}`);

const base: AgentDefinition<{ n: number }> = {
  name: "Strict",
  initialState: { n: 0 },
  retry: { maxAttempts: 3, baseMs: 5, maxMs: 5 },
  onStart: (agent) => note(agent, "start"),
  onEvent(agent, event, run) {
    note(agent, event.id);
    if (event.type === "fails once" && run.attempt === 1) throw new Error("once");
    if (event.type === "fails") throw new Error("always");
    if (event.type === "dead") throw new NonRetryableError("no use");
  },
  tasks: {
    note: (agent, payload: number) => note(agent, `task ${payload}`),
    tick: () => undefined,
    async drop(agent, id: string) {
      note(agent, `drop ${await agent.dequeue(id)}`);
    },
  },
  schedules: { tick: "0 3 * * *" },
  callable: {
    queueMany: async (agent, count: number) => {
      for (let i = 0; i < count; i++) await agent.queue("note", i);
    },
    dropped: async (agent) => {
      // Both are due before the first one runs.
      await Promise.all([agent.queue("drop", "second"), agent.queue("note", 2, { id: "second" })]);
      await agent.queue("note", 3);
    },
    schedules: async (agent) => (await agent.listSchedules()).map(({ task }) => task),
    count: async (agent) =>
      (await agent.sql`SELECT COUNT(*) AS n FROM agents_events WHERE agent = ${agent.key}`)[0]?.[
        "n"
      ],
    destroy: (agent) => agent.destroy(),
    set: (agent, n: number) => agent.setState({ n }),
    /** Stores events of one type at once, as a burst of years would have. */
    fill: (agent, count: number) => agent.sql`INSERT INTO agents_events
      (agent, seq, provider, headers, id, type, title, timestamp)
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      SELECT ${agent.key}, i, 'test', '{}', 'f' || i, CASE WHEN i = 3 THEN 'rare' ELSE 'push' END, 't',
        '2026-01-01T00:00:00.000Z' FROM n`,
  },
};
const strict: AgentClass = defineAgent(base);
const loose: AgentClass = defineAgent({ ...base, name: "Loose", ordering: "none" });

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [strict, loose] });
});
afterAll(() => platform.close());

const refOf = (name: string, kind = "strict"): ActorRef =>
  platform.actors.get(`agent:${kind}`, name);

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await platform.system.sleep(5);
}

async function ingest(
  ref: ActorRef,
  id: string,
  type = "push",
  extra: Partial<IncomingEvent> = {},
): Promise<IngestReceipt> {
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
    ...extra,
  };
  return (await ref.call("ingest", event)) as IngestReceipt;
}

async function client(ref: ActorRef): Promise<{
  socket: TestSocket;
  call(method: string, ...args: Plain[]): Promise<Plain>;
}> {
  const socket = await connect(ref);
  for (let i = 0; i < 3; i++) await socket.next();
  let last = 0;
  return {
    socket,
    async call(method, ...args) {
      const id = String(++last);
      socket.send(JSON.stringify({ type: "rpc", id, method, args }));
      for (;;) {
        const frame = JSON.parse(String(await socket.next())) as { id?: string; result?: Plain };
        if (frame.id === id) return frame.result;
      }
    },
  };
}

const handled = (name: string): string[] =>
  log.filter((line) => line.startsWith(`${name} e`)).map((line) => line.slice(name.length + 1));

describe("an event that fails", () => {
  it("holds the later ones of its entity until it has succeeded", async () => {
    await ingest(refOf("once"), "e1", "fails once");
    for (const id of ["e2", "e3"]) await ingest(refOf("once"), id);
    await until(() => handled("once").length === 4);
    expect(handled("once")).toEqual(["e1", "e1", "e2", "e3"]);
  });

  it("holds them until it is a dead letter, and nobody else's", async () => {
    await ingest(refOf("always"), "e1", "fails");
    await ingest(refOf("always"), "e2");
    await ingest(refOf("always"), "e3", "dead");
    await ingest(refOf("always"), "e4");
    await until(() => handled("always").length === 6);
    expect(handled("always")).toEqual(["e1", "e1", "e1", "e2", "e3", "e4"]);
  });

  it("holds those whose sender waits for them, who is told that they are queued", async () => {
    const ref = refOf("waiting");
    const respond = { respond: "processed" } as const;
    const first = await ingest(ref, "e1", "fails", respond);
    expect(await ref.call("process", first.job)).toBe(false);
    const second = await ingest(ref, "e2", "push", respond);
    if (handled("waiting").length < 3) await ref.call("process", second.job);
    await until(() => handled("waiting").length === 4);
    expect(handled("waiting")).toEqual(["e1", "e1", "e1", "e2"]);
  });

  it("holds nobody with `ordering: none`", async () => {
    const ref = refOf("loose", "loose");
    await ingest(ref, "e1", "fails");
    for (const id of ["e2", "e3"]) await ingest(ref, id);
    await until(() => handled("loose").length === 5);
    expect(handled("loose").toSorted()).toEqual(["e1", "e1", "e1", "e2", "e3"]);
    expect(handled("loose").at(-1)).toBe("e1");
  });

  it("leaves tasks alone", async () => {
    const { call, socket } = await client(refOf("tasks"));
    await ingest(refOf("tasks"), "e1", "fails");
    await call("queueMany", 2);
    await until(() => log.includes("tasks task 1"));
    expect(log.indexOf("tasks task 0")).toBeLessThan(log.indexOf("tasks task 1"));
    socket.close();
  });
});

describe("a long queue", () => {
  it("runs in the order in which it was filled", async () => {
    const { call, socket } = await client(refOf("long"));
    await call("queueMany", 300);
    await until(() => log.includes("long task 299"));
    const ran = log.filter((line) => line.startsWith("long task"));
    expect(ran).toEqual(Array.from({ length: 300 }, (_, i) => `long task ${i}`));
    socket.close();
  });
});

describe("a task that was dequeued when it was due already", () => {
  it("does not run", async () => {
    const { call, socket } = await client(refOf("dropped"));
    await call("dropped");
    await until(() => log.includes("dropped task 3"));
    expect(log.filter((line) => /^dropped (?:task|drop)/.test(line))).toEqual([
      "dropped drop true",
      "dropped task 3",
    ]);
    socket.close();
  });
});

describe("destroy()", () => {
  it("ends the class's schedules, and the next use begins them anew", async () => {
    const ref = refOf("gone");
    const first = await client(ref);
    expect(await first.call("schedules")).toEqual(["tick"]);
    await first.call("set", 7);
    first.socket.send(JSON.stringify({ type: "rpc", id: "x", method: "destroy", args: [] }));
    await first.socket.closed;
    const second = await client(ref);
    expect(await second.call("schedules")).toEqual(["tick"]);
    expect(log.filter((line) => line === "gone start")).toHaveLength(2);
    second.socket.close();
  });

  it("lets the next event begin it, too", async () => {
    const ref = refOf("event");
    const { socket } = await client(ref);
    socket.send(JSON.stringify({ type: "rpc", id: "x", method: "destroy", args: [] }));
    await socket.closed;
    await ingest(ref, "e1");
    await until(() => handled("event").length === 1);
    expect(log.filter((line) => line === "event start")).toHaveLength(2);
  });
});

describe("a rare type among many events", () => {
  it("is found without holding up the process", async () => {
    const other = refOf("rare");
    const { call, socket } = await client(other);
    await call("fill", 20_001);
    let turns = 0;
    const over = new AbortController();
    const counting = (async () => {
      for (; !over.signal.aborted; turns++) await platform.system.sleep(0);
    })();
    const found = (await other.call("getEventsByType", "rare", 5)) as { id: string }[];
    over.abort();
    await counting;
    expect(found.map(({ id }) => id)).toEqual(["f3"]);
    expect(turns).toBeGreaterThanOrEqual(5);
    socket.close();
  });
});

describe("a lowered limit of events", () => {
  it("is reached by alarms, however many events are too many", async () => {
    const ref = refOf("shrinks");
    const { call, socket } = await client(ref);
    await call("fill", 3000);
    await ingest(ref, "e1", "push", { retention: { maxEvents: 10, maxAgeMs: null } });
    await until(async () => Number(await call("count")) <= 10);
    expect((await ref.call("getEvents", 1)) as Plain[]).toMatchObject([{ id: "e1" }]);
    socket.close();
  });
});
