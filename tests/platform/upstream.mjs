// An upstream with good and bad manners for the transport suite. It runs in a Node of its own, whatever
// runtime the tests run on, prints its URL and ends with its standard input.
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { WebSocketServer } from "ws";
import { certificate, key } from "./certificate.mjs";

/** What happened to the requests that named themselves with `?id=`. */
const seen = new Map();
const noteOf = (id) => {
  const note = seen.get(id) ?? { bytes: 0, came: false, gone: false, sent: 0 };
  seen.set(id, note);
  return note;
};

const text = Array.from({ length: 200 }, (_, i) => `line ${i}: Grüße 🐘`).join("\n");

/** The bytes of a body from `from` on, a multiple of 4: each four are their place divided by four, the least byte first. */
function counted(from, length) {
  const words = Uint32Array.from({ length: Math.ceil(length / 4) }, (_, i) => from / 4 + i);
  return Buffer.from(words.buffer, 0, length);
}

const packers = {
  gzip: gzipSync,
  "x-gzip": gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  identity: (bytes) => bytes,
};

/** Connections that have had an answer of `restart`. */
const restarted = new WeakSet();

const secure = createTlsServer({ cert: certificate, key }, (_request, response) =>
  response.end("secret"),
);
secure.on("tlsClientError", () => undefined);

const routes = {
  /** What arrived: method, target and raw headers. */
  headers(request, response) {
    const pairs = [];
    for (let i = 0; i < request.rawHeaders.length; i += 2)
      pairs.push(request.rawHeaders.slice(i, i + 2));
    response.end(JSON.stringify({ method: request.method, url: request.url, pairs }));
  },
  echo(request, response) {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    request.pipe(response);
  },
  "reply-headers"(_request, response) {
    response.setHeader("set-cookie", ["a=1; Path=/", "b=2, with comma"]);
    response.setHeader("connection", "close, x-listed");
    response.setHeader("x-listed", "for this hop only");
    response.setHeader("keep-alive", "timeout=5");
    response.setHeader("proxy-authenticate", "Basic");
    response.setHeader("x-kept", "yes");
    response.setHeader("retry-after", "7");
    response.writeHead(429);
    response.end("slow down");
  },
  gzip(_request, response) {
    const body = gzipSync(text);
    response.writeHead(200, {
      "content-encoding": "gzip",
      "content-length": body.length,
      "content-type": "text/plain",
    });
    response.end(body);
  },
  /** The text in the encodings of `?as=`, one on top of the other; without saying so with `&silent`. */
  packed(request, response) {
    const { searchParams } = new URL(request.url, "http://upstream");
    const named = searchParams.get("as");
    const body = named
      .toLowerCase()
      .split(", ")
      .reduce((bytes, name) => packers[name](bytes), Buffer.from(text));
    response.setHeader("content-length", body.length);
    if (!searchParams.has("silent")) response.setHeader("content-encoding", named);
    response.end(body);
  },
  plain(_request, response) {
    response.writeHead(200, { "content-length": Buffer.byteLength(text) });
    response.end(text);
  },
  redirect(_request, response) {
    response.writeHead(302, { location: "/plain" }).end("moved");
  },
  empty(_request, response) {
    response.writeHead(204).end();
  },
  /** Promises more than it sends. */
  truncated(_request, response) {
    response.writeHead(200, { "content-length": 200_000 });
    response.write("only this", () => setTimeout(() => response.destroy(), 20));
  },
  "truncated-small"(_request, response) {
    response.writeHead(200, { "content-length": 100 });
    response.write("only this", () => setTimeout(() => response.destroy(), 20));
  },
  "truncated-chunks"(_request, response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 1\n\n", () => setTimeout(() => response.destroy(), 20));
  },
  /** A small answer of known length, of which the second half comes later. */
  halves(request, response) {
    const ms = Number(new URL(request.url, "http://upstream").searchParams.get("ms") ?? 300);
    response.writeHead(200, { "content-length": 2 });
    response.write("1", () => setTimeout(() => response.end("2"), ms));
  },
  /** One event, and then nothing. */
  "half-stream"(_request, response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 0\n\n");
  },
  hangup(request) {
    request.socket.destroy();
  },
  reset(request) {
    request.socket.resetAndDestroy();
  },
  /** Answers the first request of a connection, and resets it at the next one. */
  restart(request, response, note) {
    note.bytes += 1;
    if (restarted.has(request.socket)) return void request.socket.resetAndDestroy();
    restarted.add(request.socket);
    response.writeHead(200, { "content-length": 2 }).end("ok");
  },
  /** The port of a server whose certificate nobody trusts. */
  "tls-port"(_request, response) {
    response.end(`${secure.address().port}`);
  },
  silent() {},
  /** One event, and then one every 20 ms for ever. */
  stream(_request, response) {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: 0\n\n");
    const timer = setInterval(() => response.write("data: n\n\n"), 20);
    response.once("close", () => clearInterval(timer));
  },
  /** 256 MiB of {@link counted} bytes as fast as they are taken. */
  flood(_request, response, note) {
    const more = () => {
      while (note.sent < 256 * 1024 * 1024) {
        const chunk = counted(note.sent, 64 * 1024);
        note.sent += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
      response.end();
    };
    response.writeHead(200);
    more();
  },
  /** As many counted bytes as `?bytes=` asks for; the connection ends with them. */
  last(request, response) {
    const { searchParams } = new URL(request.url, "http://upstream");
    const bytes = Number(searchParams.get("bytes"));
    const framing = searchParams.get("framing");
    response.setHeader("connection", "close");
    if (framing === "length") response.setHeader("content-length", bytes);
    if (framing === "close") response.useChunkedEncodingByDefault = false;
    response.end(counted(0, bytes));
  },
  upload(request, response, note) {
    request.on("data", (chunk) => {
      note.bytes += chunk.length;
    });
    request.on("end", () => response.end(JSON.stringify({ bytes: note.bytes })));
  },
};

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url, "http://upstream");
  const name = pathname.slice(1);
  const note = noteOf(searchParams.get("id"));
  if (name === "note") return void response.end(JSON.stringify(note));
  note.came = true;
  request.socket.setMaxListeners(0).once("close", () => {
    note.gone = true;
  });
  const route = Object.hasOwn(routes, name) ? routes[name] : undefined;
  if (route === undefined) response.writeHead(404).end();
  else route(request, response, note);
});
// The suite asks for its own behaviour on Expect: never a 100.
server.on("checkContinue", (_request, response) => response.writeHead(417).end("Expect arrived"));

