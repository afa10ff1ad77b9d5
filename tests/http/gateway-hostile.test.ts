import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { describe, expect, inject, it } from "vitest";
import { WebSocket } from "ws";
import { gatewayToken } from "./prepare-target.ts";
import type { SocketSeen } from "./realtime-upstream.ts";
import type { Seen } from "./upstream.ts";

const base = inject("baseUrl");
const upstream = inject("upstreamUrl");
const account = inject("accountId");
const gateway = `${base}/v1/${account}`;
const TOKEN = { "cf-aig-authorization": `Bearer ${gatewayToken}` };

const seen = async (id: string): Promise<Seen[]> =>
  (await (await fetch(`${upstream}/__seen/${id}`)).json()) as Seen[];

/** Sends one request as it stands; resolves to the head of the answer. */
function raw(head: string, body = ""): Promise<string> {
  const { port, hostname } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let answer = "";
    socket.on("error", reject);
    socket.on("close", () => resolve(answer));
    socket.on("data", (chunk: Buffer) => {
      answer += chunk.toString("latin1");
      if (answer.includes("\r\n\r\n")) socket.destroy();
    });
    socket.write(`${head}\r\nhost: localhost\r\nconnection: close\r\n\r\n${body}`);
  });
}

describe("the caller's own gateway token", () => {
  it("never arrives at a provider in a body that streams through", async () => {
    const id = randomUUID();
    const half = gatewayToken.length / 2;
    const pieces = [
      `${"x".repeat(70_000)}${gatewayToken.slice(0, half)}`,
      gatewayToken.slice(half),
    ];
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(piece));
      },
    });
    const init = { method: "POST", body, duplex: "half" } as const;
    const headers = { ...TOKEN, "content-type": "audio/wav", "x-test-id": id };
    const answer = await fetch(`${gateway}/guarded/openai/audio`, {
      ...init,
      headers,
    });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringContaining("holds the gateway token"),
    ]);
    // workerd ends a body that breaks off as if it were whole; the token is not in it.
    for (const request of await seen(id))
      expect(request.body).not.toContain(gatewayToken.slice(half));
  });

  it.each([
    ["a body", "openai/chat/completions", JSON.stringify({ user: gatewayToken })],
    ["a path", `openai/files/${gatewayToken}`, "{}"],
    ["a path, escaped", `openai/%67${gatewayToken.slice(1)}`, "{}"],
    ["a step", "", JSON.stringify([{ provider: "openai", endpoint: "x", query: [gatewayToken] }])],
  ])("is refused in %s, and not repeated", async (_, path, body) => {
    const id = randomUUID();
    const headers = { ...TOKEN, "content-type": "application/json", "x-test-id": id };
    const answer = await fetch(`${gateway}/guarded/${path}`, { method: "POST", body, headers });
    const text = await answer.text();
    expect([answer.status, text.includes(gatewayToken)]).toEqual([400, false]);
    expect(await seen(id)).toEqual([]);
  });

  it("is refused in a message of the universal WebSocket that it opened", async () => {
    const socket = new WebSocket(`${gateway.replace(/^http/, "ws")}/guarded`, [
      `cf-aig-authorization.${gatewayToken}`,
    ]);
    const frame = await new Promise<string>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("message", (data: Buffer) => resolve(data.toString()));
      socket.on("open", () => {
        const request = { provider: "openai", endpoint: "x", query: { user: gatewayToken } };
        socket.send(JSON.stringify({ type: "universal.create", request }));
      });
    });
    socket.close();
    expect(JSON.parse(frame)).toMatchObject({
      type: "universal.error",
      metadata: { status: 400 },
      errors: [{ message: expect.stringContaining("holds the gateway token") }],
    });
  });

  it.each([
    ["text", `It is ${gatewayToken}!`],
    ["bytes", Buffer.from(`\0${gatewayToken}\xff`, "latin1")],
  ])("closes a provider's WebSocket with 1008 in a message of %s", async (_, message) => {
    const id = randomUUID();
    const url = `${gateway.replace(/^http/, "ws")}/guarded/openai?mode=echo&test=${id}`;
    const socket = new WebSocket(url, { headers: TOKEN });
    const code = await new Promise<number>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", resolve);
      socket.on("open", () => socket.send(message));
    });
    expect(code).toBe(1008);
    const answer = await fetch(`${upstream}/__sockets/${id}`);
    const [connection] = (await answer.json()) as SocketSeen[];
    expect(connection?.bytes).toBe(0);
  });
});

describe("odd requests", () => {
  it("TRACE reaches no provider, which would send the stored key back", async () => {
    const id = randomUUID();
    const answer = await raw(
      `TRACE /v1/${account}/open/groq/models HTTP/1.1\r\nx-test-id: ${id}\r\nx-test-mode: mirror`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 4/);
    expect(await seen(id)).toEqual([]);
  });

  it("a long search and a filter of many values find what there is", async () => {
    const management = `${base}/client/v4/accounts/${account}/ai-gateway`;
    const headers = { authorization: `Bearer ${inject("token")}` };
    const values = Array.from({ length: 80 }, (_, i) => `filters.value=m${i}`).join("&");
    for (const path of [
      `/gateways?search=${"g".repeat(64)}`,
      `/gateways/open/logs?search=${"s".repeat(200)}`,
      `/gateways/open/logs?filters.key=model&filters.operator=contains&${values}`,
    ]) {
      const answer = await fetch(management + path, { headers });
      expect([answer.status, ((await answer.json()) as { result: unknown }).result]).toEqual([
        200,
        [],
      ]);
    }
  });
});
