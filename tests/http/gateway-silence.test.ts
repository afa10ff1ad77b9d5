import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { noBrowser, startTarget, type Target } from "./target.ts";

let target: Target;
let folder: string;
/** Connections that the gateway has closed. */
const closed: string[] = [];
const provider = createServer((request, response) => {
  request.resume();
  response.once("close", () => closed.push(request.url ?? ""));
  if (request.url?.endsWith("/known") === true) {
    response.writeHead(200, { "content-length": 20 }).write("half");
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write('data: {"id":"1"}\n\n');
});

beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const { port } = provider.address() as AddressInfo;
  folder = mkdtempSync(join(tmpdir(), "causey-silence-"));
  const file = join(folder, "causey.json");
  const config = {
    gateway: {
      silenceSeconds: 0.2,
      providers: { openai: { baseUrl: `http://127.0.0.1:${port}` } },
      gateways: { open: { authentication: false } },
    },
  };
  writeFileSync(file, JSON.stringify(config));
  target = await startTarget({ args: ["--config", file], env: noBrowser });
});
afterAll(async () => {
  await target.stop();
  provider.closeAllConnections();
  provider.close();
  rmSync(folder, { recursive: true, force: true });
});

const ask = (path: string): Promise<Response> =>
  fetch(`${target.url}/v1/local/open/openai/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "gpt-4o", stream: true, messages: [] }),
  });

it("a stream that falls silent ends in an event that says so, and frees its provider", async () => {
  closed.length = 0;
  const reader = (await ask("chat/completions")).body?.getReader();
  let text = "";
  await expect(
    (async () => {
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
        if (done) return;
        text += new TextDecoder().decode(value);
      }
    })(),
  ).rejects.toThrow();
  expect(text).toBe(
    'data: {"id":"1"}\n\n\n\nevent: error\ndata: {"type":"error","error":{"type":"timeout_error",' +
      '"code":"provider_silent","message":"The provider sent nothing for 0.2 s"}}\n\n',
  );
  while (closed.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
});

it("an answer of known length that falls silent never looks whole", async () => {
  const outcome = await ask("known")
    .then(
      async (answer) => (answer.status === 200 ? await answer.text() : answer.status),
      () => "broken",
    )
    .catch(() => "broken");
  expect(["broken", 502]).toContain(outcome);
});
