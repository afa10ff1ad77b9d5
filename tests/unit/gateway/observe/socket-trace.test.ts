import { connect } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Duplex, DuplexEnd, WebSockets } from "../../../../core/net/duplex.ts";
import { gatewayEngine } from "../../../../core/gateway/engine.ts";
import { universalSockets } from "../../../../core/gateway/realtime/connect.ts";
import type { ActorRef } from "../../../../core/ports.ts";
import { fakeCollector } from "../../../fakes/gateway-collector.ts";
import { type GatewayUnderTest, gatewayUnderTest } from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT = "00f067aa0ba902b7";
const name = { account: "acme", gateway: "own" };
const traceparent = `00-${TRACE}-${PARENT}-01`;

/** An end of a connection on which nothing is ever said. */
function silent(): Duplex & { end(how: DuplexEnd): void } {
  const over = Promise.withResolvers<DuplexEnd>();
  return {
    protocol: "",
    send: () => Promise.resolve(true),
    receive: () => over.promise.then(() => null),
    close: (code = 1000, reason = "") => over.resolve({ code, reason }),
    closed: over.promise,
    end: over.resolve,
  };
}

const collector = fakeCollector();
let dial: WebSockets["dial"];
let client: ReturnType<typeof silent>;
let gate: GatewayUnderTest;
beforeEach(async () => {
  collector.bodies.length = 0;
  client = silent();
  const webSockets: WebSockets = {
    dial: (request) => dial(request),
    // No runtime but workerd makes a response of status 101.
    accept: () => ({ duplex: client, response: new Response("connected") }),
  };
  gate = await gatewayUnderTest({}, { egress: collector, webSockets });
  const otel = [{ url: "https://collector.example/v1/traces" }];
  await gate.create("own", { collect_logs: false, otel });
});
afterEach(() => gate.close());

const realtime = (): Promise<Response> =>
  gate.send("own/openai/realtime?model=gpt-realtime", {
    method: "GET",
    headers: { upgrade: "websocket", traceparent },
  });

describe("the trace of a WebSocket", () => {
  it("is that of each message on the universal one", async () => {
    const { platform } = gate;
    gate.transport.behave = () => jsonReply({ choices: [] });
    const sockets = universalSockets(gatewayEngine({ platform, auth: "off" }));
    const ref: ActorRef = {
      call: () => Promise.reject(new Error("Not called")),
      fetch: (request) => sockets.connect(request, name),
    };
    const socket = await connect(ref);
    const request = {
      provider: "openai",
      endpoint: "chat/completions",
      headers: { traceparent },
      query: { model: "gpt-4o", messages: [] },
    };
    socket.send(JSON.stringify({ type: "universal.create", request }));
    expect(String(await socket.next())).toContain("universal.created");
    const { server, tries } = await collector.tree();
    expect(server).toMatchObject({
      name: "universal.create",
      traceId: TRACE,
      parentSpanId: PARENT,
      status: { code: 0 },
    });
    expect(tries.map(({ parentSpanId }) => parentSpanId)).toEqual([server.spanId]);
    socket.close();
  });

  it("is that of a whole realtime connection, once it is over", async () => {
    const provider = silent();
    dial = () => Promise.resolve({ duplex: provider });
    expect(await (await realtime()).text()).toBe("connected");
    provider.end({ code: 1000, reason: "" });
    const { server, tries } = await collector.tree();
    expect(server).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      status: { code: 0 },
      about: { "http.request.method": "GET", "http.response.status_code": "101" },
    });
    expect(tries.map(({ about }) => about["gen_ai.request.model"])).toEqual(["gpt-realtime"]);
  });

  it("has the provider's refusal", async () => {
    dial = () => Promise.resolve({ refusal: jsonReply({}, 401) });
    expect((await realtime()).status).toBe(401);
    const { server, tries } = await collector.tree();
    expect(server.about["http.response.status_code"]).toBe("401");
    expect(tries.map(({ status }) => status.code)).toEqual([2]);
  });
});
