import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { expect, inject, it } from "vitest";
import type { Seen } from "./upstream.ts";

const base = inject("baseUrl");
const upstream = inject("upstreamUrl");
const account = inject("accountId");

const chat = JSON.stringify({ model: "test-model", messages: [{ role: "user", content: "hi" }] });

const seen = async (id: string): Promise<Seen[]> =>
  (await (await fetch(`${upstream}/__seen/${id}`)).json()) as Seen[];

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** A request over a connection that the test closes as an ordinary client does, without a reset. */
function open(headers: Readonly<Record<string, string>>): Socket {
  const { port, hostname } = new URL(base);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  const lines = Object.entries({
    host: "localhost",
    "content-type": "application/json",
    "content-length": String(chat.length),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `POST /v1/${account}/open/openai/chat/completions HTTP/1.1\r\n${lines.join("")}\r\n${chat}`,
  );
  return socket;
}

async function rowsOf(event: string): Promise<Record<string, unknown>[]> {
  const query = `filters.key=event_id&filters.operator=eq&filters.value=${event}&per_page=50`;
  const url = `${base}/client/v4/accounts/${account}/ai-gateway/gateways/open/logs?${query}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${inject("token")}` } });
  return ((await answer.json()) as { result: Record<string, unknown>[] }).result;
}

it("clients that close before the answer begins leave rows, and no request to the provider", async () => {
  const [id, event] = [randomUUID(), randomUUID()];
  const headers = {
    "x-test-mode": "never",
    "x-test-id": id,
    "cf-aig-event-id": event,
    // Where the closing is not noticed, this ends the request.
    "cf-aig-request-timeout": "5000",
  };
  const sockets = Array.from({ length: 50 }, () => open(headers));
  await until(async () => (await seen(id)).length === 50);
  for (const socket of sockets) socket.destroy();
  await until(async () => (await seen(id)).every(({ aborted }) => aborted));
  await until(async () => (await rowsOf(event)).length === 50);
  for (const row of await rowsOf(event)) expect(row).toMatchObject({ success: false });
});

it("request-timeout alone ends a request, whose answer says so", async () => {
  const id = randomUUID();
  const answer = await fetch(`${base}/v1/${account}/open/openai/chat/completions`, {
    method: "POST",
    body: chat,
    headers: {
      "content-type": "application/json",
      "x-test-mode": "never",
      "x-test-id": id,
      "cf-aig-request-timeout": "1500",
    },
  });
  expect(answer.status).toBe(502);
  expect(await answer.text()).toContain("No answer began within 1500 ms");
  await until(async () => (await seen(id)).every(({ aborted }) => aborted));
});
