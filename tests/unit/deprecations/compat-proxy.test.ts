import { describe, expect, it } from "vitest";
import { compatProxy, type CompatProxyOptions } from "../../../core/deprecations/mod.ts";
import { modernApi } from "../../fakes/deprecations-modern.ts";

const HERE = "http://localhost:9/client/v4";
const clock = "2026-06-01";
const upstream = "https://api.example.com";
const proxy = (
  fetch: NonNullable<CompatProxyOptions["fetch"]>,
): ((request: Request) => Promise<Response>) => compatProxy({ upstream, clock, fetch });

describe("compatProxy()", () => {
  it("asks the upstream in today's form, and answers in the old one", async () => {
    const api = modernApi();
    const asked: Request[] = [];
    const handle = proxy((request) => {
      asked.push(request);
      return api.answer(request);
    });
    const headers = {
      authorization: "Bearer t",
      connection: "x-own",
      "x-own": "1",
      te: "trailers",
    };
    const old = new Request(`${HERE}/zones/z/settings/cname_flattening`, { headers });
    expect(await (await handle(old)).json()).toMatchObject({
      result: { id: "cname_flattening", value: "off" },
    });
    expect(api.calls).toEqual(["GET /zones/z/dns_settings"]);
    const [{ url, headers: sent } = new Request(HERE)] = asked;
    expect(url).toBe(`${upstream}/client/v4/zones/z/dns_settings`);
    expect(sent.get("authorization")).toBe("Bearer t");
    expect([sent.has("x-own"), sent.has("te")]).toEqual([false, false]);
  });

  it("asks first whether the upstream has a path whose meaning is another today", async () => {
    const api = modernApi();
    const handle = proxy(api.answer);
    const old = await handle(new Request(`${HERE}/organizations/o`));
    expect(await old.json()).toMatchObject({ result: { path: "/accounts/o" } });
    expect(api.calls).toEqual(["GET /organizations/o", "GET /accounts/o"]);
    const product = proxy(async () => Response.json({ result: "organization" }));
    const today = await product(new Request(`${HERE}/organizations/o`));
    expect(await today.json()).toEqual({ result: "organization" });
  });

  it("refuses what has no form today, with the replacement", async () => {
    const handle = proxy(modernApi().answer);
    const refused = await handle(new Request(`${HERE}/zones/z/rate_limits`));
    expect([refused.status, await refused.text()]).toEqual([
      410,
      expect.stringContaining("Use GET /zones/{zone_id}/rulesets"),
    ]);
    expect((await handle(new Request(`${HERE}/zones/z/none`))).status).toBe(404);
  });

  it("streams what it does not touch, in both directions", async () => {
    const up = new TransformStream<Uint8Array, Uint8Array>();
    const writer = up.writable.getWriter();
    const handle = proxy(async (request) => new Response(request.body));
    const init = { method: "POST", body: up.readable, duplex: "half" } as RequestInit;
    const answer = await handle(new Request(`${HERE}/zones/z/anything`, init));
    const reader = answer.body!.getReader();
    for (const part of [1, 2, 3]) {
      void writer.write(new Uint8Array([part]));
      expect((await reader.read()).value).toEqual(new Uint8Array([part]));
    }
    void writer.close();
    expect((await reader.read()).done).toBe(true);
  });

  it("passes no header of the upstream's connection on, and none of an encoding that is undone", async () => {
    const handle = proxy(async () => {
      const headers = {
        "content-encoding": "gzip",
        "content-length": "9",
        "x-a": "1",
        trailer: "x",
      };
      return new Response("plain", { headers });
    });
    const { headers } = await handle(new Request(`${HERE}/zones/z/anything`));
    const names = ["content-encoding", "content-length", "trailer", "x-a"];
    expect(names.map((name) => headers.get(name))).toEqual([null, null, null, "1"]);
  });

  it("says which upstream did not answer", async () => {
    const handle = proxy(() => Promise.reject(new TypeError("refused")));
    const answer = await handle(new Request(`${HERE}/zones/z/anything`));
    expect([answer.status, await answer.text()]).toEqual([
      503,
      expect.stringContaining(`The upstream ${upstream} did not answer`),
    ]);
  });

  it("waits for no answer for ever, and for the rest of one as long as its client does", async () => {
    const hanging = compatProxy({
      upstream,
      clock,
      timeoutMs: 20,
      fetch: () => new Promise(() => undefined),
    });
    const late = await hanging(new Request(`${HERE}/zones/z/anything`));
    expect([late.status, await late.text()]).toEqual([503, expect.stringContaining("in time")]);
    let isEnded = false;
    const slow = compatProxy({
      upstream,
      clock,
      timeoutMs: 200,
      fetch: ({ signal }) => {
        signal.addEventListener("abort", () => (isEnded = true));
        const body = new ReadableStream<Uint8Array>({
          async start(controller) {
            await new Promise((resolve) => setTimeout(resolve, 400));
            controller.enqueue(new Uint8Array([1]));
            controller.close();
          },
        });
        return Promise.resolve(new Response(body));
      },
    });
    const answer = await slow(new Request(`${HERE}/zones/z/anything`));
    // Not bytes(): once a server has run in this process, Response is the one of its HTTP library, which lacks it.
    expect([(await answer.arrayBuffer()).byteLength, isEnded]).toEqual([1, false]);
    const leaving = new AbortController();
    const left = await slow(new Request(`${HERE}/zones/z/anything`, { signal: leaving.signal }));
    leaving.abort();
    expect(isEnded).toBe(true);
    await left.body?.cancel();
    for (const timeoutMs of [0, 1.5, Infinity])
      expect(() => compatProxy({ upstream, timeoutMs })).toThrow("timeoutMs");
  });

  it("is told an upstream that is none", () => {
    for (const wrong of ["api.example.com", "https://api.example.com/client/v4", "ftp://x", ""])
      expect(() => compatProxy({ upstream: wrong })).toThrow("is not an origin: write scheme");
  });
});
