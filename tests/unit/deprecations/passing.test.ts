import { describe, expect, it } from "vitest";
import { type DeprecationsOptions, withDeprecations } from "../../../core/deprecations/mod.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

const URL = "http://x/client/v4/zones/z/dns_records";
const JSON_TYPE = { "content-type": "application/json" };
const modern = (id: number): Record<string, unknown> => ({
  id: `${id}`,
  name: `host${id}.example.com`,
  type: "A",
  meta: { a: [{ b: 1 }] },
});

/** The answer to a request whose host answers with `response`. */
const answer = (response: Response, options: DeprecationsOptions = {}): Promise<Response> =>
  withDeprecations({ clock: "2026-01-01", ...options })(new Request(URL), async () => response);

/** A stream whose chunks are pushed by hand. */
function pushed(): {
  readonly response: Response;
  push(text: string): void;
  end(): void;
  readonly reason: () => unknown;
} {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let reason: unknown;
  const body = new ReadableStream<Uint8Array>({
    start: (one) => void (controller = one),
    cancel: (why) => void (reason = why),
  });
  return {
    response: new Response(body, { headers: JSON_TYPE }),
    push: (text) => controller.enqueue(new TextEncoder().encode(text)),
    end: () => controller.close(),
    reason: () => reason,
  };
}

