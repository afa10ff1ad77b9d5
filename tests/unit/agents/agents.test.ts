import { describe, expect, it } from "vitest";
import { evict } from "#platform";
import { agents, defineAgent } from "../../../core/agents/mod.ts";
import { agentsUnderTest, call, greeted, next, type Frame } from "../../fakes/agents-counter.ts";

const { counter, ingest, log, platform, refOf, until } = agentsUnderTest();

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

  it("learns that the disk is full, and nothing else of the database's", async () => {
    const { socket } = await greeted(refOf("not-stored"));
    const errors: unknown[] = [];
    for (const reason of ["full", "busy", "constraint"]) {
      const frame = { type: "rpc", id: reason, method: "notStored", args: [reason] };
      socket.send(JSON.stringify(frame));
      errors.push((await next(socket))["error"]);
    }
    expect(errors).toEqual([
      expect.stringMatching(
        /^The server cannot store anything, most likely because its disk is full:/u,
      ),
      "Temporarily unavailable",
      "Internal error",
    ]);
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
      agents({
        platform: platform(),
        auth: "off",
        agents: [counter, defineAgent({ name: "counter_agent" })],
      }),
    ).toThrow(TypeError);
  });
});
