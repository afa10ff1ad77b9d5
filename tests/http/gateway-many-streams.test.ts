import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { expect, inject, it } from "vitest";

// Bun's fetch has 256 requests under way unless it is told otherwise: the 257th client would wait for one of the others.
const STREAMS = 300;

const url = new URL(`${inject("baseUrl")}/v1/${inject("accountId")}/open/openai/chat/completions`);

it("the gateway forwards 300 streams at once, none of which has ended", async () => {
  const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
  const open = async (): Promise<IncomingMessage> => {
    const headers = { "content-type": "application/json", "x-test-mode": "hang" };
    const outgoing = request(url, { method: "POST", headers, agent });
    outgoing.end(JSON.stringify({ model: "m", stream: true, messages: [] }));
    const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
    outgoing.on("error", () => undefined);
    incoming.on("error", () => undefined);
    const [first] = (await once(incoming, "data")) as [Buffer];
    expect(first.toString()).toContain('{"first":true}');
    return incoming;
  };
  const streams: IncomingMessage[] = [];
  while (streams.length < STREAMS)
    streams.push(...(await Promise.all(Array.from({ length: 50 }, open))));
  expect(streams.some((stream) => stream.complete)).toBe(false);
  for (const stream of streams) stream.destroy();
  agent.destroy();
});
