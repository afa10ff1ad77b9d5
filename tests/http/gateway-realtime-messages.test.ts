import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { WebSocket } from "ws";
import { eventually } from "../cases/eventually.ts";
import {
  account,
  base,
  connect,
  isSteady,
  refused,
  seenBy,
  token,
} from "../fakes/realtime-client.ts";
import { isCluster } from "./target.ts";

describe("what passes over a realtime connection", () => {
  it("keeps the kind, the bytes and the order of messages", async () => {
    const client = await connect("openai?model=m");
    const messages = ["", "Grüße 🐘", "ping", randomBytes(0), randomBytes(300_000), "end"];
    for (const message of messages) client.socket.send(message);
    for (const message of messages) expect(await client.next()).toEqual(message);
    client.socket.close();
  });

  it("answers pings", async () => {
    const client = await connect("openai?model=m");
    const pong = new Promise<string>((resolve) => {
      client.socket.on("pong", (data) => resolve(data.toString()));
    });
    client.socket.ping("here");
    expect(await pong).toBe("here");
    client.socket.close();
  });

  it("hands close codes and reasons on both ways, after the last message", async () => {
    for (const end of [
      { code: 1000, reason: "" },
      { code: 1011, reason: "session expired" },
      { code: 4321, reason: "Grüße" },
    ]) {
      const test = randomUUID();
      const client = await connect(`openai?model=m&mode=close&test=${test}`);
      client.socket.send(JSON.stringify(end));
      for (let i = 0; i < 5; i++) expect(await client.next()).toBe(`last ${i}`);
      expect(await client.closed).toEqual(end);
      const other = await connect(`openai?model=m&test=${test}`);
      other.socket.close(end.code, end.reason);
      await other.closed;
      await eventually(async () => (await seenBy(test))[1]?.gone === true, "the provider hears it");
      expect((await seenBy(test))[1]).toMatchObject(end);
    }
  });

  it("hands every code on that may stand in a close frame, and no other", async () => {
    const codes = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 3000, 4999];
    for (const code of codes) {
      const test = randomUUID();
      const hex = `8802${code.toString(16).padStart(4, "0")}`;
      const path = `openai?model=m&test=${test}`;
      const [byProvider, byClient] = await Promise.all([
        connect(`${path}&mode=raw&hex=${hex}`),
        connect(`${path}&mode=echo`),
      ]);
      expect((await byProvider.closed).code).toBe(code);
      byClient.socket.close(code);
      await eventually(
        async () =>
          (await seenBy(test)).some(({ url, code: seen }) => /echo/.test(url) && seen === code),
        `the provider hears ${code}`,
      );
    }
    for (const code of [0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535]) {
      const hex = `8802${code.toString(16).padStart(4, "0")}`;
      const client = await connect(`openai?model=m&mode=raw&hex=${hex}`);
      expect([code, (await client.closed).code]).toEqual([
        code,
        expect.toBeOneOf([1000, 1002, 1011]),
      ]);
    }
  });

  it("looks broken to the client when the provider breaks off", async () => {
    const client = await connect("openai?model=m&mode=die");
    client.socket.send("now");
    expect((await client.closed).code).toBe(1011);
  });

  it("ends at the provider when the client vanishes", async () => {
    const test = randomUUID();
    const client = await connect(`openai?model=m&test=${test}`);
    client.socket.send("hello");
    await client.next();
    client.socket.terminate();
    await eventually(async () => (await seenBy(test))[0]?.gone === true, "the provider hears it");
    expect([1001, 1006]).toContain((await seenBy(test))[0]?.code);
  });

  it("is not pursued further when the client vanishes before the provider has answered", async () => {
    const test = randomUUID();
    const url = `${base}/v1/${account}/open/openai?model=m&mode=silent&test=${test}`;
    const socket = new WebSocket(url);
    socket.on("error", () => undefined);
    await eventually(async () => (await seenBy(test)).length === 1, "the provider is asked");
    socket.terminate();
    // workerd tells of a client that left only when something is written to it.
    if (inject("target") === "workers") return;
    await eventually(async () => (await seenBy(test))[0]?.gone === true, "the provider hears it");
  });

  it("slows the provider down for a client that does not read, or ends the connection", async () => {
    const test = randomUUID();
    const client = await connect(`openai?model=m&mode=flood&test=${test}`);
    client.socket.pause();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const seen = (await seenBy(test))[0];
    // Workers can see neither side's backlog: there what was handed over is only bounded in time.
    if (inject("target") !== "workers") expect(seen?.sent).toBeLessThan(100 * 1024 * 1024);
    client.socket.terminate();
    await eventually(async () => (await seenBy(test))[0]?.gone === true, "the provider hears it");
  });

  it("ends with 1009 when a message is over 16 MiB, and no part of it goes on", async () => {
    for (const size of [17, 40]) {
      const test = randomUUID();
      const client = await connect(`openai?model=m&test=${test}`);
      client.socket.on("error", () => undefined);
      client.socket.send(Buffer.alloc(size * 1024 * 1024));
      // Above what it takes at all a runtime drops the connection without a word.
      expect(size === 17 ? [1009] : [1009, 1006]).toContain((await client.closed).code);
      await eventually(async () => (await seenBy(test))[0]?.gone === true, "the provider hears it");
      expect((await seenBy(test))[0]?.bytes).toBe(0);
    }
  });

  it("ends when the client breaks the protocol, and nothing of that goes on", async () => {
    // Masked with zeros: text that is no UTF-8, an unknown opcode, a fragmented ping.
    for (const hex of ["818200000000c328", "838000000000", "098000000000"]) {
      const test = randomUUID();
      const client = await connect(`openai?model=m&test=${test}`);
      client.raw.write(Buffer.from(hex, "hex"));
      // workerd reads such a text with replacements (docs/gateway/websockets.md).
      if (inject("target") === "workers" && hex.startsWith("81")) {
        expect(await client.next()).toBe("\uFFFD(");
        client.socket.terminate();
        continue;
      }
      await client.closed;
      await eventually(async () => (await seenBy(test))[0]?.gone === true, "the provider hears it");
      expect((await seenBy(test))[0]?.bytes).toBe(0);
    }
  });

  it("stops a client, or ends the connection, when the provider does not read", async () => {
    const client = await connect("openai?model=m&mode=deaf");
    client.socket.on("error", () => undefined);
    const chunk = Buffer.alloc(1024 * 1024);
    for (let i = 0; i < 128; i++) client.socket.send(chunk, () => undefined);
    let isClosed = false;
    client.socket.on("close", () => (isClosed = true));
    const mayStop = inject("target") === "node";
    if (mayStop)
      await eventually(() => isClosed || isSteady(client.socket), "the client is stopped");
    // A connection to a cluster may lead to Deno or Bun.
    if (mayStop && !(isCluster() && isClosed)) {
      // Kernels hold a few MiB, the gateway one or two.
      expect(client.socket.bufferedAmount).toBeGreaterThan(64 * 1024 * 1024);
      client.socket.terminate();
    } else expect([1013, 1006]).toContain((await client.closed).code);
  });

  it("leaves nothing open after a thousand connections that were abandoned", async () => {
    const test = randomUUID();
    const url = `${base}/v1/${account}/open/openai?model=m&test=${test}`;
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, i) => {
          const socket = new WebSocket(url, { perMessageDeflate: false });
          const over = new Promise((resolve) => socket.on("close", resolve));
          socket.on("error", () => undefined);
          // In the middle of the handshake, at its end, with messages under way, or as it should be.
          if (i % 4 === 0) socket.on("upgrade", () => socket.terminate());
          else if (i % 4 === 1) socket.on("open", () => socket.terminate());
          else if (i % 4 === 2)
            socket.on("open", () => socket.send("x".repeat(5000), () => socket.terminate()));
          else socket.on("open", () => socket.close());
          await over;
        }),
      );
    }
    await eventually(async () => (await seenBy(test)).every(({ gone }) => gone), "all are gone");
    expect(await seenBy(test)).toHaveLength(1000);
    const client = await connect("openai?model=m");
    client.socket.send("alive");
    expect(await client.next()).toBe("alive");
    client.socket.close();
  });
});

