import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { eventually, LONG } from "../../cases/eventually.ts";
import { host } from "../../config/shared.ts";
import { seed, serve } from "./run-command.ts";

const token = "a-token-of-this-test-0123456789";

describe(`CAUSEY_DEBUG on ${host}`, () => {
  it("says more of the parts that it names, and of no other", LONG, async () => {
    const folder = join(inject("scratch"), `debug-${crypto.randomUUID()}`);
    await seed(folder);
    const server = await serve(folder, ["--log", "json", "--log-level", "error"], {
      CAUSEY_DEBUG: "gateway",
      CAUSEY_TOKEN: token,
    });
    await (await fetch(`${server.url}/client/v4/deprecations`)).text();
    const answer = await fetch(`${server.url}/v1/local/default/echo/chat/completions`, {
      method: "POST",
      headers: { "cf-aig-authorization": `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "A question" }] }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    await eventually(() => server.err().includes('"message":"Request"'), "the lines of the chat");
    await server.stop();
    const lines = server.err().trim().split("\n");
    const id = answer.headers.get("cf-aig-log-id") ?? "";
    expect(lines.filter((line) => line.includes(id))).toHaveLength(3);
    expect(lines.filter((line) => !line.includes('"part":"gateway"'))).toEqual([]);
    expect(server.err()).not.toContain("A question");
    expect(server.err()).not.toContain(token);
  });
});
