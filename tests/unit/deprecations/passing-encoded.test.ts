import { describe, expect, it } from "vitest";
import { type DeprecationsOptions, withDeprecations } from "../../../core/deprecations/mod.ts";

const URL = "http://x/client/v4/zones/z/dns_records";
const HEADERS = { "content-type": "application/json", "content-encoding": "gzip" };

async function gzipped(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const packer = new Response(text).body!.pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packer).arrayBuffer());
}

/** Records that hardly pack, so that half of the bytes are half of the text. */
function listOf(count: number, more: object = {}): string {
  let seed = 7;
  const word = (): string =>
    ((seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) >> 4).toString(36);
  const records = Array.from({ length: count }, (_, n) => ({
    id: `${n}`,
    name: `${word()}${word()}${word()}.example.com`,
    ...more,
  }));
  return JSON.stringify({ result: records, success: true, messages: [] });
}

/** A response whose bytes are pushed by hand. */
function pushed(headers: Record<string, string> = HEADERS, status = 200) {
  let controller: ReadableStreamDefaultController<Uint8Array>;
  let reason: unknown;
  const body = new ReadableStream<Uint8Array>({
    start: (one) => void (controller = one),
    cancel: (why) => void (reason = why),
  });
  return {
    response: new Response(body, { headers, status }),
    push: (bytes: Uint8Array | string) =>
      controller.enqueue(typeof bytes === "string" ? new TextEncoder().encode(bytes) : bytes),
    end: () => controller.close(),
    fail: () => controller.error(new Error("The upstream has gone")),
    reason: () => reason,
  };
}

const answer = (
  response: Response,
  options: DeprecationsOptions = {},
  request: Request = new Request(URL),
): Promise<Response> =>
  withDeprecations({ clock: "2026-01-01", ...options })(request, async () => response);

describe("an encoded response that arrives bit by bit", () => {
  it("streams without its encoding and its old fields", async () => {
    const bytes = await gzipped(listOf(4000, { locked: false, zone_name: "n" }));
    const { response, push, end } = pushed();
    const half = bytes.length / 2;
    push(bytes.subarray(0, half));
    const got = await answer(response);
    expect(got.headers.has("content-encoding")).toBe(false);
    const reader = got.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value ?? "";
    expect(text).toMatch(/^\{"result":\[\{"id":"0"/u);
    push(bytes.subarray(half));
    end();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    expect(text).toBe(listOf(4000));
  });

  it("keeps its bytes, with its headers at once, before the end of what it may carry", async () => {
    const bytes = await gzipped(listOf(10, { locked: false }));
    const { response, push, end } = pushed();
    const got = await answer(response, { clock: "2024-01-01" });
    expect(got.headers.get("content-encoding")).toBe("gzip");
    push(bytes);
    end();
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(bytes);
  });

  it("breaks off where its source does, or its bytes are no such encoding", async () => {
    const bytes = await gzipped(listOf(4000));
    for (const spoil of ["cut", "fail", "noise"] as const) {
      const { response, push, end, fail } = pushed();
      push(bytes.subarray(0, bytes.length / 2));
      const got = await answer(response);
      if (spoil === "noise") push(new Uint8Array(5000).fill(255));
      if (spoil === "fail") fail();
      else end();
      await expect(got.text(), spoil).rejects.toThrow();
    }
  });

  it("passes as it came when it is whole and its bytes are no such encoding", async () => {
    const noise = new Uint8Array(5000).fill(255);
    const got = await answer(new Response(noise, { headers: HEADERS }));
    expect(got.headers.get("content-encoding")).toBe("gzip");
    expect(new Uint8Array(await got.arrayBuffer())).toEqual(noise);
  });

  it("loses its old fields, too, where the runtime has undone the encoding already", async () => {
    const text = listOf(3, { locked: false });
    const whole = await answer(new Response(text, { headers: HEADERS }));
    expect(whole.headers.has("content-encoding")).toBe(false);
    expect(await whole.text()).toBe(listOf(3));
    const { response, push, end } = pushed();
    push(text.slice(0, 20));
    const got = await answer(response);
    push(text.slice(20));
    end();
    expect(await got.text()).toBe(listOf(3));
  });

  it.each([
    ["white space", `\n${listOf(3, { locked: false })}`, `\n${listOf(3)}`],
    ["a list", `[${listOf(3)}]`, `[${listOf(3)}]`],
  ])("is known to be undone where it begins with %s", async (_, text, expected) => {
    for (const encoding of ["gzip", "X-GZIP"]) {
      const headers = { ...HEADERS, "content-encoding": encoding };
      const whole = await answer(new Response(text, { headers }));
      expect(await whole.text()).toBe(expected);
      const { response, push, end } = pushed(headers);
      push("");
      push(text.slice(0, 20));
      const got = await answer(response);
      push(text.slice(20));
      end();
      expect(await got.text()).toBe(expected);
    }
  });

  it("is read behind empty chunks", async () => {
    const text = listOf(3, { locked: false });
    for (const bytes of [text, await gzipped(text)]) {
      const { response, push, end } = pushed();
      push("");
      const got = await answer(response);
      push("");
      push(bytes);
      end();
      expect(await got.text()).toBe(listOf(3));
    }
  });

  it("cancels its source when the client leaves", async () => {
    const bytes = await gzipped(listOf(4000));
    const { response, push, reason } = pushed();
    push(bytes.subarray(0, bytes.length / 2));
    const got = await answer(response);
    const reader = got.body!.getReader();
    await reader.read();
    await reader.cancel("gone");
    await expect.poll(reason).toBeDefined();
  });

  it("is changed whatever its length", async () => {
    const bytes = await gzipped(listOf(90_000, { locked: false }));
    expect(bytes.length).toBeGreaterThan(1024 * 1024);
    const got = await answer(new Response(bytes, { headers: HEADERS }));
    expect(await got.text()).toBe(listOf(90_000));
  });
});

describe("a response that gets a note", () => {
  const listed = new Request(`${URL}?name=a,b`);
  const plain = { "content-type": "application/json" };
  const note = async (text: string): Promise<unknown> => {
    const got = await answer(new Response(text, { headers: plain }), {}, listed);
    return JSON.parse(await got.text());
  };
  const noted = expect.objectContaining({ code: 10414 }) as unknown;

  it("streams, and has the note at the end of its messages", async () => {
    const { response, push, end } = pushed(plain);
    push(`{"result":[{"id":"1"},{"id":"2"},`);
    const got = await answer(response, {}, listed);
    const reader = got.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe(`{"result":[{"id":"1"},{"id":"2"}`);
    push(`{"id":"3","n":12345678901234567890}],"messages":[ {"code":1} ],"success":true}`);
    end();
    let rest = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) rest += read.value;
    expect(rest).toMatch(
      /^,\{"id":"3","n":12345678901234567890\}\],"messages":\[ \{"code":1\},\{"code":10414,.*\} \],"success":true\}$/u,
    );
  });

  it("has it wherever its messages are, once, and is else as it was", async () => {
    expect(await note(`{"messages":[],"result":[{"messages":[]}]}`)).toEqual({
      messages: [noted],
      result: [{ messages: [] }],
    });
    expect(await note(`{"result":[],"messages":[[]]}`)).toEqual({
      result: [],
      messages: [[], noted],
    });
    for (const text of [`{"result":[]}`, `{"messages":{}}`, `[{"messages":[]}]`])
      expect(await note(text)).toEqual(JSON.parse(text));
  });

  it("has it although it is encoded", async () => {
    const bytes = await gzipped(`{"result":[],"messages":[]}`);
    const got = await answer(new Response(bytes, { headers: HEADERS }), {}, listed);
    expect(await got.json()).toEqual({ result: [], messages: [noted] });
  });
});