describe("the log of realtime connections", () => {
  interface Row {
    readonly id: string;
    readonly [key: string]: unknown;
  }
  const logs = `${inject("baseUrl")}/client/v4/accounts/${account}/ai-gateway/gateways/open/logs`;
  const authorization = { authorization: `Bearer ${token}` };

  async function rowsOf(eventId: string): Promise<Row[]> {
    const query = `filters.key=event_id&filters.operator=eq&filters.value=${eventId}`;
    const answer = await fetch(`${logs}?${query}`, { headers: authorization });
    return ((await answer.json()) as { result: Row[] }).result;
  }

  async function rowOf(eventId: string): Promise<Row> {
    await eventually(async () => (await rowsOf(eventId)).length > 0, "the row is written");
    const [row] = await rowsOf(eventId);
    const answer = await fetch(`${logs}/${row?.id}`, { headers: authorization });
    return ((await answer.json()) as { result: Row }).result;
  }

  it("has one row per connection, with sizes and no messages", async () => {
    const eventId = randomUUID();
    const client = await connect("google?api_key=s3cret-key", {
      headers: { "cf-aig-event-id": eventId },
    });
    client.socket.send('{"setup":{"model":"models/gemini-live"}}');
    client.socket.send(randomBytes(1000));
    await client.next();
    await client.next();
    client.socket.close(1000);
    const row = await rowOf(eventId);
    expect(row).toMatchObject({
      provider: "google-ai-studio",
      model: "gemini-live",
      model_type: "realtime",
      request_type: "websocket",
      status_code: 101,
      success: true,
      request_size: 1040,
      response_size: 1040,
    });
    expect(JSON.parse(String(row["request_head"]))).toEqual({
      frames: 2,
      bytes: 1040,
      close: { code: 1000, reason: "" },
    });
    expect(JSON.stringify(row)).not.toContain("s3cret-key");
  });

  it("keeps messages when asked to, counts usage, and tells failures", async () => {
    const paid = randomUUID();
    const client = await connect("openai?model=gpt-4o&mode=usage", {
      headers: { "cf-aig-event-id": paid, "cf-aig-collect-log-payload": "true" },
    });
    await client.next();
    await client.next();
    client.socket.terminate();
    const row = await rowOf(paid);
    expect(row).toMatchObject({ tokens_in: 20, tokens_out: 8, success: false, model: "gpt-4o" });
    expect(row["response_head"]).toContain("response.done");
    const refusal = randomUUID();
    await refused("openai?model=m&mode=refuse", { headers: { "cf-aig-event-id": refusal } });
    expect(await rowOf(refusal)).toMatchObject({ status_code: 401, success: false });
  });

  it("has no row when it is not wanted", async () => {
    const eventId = randomUUID();
    const headers = { "cf-aig-event-id": eventId, "cf-aig-collect-log": "false" };
    const client = await connect("openai?model=m", { headers });
    client.socket.close();
    await client.closed;
    const later = randomUUID();
    const other = await connect("openai?model=m", { headers: { "cf-aig-event-id": later } });
    other.socket.close();
    await rowOf(later);
    expect(await rowsOf(eventId)).toEqual([]);
  });
});
