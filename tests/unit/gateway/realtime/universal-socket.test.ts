import { connect, openPlatform } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../../cases/eventually.ts";
import { gatewayEngine } from "../../../../core/gateway/engine.ts";
import { universalSockets } from "../../../../core/gateway/realtime/connect.ts";
import { socketToken } from "../../../../core/gateway/realtime/socket-token.ts";
import type { ActorRef, InboundResponse, Platform } from "../../../../core/ports.ts";
import {
  type FakeTransport,
  fakeTransport,
  jsonReply,
  sentHeaders,
  streamReply,
} from "../../../fakes/gateway-transport.ts";
import type { TestSocket } from "../../../platform/open-platform.d.ts";

const TOKEN = "gateway-token-for-tests";
const name = { account: "acme", gateway: "open" };

let platform: Platform;
let transport: FakeTransport;
let socket: TestSocket;

beforeEach(async () => {
  const real = await openPlatform();
  transport = fakeTransport();
  platform = { ...real, transport };
  const gateways = { open: { authentication: false }, closed: { tokens: [TOKEN] } };
  const sockets = universalSockets(gatewayEngine({ platform, gateways }));
  const ref: ActorRef = {
    call: () => Promise.reject(new Error("Not called")),
    fetch: (request) => sockets.connect(request, name),
  };
  socket = await connect(ref);
});
afterEach(() => platform.close());

const query = { model: "gpt-4o", messages: [{ role: "user", content: "hi" }] };
const create = (more: object = {}): string =>
  JSON.stringify({
    type: "universal.create",
    request: {
      eventId: "e-1",
      provider: "openai",
      endpoint: "chat/completions",
      headers: { authorization: "Bearer sk" },
      query,
      ...more,
    },
  });

async function next(): Promise<Record<string, unknown>> {
  return JSON.parse(String(await socket.next())) as Record<string, unknown>;
}

