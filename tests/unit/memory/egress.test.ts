import { describe, expect, it } from "vitest";
import { checkedTransport, targetCheck } from "../../../adapters/memory/egress.ts";
import { checkedDial, standardDial } from "../../../adapters/memory/sockets.ts";
import { urlGuard } from "../../../adapters/shared/egress/url-guard.ts";
import type { DialRequest } from "../../../core/net/duplex.ts";
import type { OutboundRequest, Transport } from "../../../core/ports.ts";

const asked: string[] = [];
const outside: Transport = {
  send({ url }) {
    asked.push(url);
    return Promise.resolve({ status: 204, headers: [], body: null });
  },
};
const names: Record<string, readonly string[]> = {
  "public.test": ["93.184.215.14"],
  "private.test": ["10.0.0.1"],
  "mixed.test": ["93.184.215.14", "127.0.0.1"],
  "none.test": [],
};
const resolve = (name: string): Promise<readonly string[]> => {
  const found = names[name];
  return found === undefined ? Promise.reject(new Error("NXDOMAIN")) : Promise.resolve(found);
};
const get = (url: string): OutboundRequest => ({ method: "GET", url, headers: [] });

const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "passed",
    (error: unknown) => (error as { reason: unknown }).reason,
  );

describe("egress of memoryPlatform()", () => {
  const plain = checkedTransport(outside, [], undefined);
  const resolving = checkedTransport(outside, ["allowed.test"], resolve);

  it.each([
    ["http://127.0.0.1/", "refused"],
    ["http://[::1]/", "refused"],
    ["http://localhost/", "refused"],
    ["file:///etc/passwd", "refused"],
    ["http://private.test/", "passed"],
    ["http://public.test/", "passed"],
  ])("without a resolver %s is %s, by its text", async (url, reason) => {
    expect(await reasonOf(plain.send(get(url)))).toBe(reason);
  });

  it.each([
    ["http://public.test/", "passed"],
    ["http://private.test/", "refused"],
    ["http://mixed.test/", "refused"],
    ["http://none.test/", "unreachable"],
    ["http://unknown.test/", "unreachable"],
    ["http://allowed.test/", "passed"],
    ["http://127.0.0.1/", "refused"],
  ])("with a resolver %s is %s", async (url, reason) => {
    expect(await reasonOf(resolving.send(get(url)))).toBe(reason);
  });

  it("sends nothing to what it refuses, and says so beforehand", () => {
    expect(asked).not.toContain("http://mixed.test/");
    expect(plain.refusal?.("http://localhost/")).toContain("not a public address");
  });

  it("guards WebSockets that a caller steers, whoever opens them", async () => {
    const dialled: string[] = [];
    const dial = checkedDial(
      (request) => {
        dialled.push(request.url);
        return Promise.reject(new Error("enough"));
      },
      targetCheck(urlGuard([]), resolve),
    );
    const request: DialRequest = {
      url: "ws://private.test/",
      headers: [],
      reach: "public",
      timeoutMs: 1000,
      signal: new AbortController().signal,
    };
    expect(await reasonOf(dial(request))).toBe("refused");
    await dial({ ...request, reach: "configured" }).catch(() => undefined);
    expect(dialled).toEqual(["ws://private.test/"]);
  });

  it("opens no WebSocket without the headers that it should send", async () => {
    const { signal } = new AbortController();
    const request: DialRequest = {
      url: "ws://127.0.0.1:9/",
      headers: [["authorization", "Bearer key"]],
      reach: "configured",
      timeoutMs: 1000,
      signal,
    };
    await expect(standardDial(request)).rejects.toThrow("pass memoryPlatform({ dialWebSocket })");
    expect(await reasonOf(standardDial({ ...request, headers: [] }))).toBe("unreachable");
  });
});
