import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { host } from "../config/shared.ts";
import { undiciTransport } from "../../adapters/shared/http/undici-transport.ts";

const elsewhere = host === "bun" ? "Bun sends through its own fetch" : undefined;

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function upstream(answer: (outgoing: ServerResponse, path: string) => void): Promise<string> {
  const server: Server = createServer((incoming, outgoing) => {
    incoming.resume();
    answer(outgoing, incoming.url ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function transport(silenceMs?: number): ReturnType<typeof undiciTransport> {
  const made = undiciTransport(silenceMs);
  closing.push(() => made.close());
  return made;
}

describe("undiciTransport()", () => {
  itUnless(elsewhere)("gives up on an upstream that is silent before its answer", async () => {
    const url = await upstream(() => undefined);
    const sent = transport(100).send({ method: "GET", url: `${url}/`, headers: [] });
    await expect(sent).rejects.toMatchObject({ reason: "unreachable" });
  });

  itUnless(elsewhere)("breaks off an answer that falls silent", async () => {
    const url = await upstream((outgoing) => outgoing.write("first"));
    const { body } = await transport(100).send({ method: "GET", url: `${url}/`, headers: [] });
    await expect(new Response(body as ReadableStream).text()).rejects.toMatchObject({
      reason: "broken",
    });
  });

  for (const [path, expected] of [
    ["/v1/models/a:b?alt=sse&x=1", "/v1/models/a:b?alt=sse&x=1"],
    ["/a%20b/%2Fc", "/a%20b/%2Fc"],
    ["/a/../b/./c", "/b/c"],
    ["/a/%2e%2e/b", "/b"],
    ["/ä?q=ü", "/%C3%A4?q=%C3%BC"],
    ["/a?q='#fragment", "/a?q=%27"],
  ] as const) {
    itUnless(elsewhere)(`sends ${path} as a URL parser writes it`, async () => {
      const url = await upstream((outgoing, asked) => outgoing.end(asked));
      const request = { method: "GET", url: `${url}${path}`, headers: [] };
      const { body } = await transport().send(request);
      expect(new TextDecoder().decode(body as Uint8Array)).toBe(expected);
    });
  }
});
