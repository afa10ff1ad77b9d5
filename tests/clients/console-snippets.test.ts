import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { firstLines } from "../../console/first-lines.ts";
import { curlOf, sdkCallOf } from "../../console/snippets.ts";
import { startTarget, type Target } from "../http/target.ts";

const run = promisify(execFile);
const url = inject("baseUrl");
const account = inject("accountId");

/** Runs what was copied, as a file beside the installed clients would. */
async function runCopied(code: string, more: Record<string, string> = {}): Promise<string> {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: import.meta.dirname,
    env: { ...process.env, CAUSEY_TOKEN: inject("token"), PROVIDER_API_KEY: "sk-any", ...more },
  });
  return stdout;
}

const request = JSON.stringify({
  model: "openai/gpt-4o-mini",
  messages: [{ role: "user", content: "It's `${quoted}`" }],
});

describe("what the console copies of a request runs", () => {
  it("by the official client of OpenAI", async () => {
    const path = `/v1/${account}/open/compat/chat/completions`;
    const code = sdkCallOf(url, { path, request });
    expect(code).toContain('from "openai"');
    expect(await runCopied(code)).toContain("chatcmpl-test");
  });

  it("by the official client of Anthropic", async () => {
    const path = `/v1/${account}/open/anthropic/v1/messages`;
    const body = JSON.stringify({
      model: "claude-x",
      max_tokens: 5,
      messages: [{ role: "user", content: "Hi" }],
    });
    const code = sdkCallOf(url, { path, request: body });
    expect(code).toContain('from "@anthropic-ai/sdk"');
    expect(await runCopied(code)).toMatch(/\bid: /);
  });

  it("by fetch where no client has the path, or the body was cut off", async () => {
    const path = `/v1/${account}/default/echo/audio/speech`;
    expect(sdkCallOf(url, { path, request })).toContain("await fetch(");
    const cut = sdkCallOf(url, {
      path: `/v1/${account}/open/compat/chat/completions`,
      request: request.slice(0, -5),
    });
    expect(cut).toContain("await fetch(");
    // The gateway says what is wrong with it: it came as it is.
    expect(await runCopied(cut)).toMatch(/JSON/);
  });

  it("by curl, with the token as a variable", () => {
    const command = curlOf(url, { path: "/v1/a/b/openai/chat/completions", request });
    expect(command).toContain(String.raw`It'\''s`);
    expect(command).not.toContain(inject("token"));
  });
});

describe("the lines of the console's first steps run", () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-first-"));
  const secret = "demo-secret-0123456789";
  const variables = {
    CAUSEY_TOKEN: inject("token"),
    OPENAI_API_KEY: "sk-a-key-of-the-provider",
    WEBHOOK_SECRET: secret,
  };
  let target: Target;
  const lines = () => firstLines(target.url, "local", "demo");
  /** The server with the demo, and its provider that echoes. */
  const demo = firstLines(url, account, null);
  /** Runs lines in a shell. */
  async function shell(text: string | undefined): Promise<string> {
    const env = { ...process.env, ...variables };
    return (await run("sh", ["-c", text ?? "false"], { cwd: folder, env })).stdout;
  }

  beforeAll(async () => {
    const config = join(folder, "causey.json");
    const entity = { from: "payload", path: "entity" };
    const baseUrl = `${inject("upstreamUrl")}/v1`;
    writeFileSync(
      config,
      JSON.stringify({
        gateway: { providers: { openai: { baseUrl } } },
        webhooks: { sources: { demo: { scheme: "generic", secret, entity } } },
      }),
    );
    const args = ["--config", config, "--account-id", "local"];
    target = await startTarget({ args, env: { CAUSEY_TOKEN: inject("token") } });
  });
  afterAll(async () => {
    await target?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("to ask a model", async () => {
    expect(await shell(demo.ask["curl"])).toContain('"content":"Hello"');
    expect(await runCopied(demo.ask["OpenAI SDK"] ?? "")).toBe("Hello\n");
  });

  it("to connect a provider, whose models then answer", async () => {
    // The first request to it makes a gateway, as the step before does.
    await fetch(`${target.url}/client/v4/accounts/local/ai-gateway/gateways`, {
      method: "POST",
      headers: { authorization: `Bearer ${inject("token")}` },
      body: JSON.stringify({ id: "default" }),
    }).then((answer) => answer.text());
    expect(await shell(lines().provider["curl"])).toContain('"provider_slug":"openai"');
    expect(await runCopied(lines().provider["OpenAI SDK"] ?? "")).toMatch(/\w/);
    // The same key a second time would be a conflict.
    const code = lines().provider["cloudflare SDK"]?.replace('alias: "default"', 'alias: "two"');
    expect(await runCopied(code ?? "", variables)).toMatch(/\w/);
  });

  it("to make a key, and to use it", async () => {
    const made = JSON.parse(await shell(demo.key["curl"])) as { result: { key: string } };
    const own = { VIRTUAL_KEY: made.result.key };
    expect(await runCopied(demo.key["cloudflare SDK"] ?? "")).toMatch(/^causey_vk_/);
    expect(await runCopied(demo.key["OpenAI SDK"] ?? "", own)).toBe("Hello\n");
  });

  it("to upload a file, and to ask about it", async () => {
    expect(await shell(lines().file["curl"])).toContain('"status":"completed"');
    await fetch(`${target.url}/client/v4/accounts/local/ai-search/instances/notes`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${inject("token")}` },
    }).then((answer) => answer.text());
    expect(await runCopied(lines().file["cloudflare SDK"] ?? "")).toContain("at noon");
  });

  it("to receive a webhook", async () => {
    expect(await shell(lines().webhook["curl"])).toContain('"entity":"ann"');
  });
});
