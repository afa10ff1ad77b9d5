import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isRetryable } from "../../../../core/gateway/call/policy.ts";
import { redactQuery } from "../../../../core/gateway/wire/raw-path.ts";
import { isGatewayId } from "../../../../core/gateway/account/settings/settings.ts";
import type { HeaderPair } from "../../../../core/ports.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { jsonReply, sentHeaders, streamReply } from "../../../fakes/gateway-transport.ts";

const KEY = "sk-operators-own-key-0123456789";

let gate: GatewayUnderTest;
let serial = 0;
beforeAll(async () => {
  gate = await gatewayUnderTest({
    providers: { openai: { apiKey: KEY }, anthropic: { apiKey: "sk-ant-0123456789" } },
  });
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.requests.length = 0;
  gate.transport.behave = () => jsonReply({ ok: true });
});

const step = (headers: Record<string, unknown>): RequestInit =>
  jsonInit([{ provider: "openai", endpoint: "x", headers, query: chat }]);

describe("the headers of a universal step", () => {
  it.each([
    ["a line break", { x: "a\r\nb: c" }],
    ["a control character", { x: "a\u0001b" }],
    ["a delete character", { x: "a\u007fb" }],
    ["letters that no header holds", { x: "漢字" }],
    ["one name in two cases", { Authorization: "Bearer a", authorization: "Bearer b" }],
    ["more than a server takes", { x: "y".repeat(20_000) }],
    ["metadata without bounds", { "cf-aig-metadata": JSON.stringify({ a: "m".repeat(20_000) }) }],
    ["no name", { "": "x" }],
  ])("are refused with %s, before anything is sent", async (_, headers) => {
    const answer = await gate.send("open", step(headers));
    expect(answer.status).toBe(400);
    expect(gate.transport.requests).toEqual([]);
  });

  it("cannot frame or route the request", async () => {
    const framing = { host: "evil.example", "transfer-encoding": "chunked", "content-length": "1" };
    const more = { connection: "x-hop, upgrade", "x-hop": "1", upgrade: "h2c", expect: "x" };
    const answer = await gate.send("open", step({ ...framing, ...more, "x-kept": "é" }));
    expect(answer.status).toBe(200);
    const sent = sentHeaders(gate.transport.requests[0]);
    expect(Object.keys(sent).toSorted()).toEqual(["authorization", "content-type", "x-kept"]);
  });
});

describe("what a provider says about retries", () => {
  it("makes no success worth another try", async () => {
    expect(isRetryable(200, "true")).toBe(false);
    expect(isRetryable(400, "true")).toBe(true);
    gate.transport.behave = () => jsonReply({}, 200, [["x-should-retry", "true"]]);
    const headers = { "cf-aig-max-attempts": "5", "cf-aig-retry-delay": "0" };
    await gate.send("open/openai/x", jsonInit(chat, headers));
    expect(gate.transport.requests).toHaveLength(1);
  });
});

describe("an answer that must not have a body", () => {
  it.each([204, 205, 304])("with status %i gets none, and its row is whole", async (status) => {
    let cancelled = false;
    gate.transport.behave = () => ({
      ...streamReply(["hello"], { ending: "hang", onCancel: () => (cancelled = true) }),
      status,
      headers: [["content-length", "5"]],
    });
    const event = `null-body-${status}`;
    const headers = { "cf-aig-event-id": event };
    const answer = await gate.send("open/openai/x", jsonInit(chat, headers));
    expect([answer.status, await answer.text()]).toEqual([status, ""]);
    expect(answer.headers.get("content-length")).toBeNull();
    const [row] = await gate.rowsOf("open", event, 1);
    expect(row).toMatchObject({ status_code: status, success: true });
    expect(cancelled).toBe(true);
  });
});

