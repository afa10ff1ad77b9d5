import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { eventually, LONG } from "../../cases/eventually.ts";
import { root } from "../../config/shared.ts";

const token = "a-token-of-this-test-0123456789";

describe("serve:workers", () => {
  it("has the demo, and says more of the parts that are asked for", LONG, async () => {
    const folder = join(inject("scratch"), `workers-${crypto.randomUUID()}`);
    const args = ["--port", "0", "--data-dir", folder, "--log-level", "error"];
    const child = spawn(process.execPath, [`${root}scripts/serve-workers.mjs`, ...args], {
      env: {
        ...process.env,
        CAUSEY_CHROMIUM_PATH: process.execPath,
        CAUSEY_DEBUG: "gateway",
        CAUSEY_TOKEN: token,
      },
    });
    const said = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said.out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said.err += text));
    const closed = once(child, "close");
    const address = (): string | undefined => /http:\/\/127\.0\.0\.1:\d+/u.exec(said.out)?.[0];
    await eventually(
      () => address() !== undefined || child.exitCode !== null,
      "the start lines or the end",
    );
    const url = address();
    if (url === undefined) throw new Error(`The server ended: ${said.err}`);
    const authorization = `Bearer ${token}`;
    const demo = `${url}/client/v4/accounts/local/ai-search/instances/demo`;
    expect((await fetch(demo, { headers: { authorization } })).status).toBe(200);
    const answer = await fetch(`${url}/v1/local/default/echo/chat/completions`, {
      method: "POST",
      headers: { "cf-aig-authorization": authorization, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "A question" }] }),
    });
    expect(answer.status).toBe(200);
    await answer.text();
    await eventually(() => said.err.includes('"span":"chat"'), "the span of the chat");
    child.kill("SIGTERM");
    await closed;
    expect(said.err).toContain('"part":"gateway"');
    expect(said.err).not.toContain('"part":"search"');
    expect(said.err).not.toContain("A question");
  });
});
