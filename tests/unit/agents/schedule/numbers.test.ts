import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents, defineAgent, type Agent } from "../../../../core/agents/mod.ts";
import { LAST_INSTANT, LONGEST_SECONDS } from "../../../../core/http/fields/bounded-number.ts";
import type { Plain, Platform } from "../../../../core/ports.ts";
import { eventually } from "../../../cases/eventually.ts";

const ran: string[] = [];

/** Hands everything that a client says on, as an author may. */
const trusting = defineAgent({
  name: "trusting",
  tasks: { note: (_agent: Agent, what: string) => void ran.push(what) },
  callable: {
    async take(agent, how: string, value: Plain) {
      const given = numberOf(value);
      if (how === "schedule") return (await agent.schedule(given as number, "note", "far")).due;
      if (how === "date") {
        return (await agent.schedule(new Date(given as number), "note", "far")).due;
      }
      if (how === "every") return (await agent.scheduleEvery(given as number, "note", "far")).due;
      if (how === "since") return (await agent.events({ since: given as number })).length;
      const retry = { [how]: given as number };
      const options = how === "delaySeconds" ? { delaySeconds: given as number } : { retry };
      return agent.queue("note", "far", { delaySeconds: 1e6, ...options });
    },
    async clear(agent) {
      await agent.dequeueAll();
      for (const { id } of await agent.listSchedules()) await agent.cancelSchedule(id);
    },
    async due(agent) {
      const rows = [...(await agent.listSchedules()), ...(await agent.getQueues())];
      return rows.map(({ due }) => due);
    },
    soon: (agent) => agent.queue("note", "soon"),
  },
});

/** Numbers that JSON does not have come as their names. */
function numberOf(value: Plain): Plain {
  const special: Record<string, number> = { NaN: Number.NaN, Infinity, "-Infinity": -Infinity };
  return typeof value === "string" ? (special[value] ?? value) : value;
}

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [trusting] });
});
afterAll(() => platform.close());

async function call(method: string, ...args: Plain[]): Promise<Plain> {
  const ref = platform.actors.get("agent:trusting", "one");
  const asked = { method, args: JSON.stringify(args), chain: [], ms: undefined };
  const answer = await ref.call("call", asked);
  return typeof answer === "string" ? (JSON.parse(answer) as Plain) : null;
}

const fields = [
  "schedule",
  "date",
  "every",
  "delaySeconds",
  "maxAttempts",
  "baseMs",
  "maxMs",
  "since",
];
const hostile: Plain[] = [
  1e13,
  1e16,
  1e300,
  1e308,
  2 ** 53,
  -1,
  -1e13,
  -1e308,
  0,
  1e-320,
  0.1,
  "NaN",
  "Infinity",
  "-Infinity",
  "5",
  null,
  [5],
];

describe("numbers that a client gives to an agent", () => {
  it("are refused by name, value and range, or leave rows that can be read", async () => {
    const refused: Record<string, string> = {};
    const value = fc.oneof(fc.constantFrom(...hostile), fc.double({ noNaN: true }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...fields), value, async (field, given) => {
        try {
          await call("take", field, given);
        } catch (error) {
          refused[`${field} ${JSON.stringify(given)}`] = (error as Error).message;
        }
        for (const due of (await call("due")) as number[]) {
          // A row of a moment ago may be due by another clock.
          expect(due).toBeGreaterThan(-1000);
          expect(due).toBeLessThanOrEqual(LAST_INSTANT);
        }
      }),
      {
        numRuns: 150,
        examples: fields.flatMap((field) => hostile.map((one): [string, Plain] => [field, one])),
      },
    );
    await call("clear");
    expect(refused["schedule 10000000000000"]).toBe(
      `when: expected a number from 0.0001 to ${LONGEST_SECONDS}, got 10000000000000`,
    );
    expect(refused["delaySeconds 10000000000000"]).toBe(
      `delaySeconds: expected a number from 0 to ${LONGEST_SECONDS}, got 10000000000000`,
    );
    expect(refused['delaySeconds "5"']).toMatch(/got "5"$/u);
    expect(refused["date 10000000000000000"]).toMatch(/^when: expected seconds, /u);
    expect(refused["date -1"]).toMatch(/got -1 ms$/u);
    expect(refused["date 1e+300"]).toMatch(/^when: expected seconds, .*got an invalid date$/u);
    expect(refused["every -1"]).toMatch(/^seconds: /u);
    expect(refused["maxAttempts 0.1"]).toMatch(/^maxAttempts: expected a whole number/u);
    expect(refused['since "NaN"']).toMatch(/^since: .*got NaN$/u);
  });

  it("stop no alarm of the process", async () => {
    for (const field of fields)
      for (const one of hostile) await call("take", field, one).catch(() => null);
    ran.length = 0;
    await call("soon");
    await eventually(() => ran.includes("soon"), "a task that is due runs");
  });
});
