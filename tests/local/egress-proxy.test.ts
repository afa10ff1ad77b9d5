import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startEgressProxy, type EgressProxy } from "../../adapters/shared/egress/egress-proxy.ts";
import type { Resolve } from "../../adapters/shared/egress/egress-resolve.ts";

const loopback = { address: "127.0.0.1", family: 4 } as const;
const elsewhere = { address: "93.184.215.14", family: 4 } as const;
const resolve: Resolve = (host) => {
  if (host === "mixed.test") return Promise.resolve([elsewhere, loopback]);
  if (host === "nx.test") return Promise.resolve([]);
  if (host === "hung.test") return new Promise(() => undefined);
  return Promise.resolve([loopback]);
};

/** What the site saw: requests by the number of their connection. */
const requests: string[] = [];
let connections = 0;
/** What the site answers to a request, by its path. */
const answers: Record<string, string> = {
  "/length": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "/chunked":
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nwiki\r\n5\r\npedia\r\n0\r\nX-Trailer: 1\r\n\r\n",
  "/none": "HTTP/1.1 204 No Content\r\n\r\n",
  "/early": "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n",
  "/old": "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
  "/closing": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
  "/more":
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
  "/until-end": "HTTP/1.1 200 OK\r\n\r\nall of it",
  "/both":
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  "/two-lengths": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
  "/feed": "HTTP/1.1 200 OK\r\nX: a\nContent-Length: 1\r\n\r\nabcd",
  "/challenge": "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n",
  "/bad-chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnine\r\nabc",
};
/** Those after which the site ends the connection. */
const ending = [
  "/bye",
  "/old",
  "/closing",
  "/until-end",
  "/both",
  "/two-lengths",
  "/feed",
  "/bad-chunk",
];

