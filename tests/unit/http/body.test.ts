import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { utf8 } from "../../../core/crypto/encoding.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import type { System } from "../../../core/ports.ts";
import { parse, parseJson, readBytes, readJson } from "../../../core/http/fields/body.ts";

const MB = 1024 * 1024;

const post = (body: BodyInit, headers: Record<string, string> = {}): Request =>
  new Request("http://x/", { method: "POST", body, headers, duplex: "half" } as RequestInit);

/** A body that counts what was taken from it and notes whether it was cancelled. */
function endless(chunk: number): {
  stream: ReadableStream<Uint8Array>;
  taken: number;
  cancelled: boolean;
} {
  const state = {
    taken: 0,
    cancelled: false,
    stream: new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          state.taken += chunk;
          controller.enqueue(new Uint8Array(chunk));
        },
        cancel() {
          state.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    ),
  };
  return state;
}

const failure = async (work: Promise<unknown>): Promise<ApiError> => {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
};

describe("readBytes()", () => {
  it("joins chunks in order and accepts exactly the limit", async () => {
    expect(await readBytes(post("hello"), 5)).toEqual(utf8("hello"));
    const chunks = ["he", "", "llo"].map(utf8);
    const stream = new ReadableStream({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    });
    expect(await readBytes(post(stream), 5)).toEqual(utf8("hello"));
    expect(await readBytes(new Request("http://x/"), 0)).toHaveLength(0);
  });

  it("stops an endless body soon after the limit, with 413, and cancels it", async () => {
    const body = endless(1000);
    const error = await failure(readBytes(post(body.stream), 10_000));
    expect([error.status, error.code]).toEqual([413, 413]);
    expect(body.taken).toBeLessThan(20_000);
    expect(body.cancelled).toBe(true);
  });

  it("believes a declared length that is over the limit without reading", async () => {
    const body = endless(1000);
    const request = post(body.stream, { "content-length": "10001" });
    // Some runtimes drop the header from a Request that a script makes.
    if (!request.headers.has("content-length")) return;
    expect((await failure(readBytes(request, 10_000))).status).toBe(413);
    expect(body.taken).toBe(0);
  });
});

describe("a body that breaks off", () => {
  it("is 400, not an error of ours", async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(new Error("aborted"));
      },
    });
    const error = await failure(readBytes(post(stream), 10));
    expect([error.status, error.message]).toEqual([400, "Request body broke off"]);
  });
});

describe("readJson()", () => {
  const schema = v.object({ user: v.object({ age: v.pipe(v.number(), v.maxValue(150)) }) });

  it("returns the checked value", async () => {
    expect(await readJson(post('{"user":{"age":7},"more":1}'), schema)).toEqual({
      user: { age: 7 },
    });
  });

  it("names the field that does not fit, with 400", async () => {
    const error = await failure(readJson(post('{"user":{"age":151}}'), schema));
    expect(error.status).toBe(400);
    expect(error.message).toMatch(/^user\.age: /);
    expect((await failure(readJson(post("[]"), schema))).status).toBe(400);
    expect(
      (await failure(readJson(post('{"user":{"age":151}}'), schema, { error: "chat_format" })))
        .code,
    ).toBe(2019);
  });

  it("refuses a list that a schema would look at for long, but in a payload", async () => {
    const listed = v.object({ list: v.array(v.number()) });
    const body = (count: number): string => JSON.stringify({ list: Array(count).fill(0) });
    const fits = await readJson(post(body(19_998)), listed);
    expect(fits.list).toHaveLength(19_998);
    const error = await failure(readJson(post(body(20_002)), listed));
    expect(error).toMatchObject({
      status: 400,
      message: "Request body has more than 20000 values",
    });
    const payload = await readJson(post(body(20_002)), listed, { hasPayload: true });
    expect(payload.list).toHaveLength(20_002);
  });

  it("lets others go on while it reads a long body, with the same answers", async () => {
    let turns = 0;
    const system = {
      sleep: (ms: number, signal?: AbortSignal) =>
        ms === 0
          ? Promise.resolve(turns++)
          : new Promise((_, reject) =>
              signal?.addEventListener("abort", () => {
                reject(signal.reason);
              }),
            ),
    };
    // `as`: nothing else of a system is asked.
    const options = { limit: 8 * MB, platform: { system: system as unknown as System } };
    const read = (body: BodyInit) => readJson(post(body), schema, options);
    const filler = "x".repeat(2 * MB);
    const small = await read('{"user":{"age":7}}');
    expect([small, turns]).toEqual([{ user: { age: 7 } }, 0]);
    expect(await read(`{"filler":"${filler}","user":{"age":7}}`)).toEqual(small);
    expect(turns).toBeGreaterThan(8);
    const bad: readonly (readonly [BodyInit, string])[] = [
      [`{"filler":"${filler}","user":{"age":151}}`, "user.age: expected at most 150, got 151"],
      [`{"filler":"${filler}"`, "Request body is not valid JSON"],
      [
        new Uint8Array(2 * MB).fill(0x22).fill(0xff, 1),
        "Request body is not valid JSON: it is not UTF-8",
      ],
      [`["${filler}"${",1".repeat(20_002)}]`, "Request body has more than 20000 values"],
    ];
    for (const [body, message] of bad) expect((await failure(read(body))).message).toBe(message);
  });

  it("quotes no more than a line of what does not fit", async () => {
    const huge = "x".repeat(100_000);
    const value = await failure(readJson(post(JSON.stringify({ user: huge })), schema));
    const record = v.record(v.string(), v.number());
    const key = await failure(readJson(post(JSON.stringify({ [huge]: "" })), record));
    for (const { message } of [value, key]) expect(message.length).toBeLessThan(400);
  });

  it("refuses malformed JSON, malformed UTF-8 and nothing with 400", async () => {
    const bad: readonly (readonly [BodyInit, string])[] = [
      ["", "The request has no body: send JSON"],
      [
        "{",
        'Request body is not valid JSON: the text ends too early: expected a name in double quotes or "}"',
      ],
      ["nope", "Request body is not valid JSON: line 1, column 1: expected a value"],
      [Uint8Array.of(0x22, 0xff, 0x22), "Request body is not valid JSON: it is not UTF-8"],
    ];
    for (const [body, message] of bad)
      expect((await failure(readJson(post(body), schema))).message).toBe(message);
  });
});

