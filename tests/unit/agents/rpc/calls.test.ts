import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { openPlatform } from "#platform";
import {
  agents,
  defineAgent,
  getAgentByName,
  type AgentClass,
  type AgentStub,
} from "../../../../core/agents/mod.ts";
import type { EventRecord } from "../../../../core/entity/event.ts";
import type { Platform } from "../../../../core/ports.ts";

const late: string[] = [];
const turns = { isHeld: false };

const board = defineAgent({
  name: "Board",
  initialState: { total: 0 },
  timeoutMs: 40_000,
  callable: {
    async add(agent, n: number) {
      await agent.setState({ total: agent.state.total + n });
      return agent.state.total;
    },
    echo: (_agent, ...args: unknown[]) => args,
    nothing: () => undefined,
    when: () => new Date(0),
    guarded: { edit: true, run: (agent) => agent.name },
    fails() {
      throw new RangeError("not today");
    },
    stream: { streaming: true, run: (_agent, stream) => stream.end(1) },
    /** Holds the turn of exclusive callables. */
    hold: {
      exclusive: true,
      async run() {
        turns.isHeld = true;
        while (turns.isHeld) await platform.system.sleep(5);
      },
    },
    turn: { exclusive: true, run: (agent) => void late.push(agent.name) },
  },
});

/** What calls itself by way of another instance, which TypeScript could not infer. */
type Loop = AgentStub<{
  round: { run: (agent: never) => Promise<string> };
  open: (agent: never, left: number) => Promise<number>;
}>;

const loop: AgentClass = defineAgent({
  name: "loop",
  callable: {
    round: {
      exclusive: true,
      run: (agent) => agent.getAgentByName(relay, "b").back(agent.name),
    },
    async open(agent, left: number): Promise<number> {
      if (left === 0) return 0;
      return 1 + (await (agent.getAgentByName(loop, agent.name) as Loop).open(left - 1));
    },
  },
});

const relay = defineAgent({
  name: "relay",
  callable: {
    back: (agent, name: string): Promise<string> =>
      (agent.getAgentByName(loop, name) as Loop).round(),
    add: (agent, n: number) => agent.getAgentByName(board, "by relay").add(n),
    guarded: (agent) => agent.getAgentByName(board, "by relay").guarded(),
    /** Has 100 ms; what it calls would wait for its turn for 40 s. */
    hasty: { timeoutMs: 100, run: (agent) => agent.getAgentByName(board, "busy").turn() },
  },
});

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [board, loop, relay] });
});
afterAll(() => platform.close());

describe("getAgentByName()", () => {
  it("calls an instance, typed by its definition", async () => {
    const stub = getAgentByName(platform, board, "typed");
    expect(await stub.add(2)).toBe(2);
    expect(await stub.add(3)).toBe(5);
    expectTypeOf(stub.add).toEqualTypeOf<(n: number) => Promise<number>>();
    expectTypeOf(stub.guarded).toEqualTypeOf<() => Promise<string>>();
    expectTypeOf(stub.getEvents).returns.resolves.toEqualTypeOf<EventRecord[]>();
    expectTypeOf(stub).not.toHaveProperty("stream");
    // @ts-expect-error a text is no number
    expect(await stub.add("x")).toBe("5x");
  });

  it("is the instance that webhooks and clients reach, whatever its name", async () => {
    for (const name of ["münchen", "a/b", "A", "%41"])
      expect(await getAgentByName(platform, board, name).guarded()).toBe(name);
    for (const name of ["", "..", "a\0b", "x".repeat(1025)])
      expect(() => getAgentByName(platform, board, name)).toThrow("entity identifier");
  });

  it("hands over JSON, on every runtime alike", async () => {
    const stub = getAgentByName(platform, board, "json");
    const given = { when: new Date(0), none: undefined, list: [undefined, 1] };
    expect(await stub.echo(given, undefined)).toEqual([
      { when: "1970-01-01T00:00:00.000Z", list: [null, 1] },
      null,
    ]);
    expect(await stub.nothing()).toBeUndefined();
    expect(await stub.when()).toBe("1970-01-01T00:00:00.000Z");
    await expect(stub.echo("x".repeat(1024 * 1024))).rejects.toMatchObject({ status: 413 });
  });

  it("knows the built-in callables, and no other", async () => {
    const stub = getAgentByName(platform, board, "built in");
    expect(await stub.getEvents()).toEqual([]);
    expect(await stub.getEventsByType("push", 3)).toEqual([]);
    expect(Object.keys(stub)).not.toContain("destroy");
    // Awaited by mistake it is itself.
    expect(await Promise.resolve(stub)).toBe(stub);
    const call = { method: "destroy", args: "[]", chain: [], ms: undefined };
    const ref = platform.actors.get("agent:board", "built in");
    await expect(ref.call("call", call)).rejects.toThrow("Method destroy is not callable");
    await expect(ref.call("call", { ...call, method: "stream" })).rejects.toThrow(
      "Method stream streams: only connections can call it",
    );
  });

  it("rejects with what the callable threw", async () => {
    await expect(getAgentByName(platform, board, "x").fails()).rejects.toMatchObject({
      name: "RangeError",
      message: "not today",
    });
  });

  it("has a time of its own, in which what waits for its turn begins or never does", async () => {
    const stub = getAgentByName(platform, board, "busy");
    const held = stub.hold();
    const hasty = getAgentByName(platform, board, "busy", { timeoutMs: 50 });
    await expect(hasty.turn()).rejects.toMatchObject({ status: 408 });
    turns.isHeld = false;
    await held;
    // Whoever asks later comes after the one whose time was over.
    await stub.turn();
    expect(late).toEqual(["busy"]);
  });
});

describe("an agent that calls another", () => {
  it("awaits its result", async () => {
    expect(await getAgentByName(platform, relay, "a").add(4)).toBe(4);
    expect(await getAgentByName(platform, relay, "b").add(4)).toBe(8);
    expect(await getAgentByName(platform, relay, "b").guarded()).toBe("by relay");
  });

  it("is told at once when an exclusive callable would wait for itself", async () => {
    const stub = getAgentByName(platform, loop, "a") as Loop;
    await expect(stub.round()).rejects.toMatchObject({
      status: 409,
      message:
        "Method round is exclusive and would wait for itself: loop/a.round → relay/b.back → loop/a.round",
    });
  });

  it("may call itself, but not for ever", async () => {
    const stub = getAgentByName(platform, loop, "self") as Loop;
    expect(await stub.open(20)).toBe(20);
    await expect(stub.open(1e9)).rejects.toThrow("More than 32 agents wait for each other: loop/");
  });

  it("gives what it calls no more time than it has itself", async () => {
    late.length = 0;
    const held = getAgentByName(platform, board, "busy").hold();
    await expect(getAgentByName(platform, relay, "hasty").hasty()).rejects.toMatchObject({
      status: 408,
    });
    // The call's own deadline is the caller's, so its turn comes too late.
    await platform.system.sleep(300);
    turns.isHeld = false;
    await held;
    await getAgentByName(platform, board, "busy").turn();
    expect(late).toEqual(["busy"]);
  });
});