describe("the universal WebSocket", () => {
  it("answers a request with one frame", async () => {
    transport.behave = () => jsonReply({ choices: [] });
    socket.send(create());
    const frame = await next();
    expect(frame).toMatchObject({
      type: "universal.created",
      metadata: {
        cacheStatus: "MISS",
        eventId: "e-1",
        step: "0",
        contentType: "application/json",
        status: 200,
      },
      response: { choices: [] },
    });
    expect((frame["metadata"] as { logId: string }).logId).toMatch(/^[0-9A-Z]{26}$/);
    const [request] = transport.requests;
    expect([request?.method, request?.url]).toEqual([
      "POST",
      "https://api.openai.com/v1/chat/completions",
    ]);
    expect(sentHeaders(request)).toEqual({
      authorization: "Bearer sk",
      "content-type": "application/json",
    });
    expect(JSON.parse(transport.bodies[0] ?? "")).toEqual(query);
  });

  it("passes a stream on event by event", async () => {
    transport.behave = () =>
      streamReply(['data: {"n":1}\n\nda', 'ta: {"n":2}\n\n', "data: [DONE]\n\n"]);
    socket.send(create());
    expect(await next()).toMatchObject({
      type: "universal.created",
      metadata: { contentType: "text/event-stream" },
    });
    expect(await next()).toEqual({
      type: "universal.stream",
      metadata: { eventId: "e-1" },
      response: { n: 1 },
    });
    expect(await next()).toEqual({
      type: "universal.stream",
      metadata: { eventId: "e-1" },
      response: { n: 2 },
    });
    expect(await next()).toMatchObject({
      type: "universal.done",
      metadata: { eventId: "e-1", step: "0" },
    });
  });

  it("decodes what comes in an encoding, and sends bytes that are no text as base64", async () => {
    const packed = (text: string): ReadableStream<Uint8Array> =>
      new Response(text).body?.pipeThrough(new CompressionStream("gzip")) ?? new ReadableStream();
    const reply = (type: string, text: string): InboundResponse => ({
      status: 200,
      headers: [
        ["content-type", type],
        ["content-encoding", "gzip"],
      ],
      body: packed(text),
    });
    transport.behave = (_, index) =>
      index === 0
        ? reply("application/json", '{"a":"Grüße"}')
        : reply("text/event-stream", 'data: {"n":1}\n\n');
    socket.send(create());
    expect(await next()).toMatchObject({ response: { a: "Grüße" } });
    socket.send(create());
    const types = [await next(), await next(), await next()].map((frame) => frame["type"]);
    expect(types).toEqual(["universal.created", "universal.stream", "universal.done"]);
    const body = new Uint8Array([37, 80, 68, 255, 254, 0]);
    transport.behave = () => ({
      status: 200,
      headers: [["content-type", "application/pdf"]],
      body,
    });
    socket.send(create());
    expect(await next()).toMatchObject({ response: "JVBE//4A" });
  });

  it("waits for a client that has not read yet, and takes requests of several MB", async () => {
    const event = `data: {"text":"${"x".repeat(100_000)}"}\n\n`;
    transport.behave = () => streamReply(Array.from({ length: 20 }, () => event));
    socket.send(create({ query: { image: "y".repeat(3_000_000) } }));
    const types: unknown[] = [];
    for (let i = 0; i < 22; i++) types.push((await next())["type"]);
    expect(types.at(-1)).toBe("universal.done");
    expect(transport.bodies[0]).toHaveLength(3_000_012);
  });

  it("has 32 requests under way and answers all others in their turn", async () => {
    let running = 0;
    let most = 0;
    const full = Promise.withResolvers<void>();
    transport.behave = async () => {
      most = Math.max(most, ++running);
      if (running === 32) full.resolve();
      await full.promise;
      await platform.system.sleep(5);
      running--;
      return jsonReply({ ok: true });
    };
    for (let i = 0; i < 100; i++) socket.send(create({ eventId: `e-${i}` }));
    const frames: Record<string, unknown>[] = [];
    while (frames.length < 100) frames.push(await next());
    expect(frames.filter(({ type }) => type === "universal.created")).toHaveLength(100);
    expect(most).toBe(32);
  });

  it("names the request that was one too many to wait", async () => {
    transport.behave = () => new Promise(() => undefined);
    for (let i = 0; i < 32 + 256 + 1; i++) socket.send(create({ eventId: `e-${i}` }));
    const frame = await next();
    expect(frame).toMatchObject({
      type: "universal.error",
      metadata: { eventId: "e-288", status: 429 },
      error: [{ code: 2003 }],
    });
    socket.close(1000, "");
    await platform.system.sleep(50);
    expect(transport.requests).toHaveLength(32);
  });

  it("closes when 256 messages in a row were too many to wait", async () => {
    transport.behave = () => new Promise<InboundResponse>(() => undefined);
    for (let i = 0; i < 32 + 256 + 256 + 1; i++) socket.send(create());
    expect((await socket.closed).code).toBe(1013);
  });

  it("lets messages of 10 MiB together wait, and no more", async () => {
    transport.behave = () => new Promise(() => undefined);
    for (let i = 0; i < 32; i++) socket.send(create({ eventId: `e-${i}` }));
    const long = "y".repeat(6 * 1024 * 1024);
    for (const eventId of ["waits", "refused"]) socket.send(create({ eventId, query: { long } }));
    expect(await next()).toMatchObject({ metadata: { eventId: "refused", status: 429 } });
  });

  it("answers requests side by side, whichever is done first", async () => {
    transport.behave = async (_, index) => {
      if (index === 0) await platform.system.sleep(100);
      return jsonReply({ index });
    };
    socket.send(create({ eventId: "slow" }));
    socket.send(create({ eventId: "quick" }));
    const ids = [await next(), await next()].map(
      (frame) => (frame["metadata"] as { eventId: string }).eventId,
    );
    expect(ids).toEqual(["quick", "slow"]);
  });

  it("reports what goes wrong and stays open", async () => {
    socket.send("no json");
    expect(await next()).toMatchObject({
      type: "universal.error",
      success: false,
      error: [{ code: 400 }],
    });
    socket.send(create({ provider: "nobody" }));
    expect(await next()).toMatchObject({
      type: "universal.error",
      metadata: { eventId: "e-1", status: 400 },
      error: [{ code: 2008 }],
    });
    transport.behave = () => streamReply(["data: {}\n\n"], { ending: "break" });
    socket.send(create());
    const kinds = [(await next())["type"], (await next())["type"], (await next())["type"]];
    expect(kinds).toEqual(["universal.created", "universal.stream", "universal.error"]);
    transport.behave = () => jsonReply({ error: { message: "no" } }, 429);
    socket.send(create());
    expect(await next()).toMatchObject({ type: "universal.created", metadata: { status: 429 } });
  });

  it("ends the upstream request when the client leaves", async () => {
    const seen = { cancelled: false };
    transport.behave = () =>
      streamReply(["data: {}\n\n"], { ending: "hang", onCancel: () => (seen.cancelled = true) });
    socket.send(create());
    await next();
    await next();
    socket.close(1000, "");
    await eventually(() => seen.cancelled, "the upstream hears it");
  });
});

describe("socketToken()", () => {
  it("is read from the header, with and without a scheme, or from a subprotocol", () => {
    expect(socketToken([["cf-aig-authorization", "Bearer abc"]])).toBe("abc");
    expect(socketToken([["gw-aig-authorization", "abc"]])).toBe("abc");
    expect(socketToken([["sec-websocket-protocol", "realtime, cf-aig-authorization.abc"]])).toBe(
      "abc",
    );
    expect(socketToken([["sec-websocket-protocol", "realtime"]])).toBeNull();
    expect(socketToken([])).toBeNull();
  });
});