describe("a response that may carry deprecated fields", () => {
  it.each([
    ["without its old fields", {}],
    ["in its old form", { "api-compat-date": "2024-01-01" }],
  ])("lets other work go on while many records pass %s", async (_, headers) => {
    let pauses = 0;
    const platform = fakePlatform({ now: 0 });
    const sleep = async (ms: number): Promise<void> => void (pauses += ms === 0 ? 1 : 0);
    const handle = withDeprecations({
      clock: "2026-01-01",
      platform: { ...platform, system: { ...platform.system, sleep } },
    });
    const records = Array.from({ length: 8000 }, (_none, id) => ({ ...modern(id), locked: false }));
    const host = async (): Promise<Response> => Response.json({ result: records });
    const response = await handle(new Request(URL, { headers }), host);
    await response.text();
    expect(pauses).toBeGreaterThan(8);
    expect(pauses).toBeLessThan(100);
  });

  it("passes with its bytes and headers when it has none", async () => {
    const text = `{ "result":[ ${JSON.stringify(modern(1))}, {"n":12345678901234567890} ] }`;
    const headers = { ...JSON_TYPE, etag: '"1"', "content-length": String(text.length) };
    const response = await answer(new Response(text, { headers }));
    expect(await response.text()).toBe(text);
    expect(response.headers.get("etag")).toBe('"1"');
    expect(response.headers.get("content-length")).toBe(String(text.length));
    expect(response.headers.has("deprecation")).toBe(false);
  });

  it("streams: each record leaves as soon as it is whole, without its old fields", async () => {
    const { response, push, end } = pushed();
    push(`{"success":true,"result":[{"id":"1","locked":false},`);
    const got = await answer(response);
    expect(got.headers.get("link")).toContain("dns-record-locked.01");
    const reader = got.body!.pipeThrough(new TextDecoderStream()).getReader();
    const next = async (): Promise<string | undefined> => (await reader.read()).value;
    expect(await next()).toBe(`{"success":true,"result":[{"id":"1"}`);
    push(`{"id":"2","zone_id":"z"},{"id":"3","zo`);
    expect(await next()).toBe(`,{"id":"2"}`);
    push(`ne_name":"n","n":12345678901234567890}],"result_info":{"locked":1}}`);
    end();
    expect(await next()).toBe(`,{"id":"3","n":12345678901234567890}],"result_info":{"locked":1}}`);
    expect(await next()).toBeUndefined();
  });

  it("streams modern records at once, and finds an old one that comes late", async () => {
    const { response, push, end } = pushed();
    push(`{"result":[${JSON.stringify(modern(1))},{"id":"2",`);
    const got = await answer(response);
    expect(got.headers.has("deprecation")).toBe(false);
    const reader = got.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe(`{"result":[${JSON.stringify(modern(1))}`);
    push(`"meta":{"x":1},`);
    expect((await reader.read()).value).toBe(`,{"id":"2","meta":{"x":1}`);
    push(`"locked":false}]}`);
    end();
    expect((await reader.read()).value).toBe(`}]}`);
  });

  it("has its headers at once when the body has not begun, and is still without old fields", async () => {
    const { response, push, end } = pushed();
    const got = await answer(response);
    push(`{"result":[{"id":"1","locked":false}]}`);
    end();
    expect(await got.text()).toBe(`{"result":[{"id":"1"}]}`);
    expect(got.headers.has("deprecation")).toBe(false);
  });

  it("passes untouched, with its headers at once, before the end of what it may carry", async () => {
    const { response, push, end } = pushed();
    const got = await answer(response, { clock: "2024-01-01" });
    push(`{"result":[{"id":"1","locked":false}]}`);
    end();
    expect(await got.text()).toBe(`{"result":[{"id":"1","locked":false}]}`);
  });

  it("waits for the beginning of a body whose bytes its headers describe", async () => {
    const { response, push, end } = pushed();
    const text = `{"result":{"locked":false}}`;
    response.headers.set("content-length", String(text.length));
    const got = answer(response);
    push(text);
    end();
    expect((await got).headers.has("content-length")).toBe(false);
    expect(await (await got).text()).toBe(`{"result":{}}`);
  });

  it("fails as its source does when that never begins", async () => {
    const body = new ReadableStream({ pull: () => Promise.reject(new Error("gone")) });
    const got = await answer(new Response(body, { headers: JSON_TYPE })).catch((error) => error);
    if (got instanceof Response) await expect(got.text()).rejects.toThrow();
    else expect(got).toBeInstanceOf(Error);
  });

  it("keeps the field of a record whose beginning has left in another form", async () => {
    const { response, push, end } = pushed();
    push(`{"result":[{ "meta":{"x":1}`);
    const got = await answer(response);
    push(`, "locked":false}]}`);
    end();
    expect(await got.text()).toBe(`{"result":[{ "meta":{"x":1}, "locked":false}]}`);
  });

  it("has any chunks: the same comes out, wherever they are cut", async () => {
    const old = { ...modern(2), zone_id: "z", zone_name: "n", locked: false };
    const whole = JSON.stringify({ result: [modern(1), old, modern(3)], success: true });
    const wanted = JSON.stringify({ result: [modern(1), modern(2), modern(3)], success: true });
    for (let size = 1; size < whole.length; size += 7) {
      const { response, push, end } = pushed();
      for (let at = 0; at < whole.length; at += size) push(whole.slice(at, at + size));
      end();
      expect(await (await answer(response)).text(), `chunks of ${size}`).toBe(wanted);
    }
  });

  it("cancels its source when the client leaves", async () => {
    const { response, push, reason } = pushed();
    push(`{"result":[{"locked":1},`);
    const got = await answer(response);
    await got.body!.cancel("gone");
    expect(reason()).toBe("gone");
  });

  it.each([1, 1200])("outlives a source that fails behind its announced length: %i", async (n) => {
    const text = JSON.stringify({ result: Array.from({ length: n }, (_, id) => modern(id)) });
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (pulls++ === 0) controller.enqueue(new TextEncoder().encode(text));
        else controller.error(new Error("The upstream has gone"));
      },
    });
    const headers = { ...JSON_TYPE, "content-length": String(text.length) };
    expect(await (await answer(new Response(body, { headers }))).text()).toBe(text);
  });

  it("keeps its length when it is long and has none", async () => {
    const text = JSON.stringify({ result: Array.from({ length: 1200 }, (_, id) => modern(id)) });
    expect(text.length).toBeGreaterThan(64 * 1024);
    for (const headers of [JSON_TYPE, { ...JSON_TYPE, "content-length": String(text.length) }]) {
      // In one chunk, as Node and Deno hand out a text.
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text));
          controller.close();
        },
      });
      const response = await answer(new Response(body, { headers }));
      expect(response.headers.get("content-length")).toBe(String(text.length));
      expect(await response.text()).toBe(text);
    }
  });

  it("changes over a megabyte, a page of records", async () => {
    const records = Array.from({ length: 12_000 }, (_, id) => modern(id));
    const text = JSON.stringify({ result: records.map((one) => ({ ...one, locked: false })) });
    expect(text.length).toBeGreaterThan(1024 * 1024);
    const got = await answer(new Response(text, { headers: JSON_TYPE }));
    const sizes: number[] = [];
    let left = "";
    for await (const part of got.body!.pipeThrough(new TextDecoderStream())) {
      sizes.push(part.length);
      left += part;
    }
    expect(JSON.parse(left)).toEqual({ result: records });
    // One turn of work is one slice of the text.
    expect(Math.max(...sizes)).toBeLessThan(80_000);
  });

  it("passes a record over a megabyte as it is, and what follows it", async () => {
    const parts = Array.from({ length: 100 }, (_, i) => [`k${i}`, "x".repeat(11_000)]);
    const long = Object.fromEntries(parts) as Record<string, string>;
    for (const record of [
      { locked: 1, ...long },
      { ...long, locked: 1 },
    ]) {
      const text = JSON.stringify({ result: [record] });
      expect(await (await answer(new Response(text, { headers: JSON_TYPE }))).text()).toBe(text);
    }
  });

  it("changes when it is encoded, and otherwise keeps its bytes", async () => {
    const packed = async (body: unknown): Promise<Uint8Array<ArrayBuffer>> => {
      const packer = new Response(JSON.stringify(body)).body!.pipeThrough(
        new CompressionStream("gzip"),
      );
      return new Uint8Array(await new Response(packer).arrayBuffer());
    };
    const send = async (body: unknown, encoding = "gzip"): Promise<Response> => {
      const bytes = await packed(body);
      return answer(
        new Response(bytes, { headers: { ...JSON_TYPE, "content-encoding": encoding } }),
      );
    };
    const changed = await send({ result: { ...modern(1), locked: false } });
    expect(changed.headers.has("content-encoding")).toBe(false);
    expect(await changed.json()).toEqual({ result: modern(1) });
    const same = await send({ result: modern(1) });
    expect(same.headers.get("content-encoding")).toBe("gzip");
    expect(new Uint8Array(await same.arrayBuffer())).toEqual(await packed({ result: modern(1) }));
    // What unpacks to more than 16 MiB stays packed.
    const bomb = await send({ result: { locked: 1 }, blanks: " ".repeat(17 * 1024 * 1024) });
    expect(bomb.headers.get("content-encoding")).toBe("gzip");
    expect((await send({ result: { locked: 1 } }, "unheard")).headers.get("content-encoding")).toBe(
      "unheard",
    );
  });

  it("is left alone with another status, type, place or bytes that are not JSON", async () => {
    const text = `{"result":{"locked":false}}`;
    const same = async (response: Response, sent: string): Promise<void> =>
      expect(await (await answer(response)).text()).toBe(sent);
    await same(new Response(text, { status: 400, headers: JSON_TYPE }), text);
    await same(new Response(text, { headers: { "content-type": "text/plain" } }), text);
    await same(
      new Response(`{"other":{"locked":1}}`, { headers: JSON_TYPE }),
      `{"other":{"locked":1}}`,
    );
    await same(
      new Response(`{"result":{"locked":`, { headers: JSON_TYPE }),
      `{"result":{"locked":`,
    );
    await same(new Response(`}"locked"`, { headers: JSON_TYPE }), `}"locked"`);
    expect((await answer(new Response(null, { status: 204 }))).status).toBe(204);
  });

  it("keeps the record's fields of another type of record", async () => {
    const records = [
      { type: "SRV", name: "_a._b.c", data: { service: "_a", proto: "_b", name: "c", port: 1 } },
      { type: "NAPTR", data: { service: "x" } },
    ];
    const got = await answer(Response.json({ result: records }));
    expect(await got.json()).toEqual({
      result: [{ type: "SRV", name: "_a._b.c", data: { port: 1 } }, records[1]],
    });
  });
});