describe("a credential that a provider repeats", () => {
  const rowOf = async (path: string, headers: Record<string, string>, status: number) => {
    gate.transport.behave = (request) => {
      const seen: HeaderPair[] = [...request.headers];
      return jsonReply({ error: `Incorrect: ${JSON.stringify(seen)} ${request.url}` }, status);
    };
    const event = `echo-${serial++}`;
    const init = jsonInit(chat, { ...headers, "cf-aig-event-id": event });
    const answer = await gate.send(path, init);
    const [row] = await gate.rowsOf("open", event, 1);
    const read = (side: string): Promise<string> =>
      gate
        .manageRaw(`/gateways/open/logs/${String(row?.["id"])}${side}`)
        .then((response) => response.text());
    return { answer: await answer.text(), stored: (await read("/response")) + (await read("")) };
  };

  it.each([200, 401])(
    "stands in no row of status %i, and the answer is as it was",
    async (status) => {
      const own = await rowOf("open/openai/x", {}, status);
      expect(own.answer).toContain(KEY);
      expect(own.stored).not.toContain(KEY);
      expect(own.stored).toContain("[REDACTED]");
      const callers = "sk-of-the-caller-9876543210";
      const theirs = await rowOf("open/openai/x", { authorization: `Bearer ${callers}` }, status);
      expect(theirs.answer).toContain(callers);
      expect(theirs.stored).not.toContain(callers);
      const query = await rowOf("open/google-ai-studio/x?key=AIza-of-the-caller", {}, status);
      expect(query.answer).toContain("AIza-of-the-caller");
      expect(query.stored).not.toContain("AIza-of-the-caller");
    },
  );

  it.each(["s3cr-t", "abc", "p(w)+.$", "a%2Fb%22c", "k\u00e9y"])(
    "stands in no row however short it is: %s",
    async (key) => {
      const path = `open/google-ai-studio/x?key=${encodeURIComponent(decodeURIComponent(key))}&alt=sse`;
      const { answer, stored } = await rowOf(path, {}, 401);
      const plain = decodeURIComponent(key);
      expect(answer).toContain(encodeURIComponent(plain));
      for (const written of [key, plain, encodeURIComponent(plain)])
        expect(stored).not.toMatch(
          new RegExp(`[="' ]${written.replaceAll(/[$()+.]/g, "\\$&")}["'& ]`),
        );
      expect(stored).toContain("key=[REDACTED]&alt=sse");
    },
  );

  it("is no part of other words when it is short", async () => {
    const { stored } = await rowOf("open/google-ai-studio/x?key=cor&alt=sse", {}, 401);
    expect(stored).toContain("Incorrect");
    expect(stored).toContain("key=[REDACTED]&alt=sse");
  });
});

describe("redactQuery()", () => {
  it.each([
    "key",
    "api_key",
    "apiKey",
    "api.key",
    "access_token",
    "accessToken",
    "X-Amz-Signature",
    "X-Amz-Credential",
    "X-Goog-Signature",
    "sig",
    "client_secret",
    "password",
    "auth",
    "jwt",
    "session",
    "code",
    "token[]",
    "%6bey",
  ])("takes out the value of %s", (name) => {
    expect(redactQuery(`?a=1&${name}=secret&b=2`)).toBe(`?a=1&${name}=REDACTED&b=2`);
  });

  it.each(["alt", "limit", "max_tokens", "model", "page", "country_id", "design", "assign"])(
    "leaves %s as it is",
    (name) => expect(redactQuery(`?${name}=v`)).toBe(`?${name}=v`),
  );
});

describe("a caller's key on a dynamic route", () => {
  const route = (name: string, ...providers: string[]): RequestInit => {
    const models = providers.map((provider, index) => ({
      id: `m${index}`,
      type: "model",
      properties: { provider, model: "m" },
      outputs: { fallback: { elementId: `m${index + 1}` } },
    }));
    const start = { id: "s", type: "start", outputs: { next: { elementId: "m0" } } };
    const end = { id: `m${providers.length}`, type: "end" };
    return {
      method: "POST",
      body: JSON.stringify({ name, elements: [start, ...models, end] }),
      headers: { "content-type": "application/json" },
    };
  };
  const sent = async (name: string): Promise<string> => {
    gate.transport.behave = () => jsonReply({}, 500);
    const init = jsonInit(
      { ...chat, model: `dynamic/${name}` },
      { authorization: "Bearer sk-mine" },
    );
    await gate.send("open/compat/chat/completions", init);
    return JSON.stringify(gate.transport.requests.map(({ headers }) => headers));
  };

  it("travels when all models are of one provider, and nowhere when they are of several", async () => {
    await gate.manage("/gateways/open/routes", route("one", "openai", "openai"));
    await gate.manage("/gateways/open/routes", route("several", "openai", "anthropic"));
    expect(await sent("one")).toContain("sk-mine");
    gate.transport.requests.length = 0;
    const several = await sent("several");
    expect(gate.transport.requests).toHaveLength(2);
    expect(several).not.toContain("sk-mine");
    expect(several).toContain(KEY);
  });
});

describe("isGatewayId()", () => {
  it("takes no step of a path", () => {
    expect(["a", "a.b", ".a", "__proto__"].map(isGatewayId)).toEqual([true, true, true, true]);
    expect(["", ".", "..", "...", "a/b", "a b", "ä"].some(isGatewayId)).toBe(false);
  });
});
