import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Resolve } from "../../adapters/shared/egress/egress-resolve.ts";
import { egressTransport } from "../../adapters/shared/egress/egress-transport.ts";
import type { InboundResponse, OutboundRequest } from "../../core/ports.ts";

const loopback = { address: "127.0.0.1", family: 4 } as const;
const elsewhere = { address: "93.184.215.14", family: 4 } as const;

let site: Server;
let port = 0;
const hits: string[] = [];

beforeAll(async () => {
  site = createServer((request, response) => {
    hits.push(request.url ?? "");
    if (request.url === "/hang") return void response.writeHead(200).write("a");
    if (request.url === "/cut") {
      response.writeHead(200, { "content-length": "100" }).write("abc");
      return void setTimeout(() => request.socket.destroy(), 50);
    }
    if (request.url === "/redirect")
      return void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    if (request.url === "/gzip") {
      response.writeHead(200, { "content-encoding": "gzip", "set-cookie": ["a=1", "b=2"] });
      return void response.end(gzipSync("hello"));
    }
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () =>
      response.end(JSON.stringify({ url: request.url, headers: request.headers, body })),
    );
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  port = (site.address() as AddressInfo).port;
});

afterAll(() => {
  site.closeAllConnections();
  site.close();
});

const textOf = async ({ body }: InboundResponse): Promise<string> =>
  new Response(body as BodyInit | null).text();

describe("egressTransport()", () => {
  const open = egressTransport({
    allowHosts: ["site.test"],
    resolve: () => Promise.resolve([loopback]),
  });
  const send = (path: string, more: Partial<OutboundRequest> = {}): Promise<InboundResponse> =>
    open.send({ method: "GET", url: `http://site.test:${port}${path}`, headers: [], ...more });

  it("dials the address that was checked, under the name that was asked for", async () => {
    const body = new TextEncoder().encode("hi");
    const answer = await send("/a?b", { method: "POST", headers: [["x-a", "1"]], body });
    const seen = JSON.parse(await textOf(answer)) as {
      headers: Record<string, string>;
      body: string;
      url: string;
    };
    expect(seen).toMatchObject({
      url: "/a?b",
      body: "hi",
      headers: { host: `site.test:${port}`, "x-a": "1" },
    });
  });

  it("breaks off an answer that falls silent, behind the last bytes that its request has for it", async () => {
    const last = (): Uint8Array<ArrayBuffer> => new TextEncoder().encode("late");
    const { body } = await send("/hang", { silence: { ms: 50, last } });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    const texts: string[] = [];
    const rest = (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        texts.push(new TextDecoder().decode(value));
      }
    })();
    await expect(rest).rejects.toMatchObject({ reason: "broken" });
    expect(texts).toEqual(["a", "late"]);
  });

  it("asks the resolver once and uses that answer, whatever it would say next", async () => {
    const answers = [[elsewhere], [loopback]];
    let asked = 0;
    const rebinding: Resolve = () => Promise.resolve(answers[asked++] ?? []);
    const transport = egressTransport({ resolve: rebinding });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 300);
    const before = hits.length;
    await expect(
      transport.send({
        method: "GET",
        url: `http://rebind.test:${port}/`,
        headers: [],
        signal: stop.signal,
      }),
    ).rejects.toMatchObject({ name: "TransportError" });
    expect([asked, hits.length]).toEqual([1, before]);
  });

  it.each([
    ["a private answer", [loopback]],
    ["a mixed answer", [elsewhere, loopback]],
    ["a mapped private answer", [{ address: "::ffff:127.0.0.1", family: 6 as const }]],
    ["the metadata address", [{ address: "169.254.169.254", family: 4 as const }]],
  ])("refuses %s", async (_name, addresses) => {
    const transport = egressTransport({ resolve: () => Promise.resolve(addresses) });
    const before = hits.length;
    const pending = transport.send({
      method: "GET",
      url: `http://evil.test:${port}/`,
      headers: [],
    });
    await expect(pending).rejects.toMatchObject({ reason: "refused" });
    expect(hits).toHaveLength(before);
  });

  it.each([
    "http://127.0.0.1/",
    "http://[::1]/",
    "http://0x7f.1/",
    "file:///etc/passwd",
    "http://u:p@site.test/",
  ])("refuses %s", (url) =>
    expect(open.send({ method: "GET", url, headers: [] })).rejects.toMatchObject({
      reason: "refused",
    }),
  );

  it("follows no redirect, and hands encoded bytes over as they are", async () => {
    expect((await send("/redirect")).status).toBe(302);
    const answer = await send("/gzip");
    expect(
      answer.headers.filter(([name]) => name === "set-cookie").map(([, value]) => value),
    ).toEqual(["a=1", "b=2"]);
    const bytes = new Uint8Array(await new Response(answer.body as BodyInit).arrayBuffer());
    expect(Array.from(bytes.slice(0, 2))).toEqual([0x1f, 0x8b]);
  });

  it("ends on abort, before and in the answer, and tells a broken answer", async () => {
    const stop = new AbortController();
    const answer = await send("/hang", { signal: stop.signal });
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    stop.abort();
    await expect(reader.read()).rejects.toMatchObject({ reason: "aborted" });
    await expect(send("/a", { signal: AbortSignal.abort() })).rejects.toMatchObject({
      reason: "aborted",
    });
    await expect(textOf(await send("/cut"))).rejects.toMatchObject({ reason: "broken" });
  });

  it("says when there is nobody, and when there is no such name", async () => {
    const nobody = open.send({ method: "GET", url: "http://site.test:9/", headers: [] });
    await expect(nobody).rejects.toMatchObject({ reason: "unreachable" });
    const nameless = egressTransport({ resolve: () => Promise.reject(new Error("ENOTFOUND")) });
    await expect(
      nameless.send({ method: "GET", url: "http://nx.test/", headers: [] }),
    ).rejects.toMatchObject({ reason: "unreachable" });
  });
});
