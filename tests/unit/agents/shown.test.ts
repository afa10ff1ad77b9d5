import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { agents } from "../../../core/agents/mod.ts";
import type { Platform } from "../../../core/ports.ts";
import { board, player, report } from "../../fakes/agents-shown.ts";

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
});
