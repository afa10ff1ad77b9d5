import { describe, expect, it } from "vitest";
import {
  bodyText,
  bodyValue,
  jsonBody,
  type ReadableRequest,
  strictValue,
} from "../../../../core/gateway/wire/readable-body.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const step = (body: ReadableRequest["body"]): ReadableRequest => ({
  headers: [],
  body,
  reading: { bytes: null, text: null, value: null },
});

describe("bodyText()", () => {
  it("decodes a body once, whoever asks", () => {
    const body = bytes('{"model":"a"}');
    const given = step(body);
    expect(bodyText(given)).toBe('{"model":"a"}');
    // Nobody changes bytes in place; here it shows that they are not read again.
    body.fill(0);
    expect(bodyText({ ...given, headers: [["x", "y"]] })).toBe('{"model":"a"}');
  });

  it("reads a body anew that took the place of another", () => {
    const given = step(bytes("with a token"));
    expect(bodyText(given)).toBe("with a token");
    expect(bodyText({ ...given, body: bytes("without") })).toBe("without");
    expect(bodyText({ ...given, plain: bytes("unpacked") })).toBe("unpacked");
    expect(bodyText({ ...given, plain: null })).toBeNull();
    expect(bodyText(given)).toBe("with a token");
  });

  it("is null for no body and for a stream", () => {
    expect(bodyText(step(null))).toBeNull();
    expect(bodyText(step(new ReadableStream()))).toBeNull();
  });

  it("reads a request without a place for the text", () => {
    expect(bodyText({ headers: [], body: bytes("x") })).toBe("x");
  });
});

describe("bodyValue()", () => {
  it("parses a body once, whoever asks", () => {
    const given = step(bytes('{"model":"a"}'));
    const value = bodyValue(given);
    expect(value).toEqual({ model: "a" });
    expect(bodyValue({ ...given, headers: [["x", "y"]] })).toBe(value);
    expect(bodyValue({ ...given, body: bytes('{"model":"b"}') })).toEqual({ model: "b" });
    expect(bodyValue(given)).toEqual({ model: "a" });
  });

  it("is the one that was written", () => {
    const json = { model: "a" };
    const given = { headers: [], ...jsonBody(json) };
    expect(bodyText(given)).toBe('{"model":"a"}');
    expect(bodyValue(given)).toBe(json);
    expect(strictValue(given, JSON.parse as never)).toBe(json);
    const other = { ...given, body: bytes('{"model":"b"}') };
    expect(strictValue(other, () => ({ model: "b" }))).toEqual({ model: "b" });
  });

  it("leaves malformed UTF-8 to those who refuse it", () => {
    const given = step(new Uint8Array([0x22, 0xff, 0x22]));
    expect(bodyValue(given)).toBe("\ufffd");
    const refuse = (): never => {
      throw new TypeError("not UTF-8");
    };
    expect(() => strictValue(given, refuse)).toThrow("not UTF-8");
  });

  it("keeps a long one for its translation alone", () => {
    const json = { text: "x".repeat(300_000) };
    expect(jsonBody(json).reading.value).toBeNull();
    const given = { headers: [], ...jsonBody(json, true) };
    expect(bodyValue(given)).toBe(json);
    expect(strictValue(given, () => null)).toBe(json);
    expect(given.reading.value).toBeNull();
  });

  it("keeps no long one in memory", () => {
    const given = step(bytes(JSON.stringify({ text: "x".repeat(300_000) })));
    expect(bodyValue(given)).toEqual({ text: expect.any(String) as string });
    expect(given.reading?.value).toBeNull();
  });

  it("is undefined for what is no JSON, no body and a stream", () => {
    for (const body of [bytes("{"), null, new ReadableStream<Uint8Array>()])
      expect(bodyValue(step(body))).toBeUndefined();
    expect(bodyValue({ headers: [], body: bytes("[1]") })).toEqual([1]);
  });
});
