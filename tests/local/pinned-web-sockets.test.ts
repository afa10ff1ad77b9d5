import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { PATIENCE_MS } from "../cases/eventually.ts";
import type { Resolve } from "../../adapters/shared/egress/egress-resolve.ts";
import { wsAsksLookup } from "../../adapters/shared/egress/dial.ts";
import { webSocketDialler } from "../../adapters/shared/egress/dial.ts";
import type { Dialled, DialRequest } from "../../core/net/duplex.ts";

const loopback = { address: "127.0.0.1", family: 4 } as const;
const elsewhere = { address: "93.184.215.14", family: 4 } as const;

let site: Server;
let port = 0;
/** The Host headers of the handshakes that arrived. */
const hosts: string[] = [];

beforeAll(async () => {
  site = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  site.on("upgrade", (request, socket, head) => {
    hosts.push(request.headers.host ?? "");
    sockets.handleUpgrade(request, socket, head, (open) => {
      open.send("hello");
    });
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  port = (site.address() as AddressInfo).port;
});
afterAll(() => {
  site.closeAllConnections();
  site.close();
});

function dial(
  resolve: Resolve,
  url: string,
  more: Partial<DialRequest> = {},
  allowHosts: readonly string[] = [],
): Promise<Dialled> {
  const { signal } = new AbortController();
  return webSocketDialler({ allowHosts, resolve })({
    url,
    headers: [],
    reach: "public",
    timeoutMs: PATIENCE_MS,
    signal,
    ...more,
  });
}

describe("a WebSocket to an address that a caller steers", () => {
  it("goes to the address that was checked, under the name that was asked for", async () => {
    const dialled = await dial(() => Promise.resolve([loopback]), `ws://site.test:${port}/`, {}, [
      "site.test",
    ]);
    if ("refusal" in dialled) throw new Error("Refused");
    expect(await dialled.duplex.receive()).toBe("hello");
    expect(hosts.at(-1)).toBe(`site.test:${port}`);
    dialled.duplex.close();
    await dialled.duplex.closed;
  });

  it("asks the resolver once, and goes nowhere else when the name changes its address", async () => {
    const answers = [[elsewhere], [loopback]];
    let asked = 0;
    const rebinding: Resolve = () => Promise.resolve(answers[asked++] ?? []);
    const before = hosts.length;
    const work = dial(rebinding, `ws://rebind.test:${port}/`, { timeoutMs: 300 });
    await expect(work).rejects.toMatchObject({ reason: "unreachable" });
    expect([asked, hosts.length]).toEqual([1, before]);
  });

  it.each([
    ["a private answer", [loopback]],
    ["a mixed answer", [elsewhere, loopback]],
    ["a mapped private answer", [{ address: "::ffff:127.0.0.1", family: 6 as const }]],
    ["the metadata address", [{ address: "169.254.169.254", family: 4 as const }]],
  ])("is refused for %s", async (_name, addresses) => {
    const before = hosts.length;
    const work = dial(() => Promise.resolve(addresses), `ws://evil.test:${port}/`);
    await expect(work).rejects.toMatchObject({ reason: "refused" });
    expect(hosts).toHaveLength(before);
  });

  it.each(["ws://127.0.0.1/", "ws://[::1]/", "ws://0x7f.1/", "wss://u:p@site.test/"])(
    "is refused for %s",
    async (url) => {
      const work = dial(() => Promise.resolve([elsewhere]), url);
      await expect(work).rejects.toMatchObject({ reason: "refused" });
    },
  );

  it("waits for a slow resolver no longer than for anything else, and not after an abort", async () => {
    const never: Resolve = () => new Promise(() => undefined);
    const late = dial(never, "wss://slow.test/", { timeoutMs: 50 });
    await expect(late).rejects.toMatchObject({ reason: "late" });
    const control = new AbortController();
    const work = dial(never, "wss://slow.test/", { signal: control.signal });
    control.abort();
    await expect(work).rejects.toMatchObject({ reason: "aborted" });
    const { signal } = control;
    await expect(dial(never, "wss://slow.test/", { signal })).rejects.toMatchObject({
      reason: "aborted",
    });
  });

  it("needs a client that asks for addresses, which this runtime's is", async () => {
    expect(await wsAsksLookup()).toBe(true);
  });
});
