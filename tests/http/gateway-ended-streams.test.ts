import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { noBrowser, startTarget, type Target } from "./target.ts";

let target: Target;
let folder: string;
let closed = 0;
const token = "operator-token-0123456789";
/** A provider whose streams never end. */
const provider = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = { choices: [{ index: 0, delta: { content: "word " } }] };
  const timer = setInterval(() => response.write(`data: ${JSON.stringify(chunk)}\n\n`), 100);
  response.once("close", () => {
    clearInterval(timer);
    closed += 1;
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const { port } = provider.address() as AddressInfo;
  folder = mkdtempSync(join(tmpdir(), "causey-ended-"));
  const file = join(folder, "causey.json");
  const openai = { baseUrl: `http://127.0.0.1:${port}`, apiKey: "sk-operator" };
  const tokens = [{ token, permissions: ["*"], accounts: ["*"] }];
  writeFileSync(file, JSON.stringify({ tokens, gateway: { providers: { openai } } }));
  target = await startTarget({ args: ["--config", file], env: noBrowser });
});
afterAll(async () => {
  await target.stop();
  provider.closeAllConnections();
  provider.close();
  rmSync(folder, { recursive: true, force: true });
});

const manage = async (method: string, path: string, body: object): Promise<Response> =>
  fetch(`${target.url}/client/v4/accounts/local/ai-gateway/virtual-keys${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** Reads a stream until it breaks off, and calls `onFirst` after its first bytes. */
async function readUntilBroken(response: Response, onFirst: () => Promise<unknown>) {
  let text = "";
  let isFirst = true;
  const reader = response.body?.getReader();
  try {
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return { text, isBroken: false };
      text += new TextDecoder().decode(value);
      if (isFirst) await onFirst();
      isFirst = false;
    }
  } catch {
    return { text, isBroken: true };
  }
}

const asked: readonly (readonly [string, string])[] = [
  ["passed on", "openai/chat/completions"],
  ["translated", "compat/messages"],
];

it.concurrent.each(asked)(
  "a stream that is %s ends with an event that says why when its key is disabled, and frees its provider",
  async (_, path) => {
    const made = await manage("POST", "", { name: path });
    expect(made.status).toBe(200);
    const { result } = (await made.json()) as { result: { id: string; key: string } };
    const model = path.startsWith("compat") ? "openai/gpt-4o" : "gpt-4o";
    const response = await fetch(`${target.url}/v1/local/default/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${result.key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model,
        stream: true,
        max_tokens: 9,
        messages: [{ role: "user", content: path }],
      }),
    });
    expect(response.status).toBe(200);
    const { text, isBroken } = await readUntilBroken(response, () =>
      manage("PATCH", `/${result.id}`, { enabled: false }),
    );
    expect(isBroken).toBe(true);
    expect(text).toMatch(
      /event: error\ndata: \{"type":"error","error":\{"type":"authentication_error",(?:"code":401,)?"message":"Unauthorized: the virtual key is disabled"\}\}\n\n$/,
    );
  },
  60_000,
);

it("each of them has left its provider", async () => {
  await eventually(() => closed >= asked.length, "the provider's streams are closed");
});
