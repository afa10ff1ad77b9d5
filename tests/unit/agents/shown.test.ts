import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect, openPlatform } from "#platform";
import { platformApi } from "../../../core/api.ts";
import { agents, getAgentByName } from "../../../core/agents/mod.ts";
import type { Platform } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { assistant, board, mailer, player, report } from "../../fakes/agents-shown.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  agents({ platform, auth: "off", agents: [board, player, mailer] });
});
afterAll(() => platform.close());

describe("the agents of docs/agents.md", () => {
  it("call each other, and are called by the server", async () => {
    expect(await report(platform)).toBe("The board says 3");
    expect(await report(platform)).toBe("The board says 6");
  });

  it("queue, schedule and give up tasks, and stream", async () => {
    const stub = getAgentByName(platform, mailer, "m");
    await stub.mail("ann@example.com");
    await stub.remind("bob@example.com", 0.01);
    await stub.mail("nobody");
    await eventually(async () => (await stub.sent()) === 2, "both mails are sent");
    await eventually(async () => (await stub.dead()).length === 1, "the third is dead");
    expect(await stub.dead()).toMatchObject([
      { task: "mail", error: "No address: nobody (run 1)" },
    ]);
    const socket = await connect(platform.actors.get("agent:mailer", "m"));
    socket.send(JSON.stringify({ type: "rpc", id: "1", method: "count", args: [2] }));
    const results: unknown[] = [];
    while (results.at(-1) !== "done") {
      const frame = JSON.parse(String(await socket.next())) as Record<string, unknown>;
      if (frame["type"] === "rpc") results.push(frame["result"]);
    }
    expect(results).toEqual([1, 2, "done"]);
    socket.close();
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
    agents({ platform, auth: "off", agents: [assistant] });
    await expect(getAgentByName(platform, assistant, "a").ask("Hello")).rejects.toThrow(
      'agent.gateway needs the option "gateway" of agents()',
    );
  });
});
