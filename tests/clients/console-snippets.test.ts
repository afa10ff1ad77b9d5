import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, inject, it } from "vitest";
import { curlOf, sdkCallOf } from "../../console/snippets.ts";

const run = promisify(execFile);
const url = inject("baseUrl");
const account = inject("accountId");

/** Runs what was copied, as a file beside the installed clients would. */
async function runCopied(code: string): Promise<string> {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: import.meta.dirname,
    env: { ...process.env, CAUSEY_TOKEN: inject("token"), PROVIDER_API_KEY: "sk-any" },
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
