import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";
import { bytes, jsonReply, streamReply } from "../../../fakes/gateway-transport.ts";
import { virtualKeys } from "../../../fakes/virtual-keys.ts";
import type { InboundResponse } from "../../../../core/ports.ts";

let gate: GatewayUnderTest;
beforeEach(async () => {
  gate = await gatewayUnderTest({
    providers: { openrouter: { apiKey: "sk-or" }, openai: { apiKey: "sk-own" } },
  });
});
afterEach(() => gate.close());

const error = { message: "Provider returned error", code: 502 };
const good = { choices: [{ message: { role: "assistant", content: "hi" } }] };
const sse = (...events: object[]): string[] =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
const streamed = (text: readonly (string | Uint8Array)[]) => streamReply(text);
/** The same bytes, one at a time. */
const bytewise = (text: string): Uint8Array[] => [...bytes(text)].map((one) => Uint8Array.of(one));
const inPieces = (reply: InboundResponse, pieces: readonly (string | Uint8Array)[]) => ({
  ...reply,
  body: streamReply(pieces).body,
});

/** Answers 200 whose body is a failure, as providers send them. */
const failures: Record<string, () => InboundResponse> = {
  "an error of OpenRouter": () => jsonReply({ error, user_id: "u" }),
  "the same behind other members": () => jsonReply({ id: "gen-1", object: "x", error }),
  "one in place of a choice": () => jsonReply({ id: "g", choices: [{ error, index: 0 }] }),
  "a text for an error": () => jsonReply({ error: "no slot" }),
  "a failure of Cloudflare": () => jsonReply({ result: null, success: false, errors: [{}] }),
  "an error that comes byte by byte": () =>
    inPieces(jsonReply({}), bytewise(JSON.stringify({ error }))),
  "a first event": () => streamed(sse({ error, choices: [] })),
  "a first event behind comments": () =>
    streamed([": OPENROUTER PROCESSING\n\n", ": OPENROUTER PROCESSING\n\n", ...sse({ error })]),
  "a first event byte by byte, with CRLF": () =>
    streamed(bytewise(`: hello\r\n\r\ndata: ${JSON.stringify({ error })}\r\n\r\n`)),
  "an error event of Anthropic": () =>
    streamed([
      `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: "overloaded_error" } })}\n\n`,
    ]),
  "a failed response": () =>
    streamed(sse({ type: "response.failed", response: { error: { code: "server_error" } } })),
};

const send = (headers: Record<string, string> = {}, path = "open/openrouter/v1/chat/completions") =>
  gate.send(path, jsonInit(chat, { "cf-aig-retry-delay": "1", ...headers }));
const twice = { "cf-aig-max-attempts": "2" };

describe.each(Object.entries(failures))("%s", (_, failure) => {
  it("is tried again", async () => {
    gate.transport.behave = (_request, index) => (index === 0 ? failure() : jsonReply(good));
    const event = "again";
    const response = await send({ ...twice, "cf-aig-event-id": event });
    expect([response.status, await response.json()]).toEqual([200, good]);
    expect(gate.transport.requests).toHaveLength(2);
    const [second, first] = await gate.rowsOf("open", event, 2);
    expect(second).toMatchObject({ success: true, note: null });
    expect(first).toMatchObject({ success: false, status_code: 200 });
    expect(first?.["note"]).toMatch(/^error in the answer: \w+ \(5\d\d\)$/u);
  });

  it("makes way for the next step", async () => {
    gate.transport.behave = (_request, index) => (index === 0 ? failure() : jsonReply(good));
    const step = (provider: string) => ({ provider, endpoint: "v1/chat/completions", query: chat });
    const response = await gate.send("open", jsonInit([step("openrouter"), step("openai")]));
    expect([response.status, await response.json()]).toEqual([200, good]);
    expect(response.headers.get("cf-aig-step")).toBe("1");
  });

  it("is a failure in its row, and passes unchanged where nothing can make it good", async () => {
    gate.transport.behave = failure;
    const event = "alone";
    const response = await send({ "cf-aig-event-id": event });
    const { body } = failure();
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(await new Response(body as BodyInit).text());
    const [row] = await gate.rowsOf("open", event, 1);
    expect(row).toMatchObject({ success: false, status_code: 200 });
    expect(row?.["note"]).toMatch(/^error in the answer: /u);
  });

  it("is not cached", async () => {
    gate.transport.behave = failure;
    const kept = { "cf-aig-cache-ttl": "600" };
    await (await send(kept)).text();
    const again = await send(kept);
    await again.text();
    expect(again.headers.get("cf-aig-cache-status")).toBe("MISS");
    expect(gate.transport.requests).toHaveLength(2);
  });
});