const site: Server = createServer((socket) => {
  const number = (connections += 1);
  let seen = "";
  socket.on("error", () => undefined);
  socket.on("data", (bytes) => {
    seen += bytes.toString("latin1");
    for (;;) {
      const head = seen.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/iu.exec(seen.slice(0, head))?.[1] ?? 0);
      if (head < 0 || seen.length < head + 4 + length) return;
      const request = seen.slice(0, head + 4 + length);
      seen = seen.slice(head + 4 + length);
      requests.push(`${number} ${request}`);
      const path = request.split(" ")[1] ?? "";
      if (path === "/big") {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${BIG}\r\n\r\n`);
        socket.write(Buffer.alloc(BIG - 3, "b"));
        socket.write("end");
      } else socket.write(answers[path] ?? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      if (ending.includes(path)) socket.end();
    }
  });
});
const BIG = 3_000_000;
let port = 0;
let proxy: EgressProxy;

beforeAll(async () => {
  await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
  port = (site.address() as AddressInfo).port;
  proxy = await startEgressProxy({
    allowHosts: ["site.test", "other.test"],
    resolve,
    timeoutMs: 500,
  });
});
afterAll(async () => {
  await proxy.close();
  site.close();
});
beforeEach(() => {
  requests.length = 0;
  connections = 0;
});

const loginOf = ({ login: { username, password } }: EgressProxy): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

interface Talk {
  readonly socket: Socket;
  /** Everything that came so far. */
  readonly seen: () => string;
  /** Sends, and resolves when what comes from then on matches, or the connection is over. */
  readonly say: (bytes: string, until: RegExp) => Promise<string>;
  readonly closed: Promise<string>;
}

function talkTo(to: EgressProxy): Talk {
  const socket = connect(to.port, "127.0.0.1");
  let seen = "";
  let isClosed = false;
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  socket.on("data", (chunk) => {
    seen += chunk.toString("latin1");
    tell();
  });
  socket.on("error", () => undefined);
  const closed = new Promise<string>((done) => {
    socket.on("close", () => {
      isClosed = true;
      tell();
      done(seen);
    });
  });
  const say = (bytes: string, until: RegExp): Promise<string> => {
    const from = seen.length;
    return new Promise((done) => {
      const look = (): void => {
        const answer = seen.slice(from);
        if (!until.test(answer) && !isClosed) return;
        listeners.delete(look);
        done(answer);
      };
      listeners.add(look);
      socket.write(bytes, "latin1");
    });
  };
  return { socket, seen: () => seen, say, closed };
}

/** Sends bytes and reads until the proxy closes. */
const talk = (bytes: string, to = proxy): Promise<string> => {
  const { socket, closed } = talkTo(to);
  socket.write(bytes, "latin1");
  return closed;
};

const get = (path: string, more = "", host = "site.test"): string =>
  `GET http://${host}:${port}${path} HTTP/1.1\r\nHost: ${host}\r\n${loginOf(proxy)}\r\n${more}\r\n`;

describe("startEgressProxy()", () => {
  it("serves nobody who does not know its login", async () => {
    const wrong = Buffer.from("browser:guess").toString("base64");
    for (const said of [
      "",
      `Proxy-Authorization: Basic ${wrong}\r\n`,
      `${loginOf(proxy)}\r\nProxy-Authorization: Basic ${wrong}\r\n`,
    ])
      for (const what of [`CONNECT site.test:${port}`, `GET http://site.test:${port}/length`]) {
        // Whoever is told may try once more.
        const asked = `${what} HTTP/1.1\r\nHost: x\r\n${said}\r\n`;
        const { say, socket } = talkTo(proxy);
        const twice = /\r\n\r\n[\s\S]*\r\n\r\n/u;
        const answer = await say(asked + asked, twice);
        socket.destroy();
        expect(answer.match(/HTTP\/1\.1 407 .*/gu)).toHaveLength(2);
        expect(answer).toContain("Proxy-Authenticate: Basic");
      }
    const body = `POST http://site.test:${port}/ HTTP/1.1\r\nContent-Length: 9\r\n\r\nGET / HTTP`;
    expect((await talk(body)).match(/HTTP\/1\.1 407 .*/gu)).toHaveLength(1);
    expect(requests).toEqual([]);
  });

  it("tells of its login, and answers for itself", async () => {
    const { say, socket } = talkTo(proxy);
    const { url } = proxy.login;
    expect(await say(`GET ${url} HTTP/1.1\r\n\r\n`, /\r\n\r\n/u)).toMatch(/^HTTP\/1\.1 407/u);
    const again = `GET ${url} HTTP/1.1\r\n${loginOf(proxy)}\r\n\r\n`;
    expect(await say(again, /\r\n\r\n/u)).toMatch(/^HTTP\/1\.1 204/u);
    expect(await say(get("/length"), /hello$/u)).toMatch(/^HTTP\/1\.1 200/u);
    // On the way of whoever has logged in comes nobody else.
    const answer = await say(`GET http://site.test:${port}/ HTTP/1.1\r\n\r\n`, /\r\n\r\n/u);
    expect(answer).toMatch(/^HTTP\/1\.1 407/u);
    socket.destroy();
  });

  it("forwards a request in origin form and without what is for the proxy", async () => {
    const { say, socket } = talkTo(proxy);
    const answer = await say(
      `POST http://site.test:${port}/length?b HTTP/1.1\r\nHost: site.test\r\n${loginOf(proxy)}\r\nProxy-Connection: keep-alive\r\nContent-Length: 2\r\n\r\nhi`,
      /\r\n\r\n/u,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200/u);
    expect(requests[0]).toMatch(/^1 POST \/length\?b HTTP\/1\.1\r\nHost: site\.test\r\n/u);
    expect(requests[0]).toMatch(/\r\n\r\nhi$/u);
    expect(requests[0]).not.toMatch(/proxy/iu);
    socket.destroy();
  });

  it("tunnels to a checked address", async () => {
    const { say, socket } = talkTo(proxy);
    const head = `CONNECT site.test:${port} HTTP/1.1\r\n${loginOf(proxy)}\r\n\r\n`;
    const answer = await say(`${head}GET /length HTTP/1.1\r\nHost: x\r\n\r\n`, /hello/u);
    expect(answer).toMatch(/^HTTP\/1\.1 200 Connection established\r\n\r\nHTTP\/1\.1 200/u);
    socket.destroy();
  });

  it.each([
    "evil.test",
    "mixed.test",
    "127.0.0.1",
    "localhost",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0x7f.1",
    "169.254.169.254",
  ])("refuses %s, tunnelled or not, at first and later", async (host) => {
    const prohibited =
      /HTTP\/1\.1 403 .*\r\nProxy-Status: causey; error=destination_ip_prohibited/u;
    for (const head of [
      `CONNECT ${host}:${port} HTTP/1.1`,
      `GET http://${host}:${port}/ HTTP/1.1`,
    ]) {
      const request = `${head}\r\nHost: ${host}\r\n${loginOf(proxy)}\r\n\r\n`;
      expect(await talk(request)).toMatch(prohibited);
      const { say } = talkTo(proxy);
      await say(get("/length"), /hello/u);
      expect(await say(request, prohibited)).toMatch(prohibited);
    }
    expect(requests).toHaveLength(2);
  });

  it.each([
    ["GET http://nx.test/ HTTP/1.1", "dns_error"],
    ["GET http://hung.test/ HTTP/1.1", "dns_error"],
    ["CONNECT site.test:9 HTTP/1.1", "connection_refused"],
    ["GET /origin-form HTTP/1.1", "http_protocol_error"],
    ["GET file:///etc/passwd HTTP/1.1", "http_protocol_error"],
    ["CONNECT site.test:80/x HTTP/1.1", "http_protocol_error"],
    ["nonsense", "http_protocol_error"],
  ])("answers %j with %s", async (head, reason) =>
    expect(await talk(`${head}\r\n${loginOf(proxy)}\r\n\r\n`)).toContain(`error=${reason}`),
  );

  it("ends clients that send no head, or one without an end", async () => {
    expect(await talk("GET http://site.test/ HTTP/1.1\r\n")).toBe("");
    expect(await talk(`GET http://site.test/ HTTP/1.1\r\nX: ${"a".repeat(100_000)}`)).toBe("");
  });

  it("bounds the number of connections", async () => {
    const small = await startEgressProxy({ maxConnections: 2, timeoutMs: 5000 });
    // A tunnel's refusal tells that the proxy knows of the connection.
    const holders = [talkTo(small), talkTo(small)];
    await Promise.all(
      holders.map(({ socket }) => new Promise<void>((done) => socket.once("connect", done))),
    );
    const request = `GET http://site.test/ HTTP/1.1\r\n${loginOf(small)}\r\n\r\n`;
    expect(await talk(request, small)).toMatch(/^HTTP\/1\.1 503/u);
    for (const { socket } of holders) socket.destroy();
    await small.close();
  });
});

describe("a connection to the proxy", () => {
  const whole: readonly (readonly [path: string, end: RegExp])[] = [
    ["/length", /hello$/u],
    ["/chunked", /X-Trailer: 1\r\n\r\n$/u],
    ["/none", /204 [\s\S]*\r\n\r\n$/u],
    ["/early", /304 [\s\S]*\r\n\r\n$/u],
    ["/big", /bend$/u],
  ];

  it("is used again when nobody can doubt where an answer ends", async () => {
    const { say, socket, seen } = talkTo(proxy);
    for (const [path, end] of whole) {
      const answer = await say(get(path), end);
      expect(answer, path).toMatch(end);
      expect(answer).toMatch(/Connection: keep-alive/u);
    }
    const head = `HEAD http://site.test:${port}/length HTTP/1.1\r\nHost: x\r\n${loginOf(proxy)}\r\n\r\n`;
    expect(seen().length).toBeGreaterThan(BIG);
    expect(connections).toBe(1);
    expect(requests.map((request) => request.split(" ")[2])).toEqual(whole.map(([path]) => path));
    expect(await say(head, /\r\n\r\n/u)).toMatch(/^HTTP\/1\.1 200/u);
    socket.destroy();
  });

  it("goes on without a site's connection that ends, and dials anew for another host", async () => {
    const { say, socket } = talkTo(proxy);
    for (const path of ["/old", "/closing"])
      expect(await say(get(path), /hi$/u)).toMatch(/Connection: keep-alive/u);
    await say(get("/length"), /hello$/u);
    await say(get("/length", "", "other.test"), /hello$/u);
    expect(connections).toBe(4);
    expect(requests[3]).toMatch(/^4 GET \/length/u);
    socket.destroy();
  });

  it.each(["/until-end", "/both", "/two-lengths", "/feed"])(
    "ends with an answer that ends nobody knows where: %s",
    async (path) => {
      const answer = await talk(get(path));
      expect(answer).toMatch(/Connection: close\r\n\r\n/u);
      expect(answer).toContain((answers[path] ?? "").split("\r\n\r\n").at(-1));
    },
  );

  it.each([
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 0\r\nContent-Length: 00\r\n",
    "X: a\nY: b\r\n",
    "Upgrade: websocket\r\n",
  ])("ends after a request that ends nobody knows where: %j", async (line) => {
    const { say, closed } = talkTo(proxy);
    expect(await say(get("/closing", line), /hi$/u)).toMatch(/Connection: close/u);
    await closed;
    expect(requests[0] ?? "").toMatch(/Connection: close/u);
  });

  it("takes bytes that a site sends unasked for no answer", async () => {
    const { say, seen, socket } = talkTo(proxy);
    await say(get("/more"), /hi$/u);
    expect(await say(get("/length"), /(?:hello|forged)$/u)).toMatch(/hello$/u);
    expect(seen()).not.toContain("forged");
    expect(connections).toBe(2);
    socket.destroy();
  });

  it("ends when the site plays the proxy, or breaks off a body", async () => {
    const { say, closed } = talkTo(proxy);
    expect(await say(get("/challenge"), /\r\n\r\n/u)).toBe("");
    await closed;
    expect(await talk(get("/bad-chunk"))).not.toContain("abc");
  });

  it("ends with the site's connection while nobody asks for anything", async () => {
    const { say, closed } = talkTo(proxy);
    await say(get("/length"), /hello$/u);
    await say(get("/bye"), /\r\n\r\n$/u);
    await closed;
  });
});
