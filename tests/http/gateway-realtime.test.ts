import { randomBytes, randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { describe, expect, inject, it } from "vitest";
import { WebSocket, type ClientOptions } from "ws";
import { eventually } from "../cases/eventually.ts";
import { gatewayToken } from "./prepare-target.ts";
import type { SocketSeen } from "./realtime-upstream.ts";

const base = inject("baseUrl").replace(/^http/, "ws");
const upstream = inject("upstreamUrl");
const account = inject("accountId");
const token = inject("token");

interface Options {
  readonly gateway?: string;
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

const guarded = { "cf-aig-authorization": `Bearer ${gatewayToken}` };

/** A connection through the gateway; `path` is the provider and what follows it. */
interface Client {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** The connection below. */
  readonly raw: Socket;
  next(): Promise<string | Buffer>;
}

/** The answer in place of a connection. */
interface Refusal {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

function open(path: string, options: Options = {}): Promise<Client | Refusal> {
  const { gateway = "open", protocols = [], headers = {} } = options;
  const settings: ClientOptions = { headers, perMessageDeflate: false };
  const url = `${base}/v1/${account}/${gateway}/${path}`;
  const socket = new WebSocket(url, [...protocols], settings);
  const received: (string | Buffer)[] = [];
  const waiting: ((message: string | Buffer) => void)[] = [];
  socket.on("message", (data: Buffer, binary) => {
    const message = binary ? data : data.toString();
    const first = waiting.shift();
    if (first === undefined) received.push(message);
    else first(message);
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  const next = (): Promise<string | Buffer> => {
    const message = received.shift();
    return message === undefined
      ? new Promise((resolve) => waiting.push(resolve))
      : Promise.resolve(message);
  };
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("upgrade", ({ socket: raw }) => {
      socket.on("open", () => resolve({ socket, closed, raw, next }));
    });
    socket.on("unexpected-response", (_request, answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (text: string) => (body += text));
      answer.on("end", () => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
      });
    });
  });
}

async function connect(path: string, options?: Options): Promise<Client> {
  const opened = await open(path, options);
  if ("status" in opened) throw new Error(`Refused: ${opened.status} ${opened.body}`);
  return opened;
}

async function refused(path: string, options?: Options): Promise<Refusal> {
  const opened = await open(path, options);
  if ("status" in opened) return opened;
  opened.socket.terminate();
  throw new Error("Not refused");
}

async function seenBy(test: string): Promise<SocketSeen[]> {
  return (await (await fetch(`${upstream}/__sockets/${test}`)).json()) as SocketSeen[];
}

/** Whether nothing leaves a client any more. */
async function isSteady(socket: WebSocket): Promise<boolean> {
  const before = socket.bufferedAmount;
  await new Promise((resolve) => setTimeout(resolve, 300));
  return socket.bufferedAmount === before;
}

/** What the provider saw of a connection to `path`, which then is closed. */
async function arrival(path: string, options?: Options): Promise<SocketSeen> {
  const test = randomUUID();
  const client = await connect(`${path}${path.includes("?") ? "&" : "?"}test=${test}`, options);
  client.socket.close();
  await client.closed;
  const [seen] = await seenBy(test);
  if (seen === undefined) throw new Error("Nothing arrived");
  return { ...seen, url: seen.url.replace(/[?&]test=[^&]*/, "") };
}

describe("who may open a realtime connection", () => {
  it("is refused with 401 before the upgrade, and the provider hears nothing", async () => {
    const test = randomUUID();
    for (const headers of [{}, { "cf-aig-authorization": "Bearer wrong" }]) {
      const refusal = await refused(`openai?test=${test}`, { gateway: "guarded", headers });
      expect(refusal.status).toBe(401);
      expect(JSON.parse(refusal.body)).toMatchObject({
        success: false,
        error: [{ code: 2009 }],
        errors: [{ code: 2009 }],
      });
    }
    const protocols = ["realtime", "cf-aig-authorization.wrong"];
    const refusal = await refused(`openai?test=${test}`, { gateway: "guarded", protocols });
    expect(refusal.status).toBe(401);
    expect(await seenBy(test)).toEqual([]);
  });

  it("shows its token in a header, bare or as Bearer, or in a subprotocol", async () => {
    for (const options of [
      { headers: guarded },
      { headers: { "gw-aig-authorization": gatewayToken } },
      { protocols: [`cf-aig-authorization.${gatewayToken}`] },
      { protocols: ["realtime", `gw-aig-authorization.${gatewayToken}`] },
    ]) {
      const seen = await arrival("openai?model=m", { gateway: "guarded", ...options });
      expect(JSON.stringify(seen)).not.toContain(gatewayToken);
      expect(seen.url).toBe("/v1/realtime?model=m");
    }
  });

  it("is answered the subprotocol that the provider selected, else one that it offered", async () => {
    const auth = `cf-aig-authorization.${gatewayToken}`;
    const other = await refused("openai?model=m", { headers: guarded, protocols: ["other"] });
    expect(other.status).toBe(502);
    for (const [protocols, selected] of [
      [[auth, "realtime"], "realtime"],
      [[auth], auth],
    ] as const) {
      const client = await connect("openai?model=m", { gateway: "guarded", protocols });
      expect(client.socket.protocol).toBe(selected);
      client.socket.terminate();
    }
  });

  it("cannot have the gateway token travel in the query or in another subprotocol", async () => {
    const seen = await arrival(`openai?model=m&key=${gatewayToken}`, {
      headers: guarded,
      protocols: ["realtime", `stolen.${gatewayToken}`],
    });
    expect(JSON.stringify(seen)).not.toContain(gatewayToken);
  });
});

describe("where a realtime connection leads", () => {
  it("takes keys of browsers out of the subprotocols and puts them where the provider reads them", async () => {
    const openai = await arrival("openai?model=m", {
      protocols: ["realtime", "openai-insecure-api-key.sk-1"],
    });
    expect(openai.headers["authorization"]).toBe("Bearer sk-1");
    expect(openai.headers["sec-websocket-protocol"]).toBe("realtime");
    const eleven = await arrival("elevenlabs?agent_id=a", { protocols: ["xi-api-key.xi-1"] });
    expect([eleven.url, eleven.headers["xi-api-key"]]).toEqual([
      "/v1/convai/conversation?agent_id=a",
      "xi-1",
    ]);
    const fal = await arrival("fal/fal-ai/model", { protocols: ["fal-api-key.f-1"] });
    expect([fal.url, fal.headers["authorization"]]).toEqual(["/fal-ai/model", "Key f-1"]);
    const deepgram = await arrival("deepgram?encoding=linear16", { protocols: ["token", "d-1"] });
    expect([deepgram.url, deepgram.headers["authorization"]]).toEqual([
      "/v1/listen?encoding=linear16",
      "Token d-1",
    ]);
  });

  it("knows the paths of the providers", async () => {
    expect((await arrival("google?api_key=g-1")).url).toBe(
      "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=g-1",
    );
    expect((await arrival("cartesia?cartesia_version=2024-06-10&api_key=c-1")).url).toBe(
      "/tts/websocket?cartesia_version=2024-06-10&api_key=c-1",
    );
    expect((await arrival("workers-ai?model=@cf/deepgram/nova-3&encoding=linear16")).url).toBe(
      "/ai/run/@cf/deepgram/nova-3?encoding=linear16",
    );
    expect((await arrival("openai/realtime?model=m")).url).toBe("/v1/realtime?model=m");
    expect((await arrival("openai/v1/realtime?model=m")).url).toBe("/v1/realtime?model=m");
  });

  it("sends the configured key when the client has none, and only then", async () => {
    const none = await arrival("elevenlabs?agent_id=a");
    expect(none.headers["xi-api-key"]).toBe("xi-configured-key");
    const own = await arrival("elevenlabs?agent_id=a", { headers: { "xi-api-key": "mine" } });
    expect(own.headers["xi-api-key"]).toBe("mine");
    const other = await arrival("elevenlabs?agent_id=a", {
      protocols: ["openai-insecure-api-key.sk-1"],
    });
    expect(JSON.stringify(other)).not.toContain("sk-1");
  });

  it("passes headers that are the provider's and holds back those of the gateway and of the hop", async () => {
    const seen = await arrival("openai?model=m", {
      headers: {
        authorization: "Bearer sk",
        "openai-beta": "realtime=v1",
        "cf-aig-metadata": '{"a":1}',
        "x-forwarded-for": "10.0.0.1",
      },
    });
    expect(seen.headers).toMatchObject({
      authorization: "Bearer sk",
      "openai-beta": "realtime=v1",
    });
    expect(Object.keys(seen.headers).filter((name) => /aig|forwarded/.test(name))).toEqual([]);
  });

  it("hands on the status and the body of a provider that refuses", async () => {
    const refusal = await refused("openai?model=m&mode=refuse");
    expect([refusal.status, refusal.body, refusal.headers["x-kept"]]).toEqual([
      401,
      '{"error":{"message":"no such key"}}',
      "yes",
    ]);
  });

  it("answers 502 / 2005 when the provider cannot be reached, 400 when there is none", async () => {
    const dead = await refused("deepseek/realtime");
    expect([dead.status, dead.body]).toEqual([502, expect.stringContaining('"code":2005')]);
    const unknown = await refused("nobody/realtime");
    expect([unknown.status, unknown.body]).toEqual([400, expect.stringContaining('"code":2008')]);
    expect((await refused("mistral")).status).toBe(400);
  });
});

describe("a gateway with checks", () => {
  async function makeGateway(action: "BLOCK" | "FLAG"): Promise<string> {
    const id = `rt-${randomUUID().slice(0, 8)}`;
    const url = `${inject("baseUrl")}/client/v4/accounts/${account}/ai-gateway/gateways`;
    const settings = {
      id,
      authentication: false,
      cache_invalidate_on_update: false,
      cache_ttl: null,
      collect_logs: true,
      rate_limiting_interval: null,
      rate_limiting_limit: null,
      dlp: { enabled: true, action, profiles: ["financial"] },
    };
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const made = await fetch(url, { method: "POST", headers, body: JSON.stringify(settings) });
    expect(made.status).toBe(200);
    return id;
  }

  it("lets no WebSocket pass unchecked when it blocks, and any when it only flags", async () => {
    const refusal = await refused("openai?model=m", { gateway: await makeGateway("BLOCK") });
    expect([refusal.status, refusal.body]).toEqual([503, expect.stringContaining("7013")]);
    const client = await connect("openai?model=m", { gateway: await makeGateway("FLAG") });
    client.socket.send("hello");
    expect(await client.next()).toBe("hello");
    client.socket.close();
  });
});

describe("a provider that does not accept", () => {
  it("is waited for no longer than asked", async () => {
    const test = randomUUID();
    const headers = { "cf-aig-request-timeout": "200" };
    const refusal = await refused(`openai?model=m&mode=silent&test=${test}`, { headers });
    expect([refusal.status, refusal.body]).toEqual([502, expect.stringContaining('"code":2005')]);
    await eventually(async () => (await seenBy(test))[0]?.gone === true, "the attempt is over");
  });

  it("leaves no secret in the answer or in the log", async () => {
    const eventId = randomUUID();
    const headers = { ...guarded, "cf-aig-event-id": eventId, "x-api-key": "s3cret-header" };
    const protocols = ["realtime", "openai-insecure-api-key.s3cret-protocol"];
    const query = "api_key=s3cret-query&key=s3cret-key&access_token=s3cret-token";
    for (const path of ["deepseek/realtime", "openai/v1/realtime"]) {
      const refusal = await refused(`${path}?${query}&mode=refuse`, { headers, protocols });
      expect(refusal.status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(refusal)).not.toMatch(/s3cret|gateway-token/);
    }
    const logs = `${inject("baseUrl")}/client/v4/accounts/${account}/ai-gateway/gateways/open/logs`;
    const authorization = { authorization: `Bearer ${token}` };
    const found = async (): Promise<string> => {
      const filter = `filters.key=event_id&filters.operator=eq&filters.value=${eventId}`;
      return (await fetch(`${logs}?${filter}`, { headers: authorization })).text();
    };
    const rowsIn = (text: string): unknown[] => (JSON.parse(text) as { result: unknown[] }).result;
    await eventually(async () => rowsIn(await found()).length === 2, "the rows are written");
    expect(await found()).not.toMatch(/s3cret|gateway-token/);
  });
});

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
      // workerd reads such a text with replacements (docs/gateway.md).
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
    if (inject("target") === "node") {
      // Kernels hold a few MiB, the gateway one or two.
      await eventually(() => isSteady(client.socket), "the client is stopped");
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

describe("a stranger on a gateway without authentication", () => {
  it("gets no connection that the operator's key would pay for", async () => {
    const refusal = await refused("elevenlabs", { gateway: "strangers" });
    expect(refusal.status).toBe(401);
    expect(refusal.body).toContain("only for requests with a gateway token");
    const own = { "xi-api-key": "key-of-the-caller" };
    const client = await connect("elevenlabs", { gateway: "strangers", headers: own });
    client.socket.close();
    await client.closed;
  });
});
