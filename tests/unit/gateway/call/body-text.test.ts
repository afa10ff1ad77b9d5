import { describe, expect, it } from "vitest";
import { bodyText, type ReadableRequest } from "../../../../core/gateway/wire/readable-body.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const step = (body: ReadableRequest["body"]): ReadableRequest => ({
  headers: [],
  body,
  reading: { bytes: null, text: "" },
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
