import fc from "fast-check";
import { openPlatform } from "#platform";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { storedTokens } from "../../../../core/auth/mod.ts";
import { guardedStream, held } from "../../../../core/gateway/guard/tokens/guarded-step.ts";
import { tokenSearch } from "../../../../core/gateway/guard/tokens/token-search.ts";
import type { Platform } from "../../../../core/ports.ts";
import {
  chat,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply } from "../../../fakes/gateway-transport.ts";

/** As an operator may choose one: JSON and forms write it in other ways. */
const ODD = 'odd"token/with:signs+=';

let gate: GatewayUnderTest;
let platform: Platform;
beforeAll(async () => {
  platform = await openPlatform();
  const permissions = ["*" as const];
  const tokens = [GATEWAY_TOKEN, ODD].map((token) => ({ token, permissions, accounts: ["*"] }));
  gate = await gatewayUnderTest({ auth: storedTokens(platform, { tokens }) });
});
afterAll(() => Promise.all([gate.close(), platform.close()]));
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.behave = () => jsonReply({ ok: true });
});

const saying = (content: string): RequestInit =>
  jsonInit({ ...chat, messages: [{ role: "user", content }] });

/** A body without a length, which is not read before it is sent. */
function streamed(text: string, type: string): RequestInit {
  const chunks = [bytes(text)];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = chunks.pop();
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
  return { body, headers: { "content-type": type }, duplex: "half" } as RequestInit;
}

describe.each([GATEWAY_TOKEN, ODD])("the caller's own token %s", (token) => {
  const part = `--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx${token}y\r\n--b--\r\n`;
  const places: readonly (readonly [string, string, RequestInit])[] = [
    ["a JSON body", "open/openai/x", saying(`It is ${token}.`)],
    [
      "a form",
      "open/openai/x",
      streamed(String(new URLSearchParams({ a: token })), "application/x-www-form-urlencoded"),
    ],
    ["a multipart body", "open/openai/x", streamed(part, "multipart/form-data; boundary=b")],
    ["a path", `open/openai/files/${encodeURIComponent(token)}/content`, saying("")],
    ["a provider's name", `open/${encodeURIComponent(token)}/x`, saying("")],
    [
      "metadata",
      "open/openai/x",
      jsonInit(chat, { "cf-aig-metadata": JSON.stringify({ t: token }) }),
    ],
    ["an event id", "open/openai/x", jsonInit(chat, { "cf-aig-event-id": token })],
    ["a user agent", "open/openai/x", jsonInit(chat, { "user-agent": `curl (${token})` })],
    [
      "a universal step",
      "open",
      jsonInit([{ provider: "openai", endpoint: "x", query: { ...chat, user: token } }]),
    ],
    [
      "a step's endpoint",
      "open",
      jsonInit([{ provider: "openai", endpoint: `x/${token}`, query: chat }]),
    ],
    ["a model's name", "open/compat/chat/completions", jsonInit({ ...chat, model: token })],
    ["a malformed header", "open/openai/x", jsonInit(chat, { "cf-aig-cache-ttl": token })],
  ];
  it.each(places)("is refused in %s, and not repeated", async (_, path, init) => {
    const answer = await gate.send(path, { token, ...init });
    expect(answer.status).toBe(400);
    const text = await answer.text();
    expect(text).not.toContain(token);
    expect(text).not.toContain(JSON.stringify(token).slice(1, -1));
    expect(gate.transport.bodies.join()).not.toContain(token);
    gate.transport.bodies.length = 0;
    expect(await (await gate.manageRaw("/gateways/open/logs")).text()).not.toContain(token);
  });

  it("never arrives whole in a body that streams through, wherever its chunks end", async () => {
    const text = bytes(`before ${token} behind`);
    for (let at = 1; at < text.length; at++) {
      const { arrived, error } = await through(token, [text.slice(0, at), text.slice(at)]);
      expect(error).toMatchObject({ status: 400 });
      expect("before ".startsWith(arrived), arrived).toBe(true);
    }
  });

  it("is what alone changes a body that streams through", async () => {
    const near = `${token.slice(0, -1)}, ${token.slice(1)}${"x".repeat(100)}${token.slice(0, 9)}`;
    const whole = bytes(near);
    for (const size of [1, 7, 1000]) {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
        whole.slice(i * size, i * size + size),
      );
      expect(await through(token, chunks)).toEqual({ arrived: near, error: null });
    }
  });
});

