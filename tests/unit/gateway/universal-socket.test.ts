import { connect, openPlatform } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gatewayDeps } from "../../../core/gateway/deps.ts";
import { universalSockets } from "../../../core/gateway/realtime/connect.ts";
import { socketToken } from "../../../core/gateway/realtime/socket-token.ts";
import type { ActorRef, Platform } from "../../../core/ports.ts";
import {
  type FakeTransport,
  fakeTransport,
  jsonReply,
  sentHeaders,
  streamReply,
} from "../../fakes/gateway-transport.ts";
import type { TestSocket } from "../../platform/open-platform.d.ts";

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
  const sockets = universalSockets(gatewayDeps({ platform, gateways }));
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
    for (let i = 0; i < 200 && !seen.cancelled; i++) await platform.system.sleep(10);
    expect(seen.cancelled).toBe(true);
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
