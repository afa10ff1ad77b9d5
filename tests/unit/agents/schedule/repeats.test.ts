import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { evict, openPlatform } from "#platform";
import { agents, defineAgent, getAgentByName } from "../../../../core/agents/mod.ts";
import type { ActorKind, Platform } from "../../../../core/ports.ts";
import { eventually } from "../../../cases/eventually.ts";

let starts = 0;
const ticks: string[] = [];
const DATE = new Date("2999-01-01T00:00:00Z");

const tasks = { tick: () => void ticks.push("tick") };

const starter = defineAgent({
  name: "starter",
  tasks,
  async onStart(agent) {
    starts += 1;
    await agent.schedule("0 3 * * *", "tick");
    await agent.schedule("0 3 * * *", "tick", { other: true });
    await agent.schedule(90_000, "tick");
    await agent.schedule(DATE, "tick");
    await agent.scheduleEvery(90_000, "tick");
  },
  callable: {
    kinds: async (agent) => (await agent.listSchedules()).map(({ kind }) => kind).toSorted(),
  },
});

const repeater = defineAgent({
  name: "repeater",
  tasks,
  callable: {
    add: async (agent, when: string | number, idempotent?: boolean) =>
      (await agent.schedule(when, "tick", "added", { idempotent })).id,
    every: async (agent, seconds: number) => (await agent.scheduleEvery(seconds, "tick")).due,
    due: async (agent) => (await agent.listSchedules({ kind: "interval" })).map(({ due }) => due),
    count: async (agent) => (await agent.listSchedules()).length,
    busy: (agent, text: string) => agent.keepAliveWhile(() => Promise.resolve(`${text}!`)),
    fails: (agent) => agent.keepAliveWhile(() => Promise.reject(new Error("no"))),
  },
});

/** Ms that the clock of the agents is ahead. */
let ahead = 0;
let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  const clocked = (kind: ActorKind): ActorKind => ({
    ...kind,
    async start(context) {
      const now = (): number => context.system.now() + ahead;
      const steady = (): number => context.steady() + ahead;
      const actor = await kind.start({ ...context, steady, system: { ...context.system, now } });
      return { ...actor, methods: { ...actor.methods, ring: () => actor.onAlarm?.() } };
    },
  });
  const define = (kind: ActorKind): void => platform.actors.define(clocked(kind));
  const actors = { ...platform.actors, define, get: platform.actors.get.bind(platform.actors) };
  agents({ platform: { ...platform, actors }, auth: "off", agents: [starter, repeater] });
});
afterAll(() => platform.close());

describe("schedules in onStart", () => {
  it("do not pile up, however often the instance is started", async () => {
    const stub = getAgentByName(platform, starter, "a");
    const kinds = ["cron", "cron", "interval", "once", "once"];
    for (let i = 0; i < 3; i++) {
      expect(await stub.kinds()).toEqual(kinds);
      await evict();
    }
    expect(starts).toBeGreaterThanOrEqual(3);
  });
});

describe("schedule()", () => {
  it("of a cron expression is one row, unless asked otherwise", async () => {
    const stub = getAgentByName(platform, repeater, "crons");
    const first = await stub.add("0 4 * * *");
    expect(await stub.add("0 4 * * *")).toBe(first);
    expect(await stub.add("0 5 * * *")).not.toBe(first);
    expect(await stub.add("0 4 * * *", false)).not.toBe(first);
    expect(await stub.count()).toBe(3);
  });

  it("of a delay is a row each time, unless asked otherwise", async () => {
    const stub = getAgentByName(platform, repeater, "delays");
    expect(await stub.add(5000)).not.toBe(await stub.add(5000));
    const only = await stub.add(5000, true);
    expect(await stub.add(6000, true)).toBe(only);
    expect(await stub.count()).toBe(3);
  });
});

describe("an interval", () => {
  it("counts from its own time: late alarms do not move the next one", async () => {
    const stub = getAgentByName(platform, repeater, "interval");
    const ring = async (ms: number): Promise<number> => {
      ahead += ms;
      await platform.actors.get("agent:repeater", "interval").call("ring");
      const [due = 0] = await stub.due();
      return due;
    };
    const first = await stub.every(1000);
    ticks.length = 0;
    // The runs are 300 s and 2,700 s late, and one makes up for those that were missed.
    expect(Math.abs((await ring(1_300_000)) - first - 1_000_000)).toBeLessThan(60_000);
    expect(Math.abs((await ring(3_400_000)) - first - 4_000_000)).toBeLessThan(60_000);
    await eventually(() => ticks.length >= 2, "both have run");
    expect(Math.abs((await stub.every(1000)) - first - 4_000_000)).toBeLessThan(60_000);
  });
});

describe("keepAliveWhile()", () => {
  it("gives what the work gives", async () => {
    const stub = getAgentByName(platform, repeater, "alive");
    expect(await stub.busy("done")).toBe("done!");
    await expect(stub.fails()).rejects.toThrow("no");
  });
});
