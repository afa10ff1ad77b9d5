import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { connectToPeer, type PeerConnection } from "../../adapters/peers/peer-connection.ts";
import { messageFrame } from "../../adapters/peers/link.ts";
import { nodeErrors, NotStarted } from "../../adapters/peers/owner-errors.ts";
import { servePeers, type PeerServer } from "../../adapters/peers/serve-peers.ts";
import { signatures } from "../../adapters/peers/signature.ts";
import type { ActorRef, Plain } from "../../core/ports.ts";
import { eventually } from "../cases/eventually.ts";

const SECRET = "the secret of the cluster";
const speaks = "tests";

let opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.toReversed()) await one.close();
  opened = [];
});

interface Owner {
  readonly port: number;
  readonly server: PeerServer;
  readonly logged: string[];
  readonly asked: Request[];
}

type Fetch = ActorRef["fetch"];

/** A node that listens on a port. */
async function owner(
  answer: Fetch = async () => new Response("hello"),
  spoken: string = speaks,
): Promise<Owner> {
  const logged: string[] = [];
  const asked: Request[] = [];
  const ref: ActorRef = {
    call: async (method, ...args) => (method === "bad" ? ((() => 1) as never) : args),
    fetch(request) {
      asked.push(request);
      return answer(request);
    },
  };
  const server = await servePeers({
    address: { host: "127.0.0.1", port: 0 },
    actors: { get: () => ref },
    isHere: (_, name) => name !== "elsewhere",
    upgrades: new WeakMap(),
    log: (level, message, fields) => logged.push(JSON.stringify([level, message, fields])),
    speaks: spoken,
    signatures: signatures(SECRET),
  });
  opened.push(server);
  return { port: server.port ?? 0, server, logged, asked };
}

function join(port: number, { secret = SECRET, speaks: ours = speaks } = {}) {
  return connectToPeer({
    address: { host: "127.0.0.1", port },
    upgrade: () => null,
    errors: nodeErrors,
    speaks: ours,
    signatures: signatures(secret),
    log: () => undefined,
    onLeaving: () => undefined,
    onLost: () => undefined,
  });
}

async function joined(port: number): Promise<PeerConnection> {
  const peer = await join(port);
  if (!("call" in peer)) throw new Error(`Not joined${peer.because}`);
  opened.push({ close: async () => peer.leave() });
  return peer;
}

/** Sends a request of one's own; resolves to the status. */
const path = "/actors/kind/name";

