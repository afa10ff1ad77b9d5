import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { fingerprint, spoken } from "../http/native-model.ts";
import { account, base, native, providerUrl, rowsOf } from "./gateway-native.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs/gateway/virtual-keys.md"), "utf8");
const gateway = `vk-${randomUUID().slice(0, 8)}`;
const management = `${base}/client/v4/accounts/${account}/ai-gateway`;
const token = inject("token");
const messages = [{ role: "user" as const, content: "Is anybody there?" }];

interface Made {
  readonly id: string;
  readonly key: string;
  readonly usage: readonly { readonly used: number }[];
}

async function call<T>(path: string, method: string, body?: object): Promise<T> {
  const response = await fetch(management + path, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { success, result, errors } = (await response.json()) as {
    success: boolean;
    result: T;
    errors: unknown;
  };
  if (!success) throw new Error(`${method} ${path}: ${JSON.stringify(errors)}`);
  return result;
}
const make = (settings: object = {}): Promise<Made> =>
  call("/virtual-keys", "POST", { name: "client", gateways: [gateway], ...settings });

beforeAll(async () => {
  await call("/gateways", "POST", {
    id: gateway,
    cache_invalidate_on_update: false,
    cache_ttl: null,
    collect_logs: true,
    rate_limiting_interval: null,
    rate_limiting_limit: null,
  });
  for (const provider_slug of ["openai", "anthropic", "google-ai-studio"]) {
    const secret = `sk-stored-${provider_slug}-0123456789`;
    const key = { alias: "default", default_config: true, provider_slug, secret };
    await call(`/gateways/${gateway}/provider_configs`, "POST", key);
  }
});
afterAll(() => call(`/gateways/${gateway}`, "DELETE"));

const openai = (apiKey: string, event: string): OpenAI =>
  new OpenAI({
    apiKey,
    baseURL: providerUrl("openai", gateway),
    defaultHeaders: native({ "cf-aig-event-id": event }),
    maxRetries: 0,
  });

describe("a virtual key as an SDK's apiKey", () => {
  it("chats with openai, streamed or not, and the rows name it", async () => {
    const { key, id } = await make();
    const event = randomUUID();
    const { completions } = openai(key, event).chat;
    const answer = await completions.create({ model: "gpt-4o", messages });
    expect(answer.choices[0]?.message.content).toBe(spoken);
    const stream = completions.stream({ model: "gpt-4o", messages });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(spoken);
    const rows = await rowsOf(event, 2, gateway);
    for (const row of rows) expect(row).toMatchObject({ success: true, caller: `key:${id}` });
    expect(JSON.stringify(rows)).not.toContain(key);
  });

  it("asks @anthropic-ai/sdk's and @google/genai's models", async () => {
    const { key } = await make();
    const anthropic = new Anthropic({
      apiKey: key,
      baseURL: providerUrl("anthropic", gateway),
      defaultHeaders: native(),
      maxRetries: 0,
    });
    const message = await anthropic.messages.create({ model: "claude-x", max_tokens: 9, messages });
    expect(message.content).toEqual([{ type: "text", text: spoken }]);
    const google = new GoogleGenAI({
      apiKey: key,
      httpOptions: { baseUrl: providerUrl("google-ai-studio", gateway), headers: native() },
    });
    const asked = { model: "gemini-2.5-flash", contents: "Is anybody there?" };
    expect((await google.models.generateContent(asked)).text).toBe(spoken);
  });

  it("is refused by its limit, exactly, and by its models, in the SDK's own errors", async () => {
    const limits = [{ limitType: "requests", limit: 5, window: 86_400 }];
    const { key, id } = await make({ limits, models: ["openai/gpt-4o"] });
    const { completions } = openai(key, randomUUID()).chat;
    const asked = Array.from({ length: 12 }, () =>
      completions.create({ model: "gpt-4o", messages }),
    );
    const ends = await Promise.allSettled(asked);
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    for (const end of ends)
      if (end.status === "rejected") expect(end.reason).toBeInstanceOf(OpenAI.RateLimitError);
    expect((await call<Made>(`/virtual-keys/${id}`, "GET")).usage).toMatchObject([{ used: 5 }]);
    const other = openai((await make({ models: ["openai/gpt-4o-mini"] })).key, randomUUID());
    await expect(
      other.chat.completions.create({ model: "gpt-4o", messages }),
    ).rejects.toBeInstanceOf(OpenAI.PermissionDeniedError);
  });
});

describe("a virtual key for certain models", () => {
  it("has 25 MiB of sound transcribed by the unmodified SDK, the file before or behind the model", async () => {
    const { key } = await make({ models: ["openai/transcriber"] });
    const bytes = new Uint8Array(25 * 1024 * 1024).fill(7);
    const file = await toFile(bytes, "a.wav", { type: "audio/wav" });
    const { transcriptions } = openai(key, randomUUID()).audio;
    for (const body of [
      { file, model: "transcriber" },
      { model: "transcriber", file },
    ])
      expect((await transcriptions.create(body)).text).toBe(`a.wav ${fingerprint(bytes)}`);
    const other = transcriptions.create({ file, model: "another" });
    await expect(other).rejects.toMatchObject({ status: 403 });
  });
});

describe("docs/gateway/virtual-keys.md", () => {
  const folder = mkdtempSync(join(tmpdir(), "causey-virtual-keys-"));
  const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/gu)].map(([, block = ""]) => block);

  beforeAll(() => {
    symlinkSync(join(root, "tests/clients/node_modules"), join(folder, "node_modules"));
    // The model server of the tests speaks as a provider does when it is told to.
    const prelude = `const real = globalThis.fetch;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set("x-test-mode", "native");
  return real(input, { ...init, headers });
};`;
    writeFileSync(join(folder, "prelude.mjs"), prelude);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function run(block: string, key: string): Promise<string> {
    const file = join(folder, `${randomUUID()}.mts`);
    writeFileSync(
      file,
      block.replaceAll(
        "http://127.0.0.1:8787/v1/local/default",
        `${base}/v1/${account}/${gateway}`,
      ),
    );
    const child = spawn(
      join(root, "node_modules/node/bin/node"),
      ["--import", join(folder, "prelude.mjs"), file],
      { cwd: folder, env: { CAUSEY_KEY: key, CAUSEY_TOKEN: token, NO_COLOR: "1" } },
    );
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    await new Promise((resolve) => child.once("close", resolve));
    return output.trim();
  }

  it.each(blocks.map((block) => [/from "([^"]+)"/u.exec(block)?.[1] ?? "", block]))(
    "shows a program for %s that works as it is",
    async (_, block) => {
      const { key } = await make();
      expect(await run(block, key)).toBe(spoken);
    },
  );
});