const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: 32 * 1024 * 1024,
  handleProtocols: (offered) => (offered.has("second") ? "second" : false),
});

/** What a WebSocket server does, by the path behind `/ws/`. */
const socketRoutes = {
  /** First what arrived with the handshake, then every message as it came. */
  echo(socket, request) {
    socket.send(JSON.stringify({ url: request.url, headers: request.headers }));
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  },
  /** Closes as the first message says: `{code, reason}`. */
  close(socket) {
    socket.on("message", (data) => {
      const { code, reason } = JSON.parse(String(data));
      for (let i = 0; i < 5; i++) socket.send(`last ${i}`);
      socket.close(code, reason);
    });
  },
  die(socket, request) {
    socket.on("message", () => request.socket.destroy());
  },
  /** Sends the bytes of `?hex=` as they are, whatever they mean. */
  raw(_socket, request) {
    const { searchParams } = new URL(request.url, "http://upstream");
    request.socket.write(Buffer.from(searchParams.get("hex"), "hex"));
  },
  /** A message of 17 MiB, in as many fragments as `?fragments=` says. */
  big(socket, request) {
    const { searchParams } = new URL(request.url, "http://upstream");
    const fragments = Number(searchParams.get("fragments"));
    const part = Buffer.alloc(Math.ceil((17 * 1024 * 1024) / fragments));
    for (let left = fragments; left > 0; left -= 1)
      socket.send(part, { fin: left === 1, binary: true }, () => undefined);
  },
  /** 256 MiB as fast as they are taken. */
  flood(socket, _request, note) {
    const chunk = Buffer.alloc(64 * 1024, "x");
    const more = () => {
      while (note.sent < 256 * 1024 * 1024 && socket.readyState === 1) {
        note.sent += chunk.length;
        socket.send(chunk, () => undefined);
        if (socket.bufferedAmount > 1024 * 1024) return void setTimeout(more, 2);
      }
    };
    more();
  },
  /** Reads nothing. */
  deaf(_socket, request) {
    request.socket.pause();
  },
};

server.on("upgrade", (request, socket, head) => {
  const { pathname, searchParams } = new URL(request.url, "http://upstream");
  const name = pathname.slice("/ws/".length);
  const note = noteOf(searchParams.get("id"));
  note.came = true;
  socket.on("error", () => undefined);
  socket.once("close", () => {
    note.gone = true;
  });
  if (name === "refuse") {
    const body = '{"error":"no such key"}';
    socket.end(
      `HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nx-kept: yes\r\n` +
        `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
    );
    return;
  }
  // Noticed only by who reads.
  if (name === "silent") return void socket.resume().once("end", () => socket.destroy());
  const route = Object.hasOwn(socketRoutes, name) ? socketRoutes[name] : undefined;
  if (route === undefined) return void socket.destroy();
  sockets.handleUpgrade(request, socket, head, (open) => {
    open.on("error", () => undefined);
    open.on("close", (code, reason) => {
      note.code = code;
      note.reason = String(reason);
    });
    route(open, request, note);
  });
});

secure.listen(0, "127.0.0.1", () =>
  server.listen(0, "127.0.0.1", () =>
    process.stdout.write(`http://127.0.0.1:${server.address().port}\n`),
  ),
);
process.stdin.on("end", () => process.exit(0)).resume();