describe("an answer with a status of success", () => {
  const later = "x".repeat(100_000);
  it.each<[string, () => InboundResponse]>([
    ["an answer", () => jsonReply(good)],
    ["a word in a text", () => jsonReply({ choices: [{ message: { content: '{"error": 1}' } }] })],
    [
      "an input of a tool",
      () => jsonReply({ content: [{ type: "tool_use", input: { error: "x" } }] }),
    ],
    ["no error", () => jsonReply({ id: "resp_1", error: null, output: [] })],
    ["a false error", () => jsonReply({ error: false, result: 1 })],
    ["a long answer", () => jsonReply({ error, choices: [{ text: later }] })],
    [
      "another type",
      () => ({ ...jsonReply({ error }), headers: [["content-type", "text/plain"]] }),
    ],
    ["a stream of texts", () => streamed(sse({ choices: [{ delta: { content: "hi" } }] }))],
  ])("is taken for one: %s", async (_, answer) => {
    gate.transport.behave = answer;
    const response = await send({ ...twice, "cf-aig-event-id": "one" });
    expect(await response.text()).toBe(await new Response(answer().body as BodyInit).text());
    expect(gate.transport.requests).toHaveLength(1);
    expect(await gate.rowsOf("open", "one", 1)).toMatchObject([{ success: true, note: null }]);
  });

  it("fails in its row when its stream ends with an error, which comes too late for another try", async () => {
    const begun = sse({ choices: [{ delta: { content: "hi" } }] });
    gate.transport.behave = () => streamed([...begun, ...sse({ error })]);
    const response = await send({ ...twice, "cf-aig-event-id": "late" });
    expect(await response.text()).toContain("Provider returned error");
    expect(gate.transport.requests).toHaveLength(1);
    const [row] = await gate.rowsOf("open", "late", 1);
    expect(row).toMatchObject({ success: false, note: "error in the answer: failed (502)" });
  });

  it("is tried again only for what may be better the next time", async () => {
    gate.transport.behave = () => jsonReply({ error: { code: 400, message: "bad" } });
    await send(twice);
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("is read through its encoding", async () => {
    const text = new Blob([JSON.stringify({ error })]);
    const packing = text.stream().pipeThrough(new CompressionStream("gzip"));
    // The response of @hono/node-server, which another test may have put in place of the global one, has no `bytes()`.
    const packed = new Uint8Array(await new Response(packing).arrayBuffer());
    gate.transport.behave = () => ({
      status: 200,
      headers: [
        ["content-type", "application/json"],
        ["content-encoding", "gzip"],
      ],
      body: packed,
    });
    await send(twice);
    expect(gate.transport.requests).toHaveLength(2);
  });

  it("uses nothing of a virtual key when it is nothing but an error", async () => {
    const { make, used } = virtualKeys(gate);
    const { key, id } = await make({ limits: [{ limitType: "tokens", limit: 10_000 }] });
    gate.transport.behave = () => jsonReply({ error });
    const headers = { "cf-aig-authorization": `Bearer ${key}`, "cf-aig-event-id": "key" };
    await send(headers, "closed/openrouter/v1/chat/completions");
    await gate.rowsOf("closed", "key", 1);
    expect(await used(id)).toEqual([0]);
  });
});
