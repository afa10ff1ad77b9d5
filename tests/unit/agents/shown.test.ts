import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { platformApi } from "../../../core/api.ts";
import { agents, getAgentByName } from "../../../core/agents/mod.ts";
import type { Platform } from "../../../core/ports.ts";
import { assistant, board, player, report } from "../../fakes/agents-shown.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [board, player] });
});
afterAll(() => platform.close());

describe("the agents of docs/agents.md", () => {
  it("call each other, and are called by the server", async () => {
    expect(await report(platform)).toBe("The board says 3");
    expect(await report(platform)).toBe("The board says 6");
  });

  it("ask a gateway of the same program, and are told when there is none", async () => {
    const own = await openPlatform();
    platformApi({
      platform: own,
      demo: true,
      agents: [assistant],
      auth: () => Promise.resolve(null),
    });
    expect(await getAgentByName(own, assistant, "a").ask("Hello")).toMatchObject({
      choices: [{ message: { role: "assistant" } }],
    });
    await own.close();
    agents({ platform, auth: "off", agents: [board, player, assistant] });
    await expect(getAgentByName(platform, assistant, "a").ask("Hello")).rejects.toThrow(
      'agent.gateway needs the option "gateway" of agents()',
    );
  });
});