function send(port: number, headers: Record<string, string>, body: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ host: "127.0.0.1", port, method: "POST", path, headers });
    sent.once("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

function frame(text: string): Buffer {
  return Buffer.from([text.length, 0, 0, 0, ...Buffer.from(text)]);
}

/** Its type does not know that a stream takes it. */
const half = { duplex: "half" };
const post = (body: BodyInit, init: RequestInit = {}): Request =>
  new Request("http://local/upload?x=%20", { method: "POST", body, ...init, ...half });

describe("a node that is called over a network", () => {
  it("gets calls in their order, with all that plain data may hold", async () => {
    const peer = await joined((await owner()).port);
    const args: Plain[] = [new Uint8Array([0, 255]), { a: undefined, b: [-0, Number.NaN] }, "ü\0"];
    const calls = Array.from({ length: 100 }, (_, n) =>
      peer.call("kind", "name", "echo", [n, args]),
    );
    expect(await Promise.all(calls)).toEqual(calls.map((_, n) => [n, args]));
    await expect(peer.call("kind", "name", "bad", [])).rejects.toThrow(
      '"kind.bad" returned what cannot cross to another process',
    );
  });

  it("gets method, address, headers and body as they were, and so does the caller the answer", async () => {
    const { asked, port } = await owner(async (request) => {
      const headers = new Headers([
        ["x-answer", "ÿ"],
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
      ]);
      return new Response(await request.arrayBuffer(), { status: 207, headers });
    });
    const peer = await joined(port);
    const body = crypto.getRandomValues(new Uint8Array(60_000));
    const headers = { "x-asked": "é", connection: "close", "content-length": "60000" };
    const response = await peer.fetch("kind", "name", post(body, { headers }));
    expect([response.status, response.headers.get("x-answer")]).toEqual([207, "ÿ"]);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(body);
    const [request] = asked;
    expect([request?.method, request?.url]).toEqual(["POST", "http://local/upload?x=%20"]);
    expect(request?.headers.get("x-asked")).toBe("é");
  });

  it("streams both bodies at once", async () => {
    const { port } = await owner(async (request) => new Response(request.body));
    const peer = await joined(port);
    const upload = new TransformStream<Uint8Array, Uint8Array>();
    const writer = upload.writable.getWriter();
    const response = await peer.fetch("kind", "name", post(upload.readable));
    const reader = response.body!.getReader();
    for (let n = 0; n < 5; n++) {
      await writer.write(new Uint8Array([n]));
      expect((await reader.read()).value).toEqual(new Uint8Array([n]));
    }
    await writer.close();
    expect((await reader.read()).done).toBe(true);
  });

  it("hears that the caller has left", async () => {
    const { asked, port } = await owner(() => new Promise(() => undefined));
    const peer = await joined(port);
    const leaving = new AbortController();
    const gone = peer.fetch("kind", "name", new Request("http://local/", leaving));
    await eventually(() => asked.length === 1, "it is asked");
    leaving.abort();
    // No failure of ours: it is not to be logged as one.
    await expect(gone).rejects.toMatchObject({ status: 503, message: "The client has left" });
    await eventually(() => asked[0]!.signal.aborted, "it is aborted");
    await eventually(() => peer.size() === 0, "nothing is under way");
  });

  it("sends back calls of an actor that it has not got, and goes on with the others", async () => {
    const { asked, port } = await owner();
    const peer = await joined(port);
    const request = post("the body");
    await expect(peer.call("kind", "elsewhere", "echo", [])).rejects.toThrow(NotStarted);
    await expect(peer.fetch("kind", "elsewhere", request)).rejects.toThrow(NotStarted);
    expect([asked, await request.text(), peer.isOpen()]).toEqual([[], "the body", true]);
    expect(await peer.call("kind", "here/ü", "echo", [1])).toEqual([1]);
    await (await peer.fetch("kind", "here/ü", new Request("http://local/"))).text();
    expect(asked).toHaveLength(1);
  });

  it("starts nothing once it leaves, and the body stays whole", async () => {
    const { asked, port, server } = await owner();
    const peer = await joined(port);
    const request = post("the body");
    const left = server.leave(1000);
    await expect(peer.fetch("kind", "name", request)).rejects.toThrow();
    await expect(peer.call("kind", "name", "echo", [])).rejects.toThrow();
    await left;
    expect([asked, request.bodyUsed, await request.text()]).toEqual([[], false, "the body"]);
    expect(await join(port)).toEqual({ because: "" });
  });
});

describe("a node refuses", () => {
  it("a caller with another secret, and logs none of the two", async () => {
    const { logged, port } = await owner();
    for (let n = 0; n < 5; n++)
      expect(await join(port, { secret: "stolen" })).toEqual({ because: ", which answers 401" });
    // One line for all of them.
    expect(logged).toEqual([
      JSON.stringify([
        "warn",
        "A request of another node is refused: its signature is wrong: the nodes have different secrets",
        { address: "127.0.0.1", others: 0 },
      ]),
    ]);
  });

  it("a head that is not the signed one, and a request that was sent before", async () => {
    const { asked, port } = await owner();
    const signed = {
      ...signatures(SECRET).sign("POST", path, Buffer.from("a head")),
      "x-causey-speaks": encodeURIComponent(speaks),
    };
    const other = frame("another");
    expect(await send(port, signed, other)).toBe(401);
    expect(await send(port, signed, other)).toBe(401);
    expect(asked).toEqual([]);
  });

  it("another version, and says which it has itself", async () => {
    const { port } = await owner();
    expect(await join(port, { speaks: "causey 0.0.1 (ü)" })).toEqual({
      because: ", which is of another runtime or version (tests; this is causey 0.0.1 (ü))",
    });
  });

  it.each([
    [1, false],
    [2, true],
    [3, true],
    [4, true],
    [5, false],
  ])("nodes more than one protocol away: %s calls 3", async (number, isTaken) => {
    const { port } = await owner(undefined, "causey cluster 3");
    const answer = await join(port, { speaks: `causey cluster ${number}` });
    expect("call" in answer).toBe(isTaken);
    if ("call" in answer) answer.leave();
  });

  it("heads that are too long, or none, and serves the others on", async () => {
    const { asked, port } = await owner();
    const peer = await joined(port);
    const heads = [
      Buffer.alloc(8, 0xff),
      frame("another"),
      frame("\0\0"),
      frame("cut off").subarray(0, 7),
    ];
    const status = async (bytes: Buffer): Promise<number | string> => {
      const signed = signatures(SECRET).sign("POST", path, Buffer.from("\0\0"));
      return send(port, { ...signed, "x-causey-speaks": speaks }, bytes).catch(() => "broken");
    };
    expect(await Promise.all(heads.map(status))).toEqual(["broken", 401, "broken", "broken"]);
    const head = { method: "GET", url: "http://local/", headers: [], hasBody: false };
    const long = messageFrame({ ...head, rest: "x".repeat(1024 * 1024) });
    const signed = signatures(SECRET).sign("POST", path, long[1]);
    const sent = send(port, { ...signed, "x-causey-speaks": speaks }, Buffer.concat(long));
    await expect(sent).rejects.toThrow();
    const garbage = connect(port, "127.0.0.1", () => garbage.write("\0\0garbage"));
    await new Promise((resolve) => garbage.on("error", resolve).resume().once("close", resolve));
    expect(await peer.call("kind", "name", "echo", ["still here"])).toEqual(["still here"]);
    expect(asked).toEqual([]);
  });
});
