import { afterAll, beforeAll, expect, it } from "vitest";
import { openPlatform } from "#platform";
import {
  agents,
  defineAgent,
  getAgentByName,
  getCurrentAgent,
} from "../../../../core/agents/mod.ts";
import type { Platform } from "../../../../core/ports.ts";

let platform: Platform;

/** Code that no agent was handed to. */
async function nameLater(): Promise<string | undefined> {
  await platform.system.sleep(1);
  return getCurrentAgent(platform)?.name;
}

const inner = defineAgent({ name: "inner", callable: { name: () => nameLater() } });
const outer = defineAgent({
  name: "outer",
  callable: {
    name: () => nameLater(),
    async both(agent) {
      const other = await agent.getAgentByName(inner, "b").name();
      return [other, await nameLater(), getCurrentAgent(platform) === agent];
    },
  },
});

beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [inner, outer] });
});
afterAll(() => platform.close());

it("getCurrentAgent() is the agent of the run, behind awaits, and beside others", async () => {
  if (platform.system.asyncLocal === undefined) {
    // As Workers are without the option.
    expect(() => getCurrentAgent(platform)).toThrow('compatibility flag "nodejs_als"');
    return;
  }
  expect(getCurrentAgent(platform)).toBeNull();
  const names = ["a", "c", "d"];
  const calls = names.map((name) => getAgentByName(platform, outer, name).name());
  expect(await Promise.all(calls)).toEqual(names);
  expect(await getAgentByName(platform, outer, "a").both()).toEqual(["b", "a", true]);
  expect(getCurrentAgent(platform)).toBeNull();
});
