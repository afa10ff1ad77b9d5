import { expect, it } from "vitest";
import { fromBase64, toBase64, utf8 } from "../../../core/crypto/encoding.ts";
import { longBase64, longText } from "../../../core/http/json/long-json.ts";
import { callMessage, wholeMessage } from "../../../core/rendering/cdp/call-message.ts";

const head = { id: 7, sessionId: "S", method: "A.a" };
const page = `"<p>\\ü€\u{1f600}\u2028\n`.repeat(100_000);

it("a call with a page comes in parts, none of which has more than a megabyte", () => {
  const message = callMessage(head, { frameId: "F", html: longText(utf8(page)), none: undefined });
  const parts = typeof message === "string" ? [] : [...message];
  expect(parts[0]).toBe('{"id":7,"sessionId":"S","method":"A.a","params":{"frameId":"F","html":"');
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(1_000_000);
  expect(JSON.parse(parts.join(""))).toEqual({ ...head, params: { frameId: "F", html: page } });
});

it.each([0, 1, 2, 3, 393_215, 393_216, 393_217, 1_000_000])(
  "%d bytes are the same base64 in parts as in one",
  (length) => {
    const bytes = Uint8Array.from({ length }, (_, i) => i * 31 + (i >> 8));
    const message = callMessage(head, { body: longBase64(bytes), responseCode: 200 });
    const sent: unknown = JSON.parse(wholeMessage(message));
    const body = toBase64(bytes);
    expect(sent).toEqual({ ...head, params: { body, responseCode: 200 } });
    expect(fromBase64(body)).toEqual(bytes);
  },
);

it("a call without a long text is one text", () => {
  const message = callMessage({ id: 1, method: "A.a" }, { x: [null, { jsonParts: 1 }] });
  expect(message).toBe('{"id":1,"method":"A.a","params":{"x":[null,{"jsonParts":1}]}}');
});

it("a mark of the byte order stays where the page has one", () => {
  const message = wholeMessage(callMessage(head, { html: longText(utf8("\ufeffx")) }));
  expect(JSON.parse(message)).toMatchObject({ params: { html: "\ufeffx" } });
});