describe("parseJson() and parse()", () => {
  const nested = (levels: number): Uint8Array => utf8("[".repeat(levels) + "]".repeat(levels));

  it("take 256 levels of JSON and refuse more with 400, before anyone recurses into them", () => {
    expect(JSON.stringify(parseJson(nested(256)))).toHaveLength(512);
    for (const levels of [258, 10_000, 400_000]) {
      expect(() => parseJson(nested(levels))).toThrow(ApiError);
    }
    expect(() => parseJson(utf8('{"a":'.repeat(300) + "1" + "}".repeat(300)))).toThrow(
      "more than 256 levels",
    );
    expect(parseJson(utf8(JSON.stringify(Array.from({ length: 1000 }, () => [{}]))))).toHaveLength(
      1000,
    );
  });

  it("refuse what would hold up the process, in the parser or in what walks through the value", () => {
    const record = (count: number): Uint8Array =>
      utf8(JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [n, ""]))));
    expect(Object.keys(parseJson(record(5000)) as object)).toHaveLength(5000);
    expect(() => parseJson(record(5001))).toThrow(
      "Request body has more than 5000 different names",
    );
    const same = (count: number): Uint8Array => utf8(`[${Array(count).fill(`{"a":0}`).join()}]`);
    expect(parseJson(same(20_000))).toHaveLength(20_000);
    expect(() => parseJson(same(20_001))).toThrow("Request body has more than 20000 members");
    const list = (count: number): Uint8Array => utf8(JSON.stringify(Array(count).fill(0)));
    expect(parseJson(list(200_000))).toHaveLength(200_000);
    expect(() => parseJson(list(200_001))).toThrow("more than 200000 values");
    expect(() => parseJson(utf8(`[${"{},".repeat(100_000)}{}]`))).toThrow(
      "more than 50000 lists and objects",
    );
  });

  it("find all that is wrong with a small value, and the first that is wrong with a large one", () => {
    let checks = 0;
    const odd = v.custom<number>(() => (checks++, false));
    const schema = v.object({ list: v.array(odd), name: v.string(), also: v.string() });
    const refused = (value: unknown): string => {
      try {
        parse(schema, value);
      } catch (error) {
        return (error as ApiError).message;
      }
      return "";
    };
    expect(refused({ list: Array(1900).fill(0) })).toContain('Missing fields "name" and "also"');
    expect(checks).toBe(1900);
    for (const list of [Array(3000).fill(0), Array(30).fill(Array(100).fill(0))]) {
      checks = 0;
      expect(refused({ list, name: { a: list } })).toMatch(/^list\.0: /u);
      expect(checks).toBe(1);
    }
  });

  it("look at no text in it, however long", () => {
    const texts = [":".repeat(30_000), ",".repeat(300_000), '{["'.repeat(300), '\\"'.repeat(300)];
    for (const text of [...texts, "\\".repeat(1001), `${"\\".repeat(1000)}"${":".repeat(30_000)}`])
      expect(parseJson(utf8(JSON.stringify({ [text]: [text, text] })))).toEqual({
        [text]: [text, text],
      });
    expect(() => parseJson(utf8(`["${"a".repeat(1000)}`))).toThrow("not valid JSON");
  });

  it("throw ApiError and nothing else", () => {
    expect(parseJson(utf8("[1]"))).toEqual([1]);
    expect(() => parseJson(utf8("[1"))).toThrow(ApiError);
    expect(() => parse(v.string(), 1)).toThrow(ApiError);
    expect(parse(v.string(), "x")).toBe("x");
  });
});
