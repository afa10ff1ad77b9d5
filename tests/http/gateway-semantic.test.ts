import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { noBrowser, startTarget, type Target } from "./target.ts";

// A server of its own: the semantic cache would answer requests of other tests too.

const TOKEN = "test-token-with-every-permission-000000";
const folder = mkdtempSync(join(tmpdir(), "causey-semantic-"));
/** Bodies that the provider was asked for. */
const asked: string[] = [];
/** Texts that the embedder was asked for, and those whose request it saw end early. */
const embedded: string[] = [];
const given: string[] = [];
let server: Server;
let target: Target;

/** Every text has one vector, so that only their exact terms tell questions apart; some words make it fail. */
function embeddings(body: string, res: ServerResponse): void {
  const [text = ""] = (JSON.parse(body) as { input: string[] }).input;
  embedded.push(text);
  res.on("close", () => void (res.writableFinished || given.push(text)));
  if (text.includes("hanging")) return;
  const embedding = text.includes("short") ? [1] : [0.6, 0.8];
  res.writeHead(text.includes("broken") ? 500 : 200, { "content-type": "application/json" });
  res.end(JSON.stringify({ data: [{ index: 0, embedding }] }));
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await textOf(req);
  if (req.url?.endsWith("/embeddings") === true) return embeddings(body, res);
  const n = asked.push(body);
  if (body.includes('"stream":true')) {
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(`data: {"n":${n}}\n\n`);
    res.end("data: [DONE]\n\n");
    return;
  }
  res.writeHead(200, { "content-type": "application/json" });
  res.end(JSON.stringify({ n, choices: [] }));
}

beforeAll(async () => {
  server = createServer((req, res) => void answer(req, res));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const configFile = join(folder, "causey.json");
  const config = {
    gateway: {
      providers: { openai: { baseUrl } },
      gateways: { open: { authentication: false }, other: { authentication: false } },
      semanticCache: { timeoutMs: 15_000 },
    },
    search: { embedder: { baseUrl, model: "e", dimensions: 2 } },
  };
  writeFileSync(configFile, JSON.stringify(config));
  const env = { ...noBrowser, CAUSEY_TOKEN: TOKEN };
  target = await startTarget({ args: ["--config", configFile], env });
});
afterAll(async () => {
  await target.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

interface Asked {
  readonly status: string | null;
  readonly similarity: string | null;
  readonly text: string;
}

async function ask(
  content: string,
  more: object,
  headers: Record<string, string> = {},
  gateway = "open",
): Promise<Asked> {
  const response = await fetch(`${target.url}/v1/local/${gateway}/openai/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: "Bearer sk-one",
      "cf-aig-cache-ttl": "60",
      ...headers,
    },
    body: JSON.stringify({ model: "m", ...more, messages: [{ role: "user", content }] }),
  });
  expect(response.status).toBe(200);
  return {
    status: response.headers.get("cf-aig-cache-status"),
    similarity: response.headers.get("gw-aig-cache-similarity"),
    text: await response.text(),
  };
}

const miss = { status: "MISS", similarity: null };
const near = { status: "HIT", similarity: "1.0000" };
/** What no other test sends. */
const fresh = () => ({ user: randomUUID() });

it("answers a question in other words from the cache, with the configured embedder", async () => {
  const more = fresh();
  const first = await ask("How do I reset my password?", more);
  const before = asked.length;
  const event = randomUUID();
  const headers = { "cf-aig-event-id": event };
  expect(await ask("how can I reset the password", more, headers)).toEqual({
    ...near,
    text: first.text,
  });
  expect(asked).toHaveLength(before);
  expect(
    await ask("how can I reset the password", more, { "gw-aig-semantic-cache": "false" }),
  ).toMatchObject(miss);
  const logs = `${target.url}/client/v4/accounts/local/ai-gateway/gateways/open/logs?filters.key=event_id&filters.operator=eq&filters.value=${event}`;
  await expect
    .poll(async () => {
      const response = await fetch(logs, { headers: { authorization: `Bearer ${TOKEN}` } });
      return ((await response.json()) as { result: object[] }).result;
    })
    .toMatchObject([{ cached: true, cost: 0, success: true }]);
});

it("replays a stream", async () => {
  const more = { ...fresh(), stream: true };
  const first = await ask("How do I reset my password?", more);
  expect(first.text).toContain("[DONE]");
  expect(await ask("how can I reset the password", more)).toEqual({ ...near, text: first.text });
});

it("answers nobody else's question, and no other one", async () => {
  const more = fresh();
  const question = "How do I reset my password?";
  await ask(question, more);
  const others = [
    await ask("How do I not reset my password?", more),
    await ask("How do I reset my 2 password?", more),
    await ask("how can I reset the password", { ...more, temperature: 0 }),
    await ask("how can I reset the password", { ...more, model: "n" }),
    await ask("how can I reset the password", more, { authorization: "Bearer sk-two" }),
    await ask("how can I reset the password", more, {}, "other"),
  ];
  for (const other of others) expect(other).toMatchObject(miss);
});

it("goes on without an embedder that fails or answers amiss", async () => {
  const more = fresh();
  for (const fault of ["broken", "short"]) {
    const question = `How do I repair a ${fault} chair?`;
    expect(await ask(question, more)).toMatchObject(miss);
    expect(embedded).toContain(question);
    expect(await ask(question, more)).toEqual({ ...miss, status: "HIT", text: expect.any(String) });
  }
});

it("has an embedder stop that is slower than its client, or than it may be", async () => {
  const question = "How do I repair a hanging chair?";
  const request = httpRequest(`${target.url}/v1/local/open/openai/chat/completions`, {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", "cf-aig-cache-ttl": "60" },
  });
  request.on("error", () => undefined);
  request.end(JSON.stringify({ ...fresh(), messages: [{ role: "user", content: question }] }));
  await expect.poll(() => embedded).toContain(question);
  request.socket?.resetAndDestroy();
  await expect.poll(() => given).toContain(question);
});

it("has the embedder asked on after many clients left in the middle of it", async () => {
  const questions = Array.from({ length: 10 }, (_, n) => `How do I mend a hanging lamp ${n}?`);
  for (const question of questions) {
    const request = httpRequest(`${target.url}/v1/local/open/openai/chat/completions`, {
      method: "POST",
      agent: false,
      headers: { "content-type": "application/json", "cf-aig-cache-ttl": "60" },
    });
    request.on("error", () => undefined);
    request.end(JSON.stringify({ ...fresh(), messages: [{ role: "user", content: question }] }));
    await expect.poll(() => embedded).toContain(question);
    request.socket?.resetAndDestroy();
    await expect.poll(() => given).toContain(question);
  }
  const more = fresh();
  await ask("How do I mend the lamp?", more);
  expect(await ask("how do I mend a lamp", more)).toMatchObject(near);
});

it("identical requests at the same time ask the provider once", async () => {
  const more = fresh();
  const before = asked.length;
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => ask("Why is snow white?", more)),
  );
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(asked).toHaveLength(before + 1);
  expect(await ask("why is the snow white", more)).toMatchObject(near);
});