/** What comes out of a guarded stream of these chunks. */
async function through(
  token: string,
  chunks: readonly Uint8Array[],
): Promise<{ arrived: string; error: unknown }> {
  const search = tokenSearch(token);
  if (search === null) throw new Error("Too short");
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const reader = guardedStream(source, search, () => held("body")).getReader();
  let arrived = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { arrived, error: null };
      arrived += new TextDecoder().decode(value);
    }
  } catch (error) {
    return { arrived, error };
  }
}

it("takes no notice of what is too short for a secret, or was not presented", async () => {
  const short = await gate.send("open/openai/x", { token: "undefined", ...saying("undefined") });
  expect(short.status).toBe(200);
  const other = await gate.send("open/openai/x", saying(GATEWAY_TOKEN));
  expect(other.status).toBe(200);
});

describe("tokenSearch()", () => {
  it("finds a token wherever it stands, and nothing else", () => {
    const letter = fc.constantFrom("a", "b", "_");
    const text = fc.string({ unit: letter, maxLength: 60 });
    const token = fc.string({ unit: letter, minLength: 16, maxLength: 20 });
    fc.assert(
      fc.property(token, text, text, fc.boolean(), (word, before, behind, put) => {
        const whole = before + (put ? word : "") + behind;
        expect(tokenSearch(word)?.isIn(bytes(whole))).toBe(whole.includes(word));
        expect(tokenSearch(word)?.isInText(whole)).toBe(whole.includes(word));
        const open = tokenSearch(word)?.openEnd(bytes(whole)) ?? -1;
        const ends = Array.from({ length: word.length - 1 }, (__, i) => word.slice(0, i + 1));
        const longest = ends.findLast((end) => whole.endsWith(end)) ?? "";
        expect(open).toBe(whole.length - longest.length);
      }),
    );
  });

  it("finds a token as writers of JSON escape its signs, and no other that looks alike", () => {
    const search = tokenSearch(`a\\b"c/d+e=f'g&h<i>j`);
    const written = [
      String.raw`a\\b\u0022c/d\u002Be=f\u0027g\u0026h\u003Ci\u003Ej`, // .NET
      String.raw`a\\b\"c/d+e\u003df\u0027g\u0026h\u003ci\u003ej`, // Gson
      String.raw`a\\b\"c/d+e=f'g\u0026h\u003ci\u003ej`, // Go, Rails
      String.raw`a\\b\"c\/d+e=f'g&h<i>j`, // PHP
    ];
    for (const text of written) {
      expect(JSON.parse(`"${text}"`)).toBe(`a\\b"c/d+e=f'g&h<i>j`);
      expect(search?.isIn(bytes(`{"x":"${text}"}`)), text).toBe(true);
      expect(search?.isInText(text), text).toBe(true);
      expect(search?.isIn(bytes(text.replace(/[+B]/, "-"))), text).toBe(false);
      expect(search?.openEnd(bytes(`x${text.slice(0, -1)}`))).toBe(1);
    }
  });

  it("finds a token in a form, its percent-encoding in large or small letters", () => {
    const search = tokenSearch("abcdefghijkl+mn/op==");
    for (const text of ["abcdefghijkl%2Bmn%2Fop%3D%3D", "abcdefghijkl%2bmn%2fop%3d%3d"])
      expect(search?.isIn(bytes(`x=1&token=${text}`)), text).toBe(true);
  });

  it("takes time in proportion to the text, whatever the token", () => {
    const text = new Uint8Array(4 * 1024 * 1024).fill(97);
    const search = tokenSearch(`b${"a".repeat(4000)}`);
    // Anything but a bounded number of looks per byte would take minutes.
    expect(search?.isIn(text)).toBe(true);
    expect(tokenSearch(`${"a".repeat(11)}b${"a".repeat(12)}`)?.isIn(text)).toBe(false);
  });
});