describe("a failed creation of a record", () => {
  const post = new Request(URL, { method: "POST" });
  const plain = { "content-type": "application/json" };

  it("streams, and has its causes in the place of their chain", async () => {
    const { response, push, end } = pushed(plain, 400);
    push(`{"errors":[{"code":7,"message":"a"},`);
    const got = await answer(response, {}, post);
    const reader = got.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe(`{"errors":[{"code":7,"message":"a"}`);
    const cause = `{"code":9005,"message":"b"}`;
    push(`{"code":1004,"message":"c","error_chain":[${cause},${cause}]}],"success":false}`);
    end();
    let rest = "";
    for (let read = await reader.read(); !read.done; read = await reader.read()) rest += read.value;
    expect(JSON.parse(`{"errors":[{"code":7,"message":"a"}${rest}`)).toEqual({
      errors: [
        { code: 7, message: "a" },
        { code: 9005, message: "b" },
        { code: 9005, message: "b" },
      ],
      success: false,
    });
  });

  it("keeps its bytes and its length where no chain is in it", async () => {
    const text = `{ "errors":[ {"code":9005,"message":"b"} ] }`;
    const headers = { ...plain, "content-length": String(text.length), etag: '"1"' };
    const got = await answer(new Response(text, { status: 400, headers }), {}, post);
    expect(got.headers.get("etag")).toBe('"1"');
    expect(await got.text()).toBe(text);
  });
});

describe("a 404 of a route whose parameters have ended", () => {
  it("says of them what to use, and links it", async () => {
    const body = { errors: [{ code: 7003, message: "No route" }], messages: [] };
    const options = { isMounted: () => false };
    const request = new Request(`${URL}?type=contains:A&name=contains:x`);
    const got = await answer(Response.json(body, { status: 404 }), options, request);
    expect(got.status).toBe(404);
    expect(got.headers.get("link")).toContain("#dns-list-filters.09");
    const { messages } = (await got.json()) as { messages: { message: string }[] };
    expect(messages.map(({ message }) => message).join("\n")).toMatch(
      /name=contains:<v> of GET \/zones\/\{zone_id\}\/dns_records is no longer supported \(dns-list-filters\.01\)\. Instead: name\.contains=<v>/u,
    );
    const before = await answer(
      Response.json(body, { status: 404 }),
      { ...options, clock: "2025-01-01" },
      request,
    );
    expect(await before.json()).toEqual(body);
  });
});
