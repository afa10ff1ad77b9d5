// A proxy as companies have them, and two sites that only it can name. It runs in a Node of its own, prints first where
// it is, then a line for every request that it is asked for, and ends with SIGTERM.
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect } from "node:net";
import { WebSocketServer } from "ws";
import { authority, certificate, key } from "../platform/certificate.mjs";

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

/** Answers with who it is, or with an event stream that never ends. */
const site = (name) => (request, response) => {
  const path = request.url.replace(/^http:\/\/[^/]*/, "");
  if (path !== "/stream") return void response.end(`${name} ${path}`);
  response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
  response.once("close", () => print({ gone: name }));
};

const plain = createServer(site("plain"));
const secure = createTlsServer({ cert: certificate, key }, site("secure"));

const sockets = new WebSocketServer({ noServer: true });
for (const [name, server] of Object.entries({ plain, secure })) {
  server.on("upgrade", (request, socket, head) => {
    if (request.url === "/no") {
      return void socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      opened.send(`${name} ${request.url}`);
      opened.on("message", (data, isBinary) => {
        opened.send(data, { binary: isBinary });
      });
      opened.on("close", (code) => {
        print({ closed: request.url, code });
      });
    });
  });
}

const proxy = createServer((request, response) => {
  const { host, "proxy-authorization": authorization } = request.headers;
  print({ asked: request.url, method: request.method, host, authorization });
  site("proxied")(request, response);
});
proxy.on("connect", (request, socket) => {
  print({
    asked: request.url,
    method: "CONNECT",
    authorization: request.headers["proxy-authorization"],
  });
  socket.on("error", () => undefined);
  // Never says anything.
  if (request.url.startsWith("silent.test:")) return;
  if (!request.url.startsWith("site.test:")) {
    return void socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
  }
  const server = request.url.endsWith(":443") ? secure : plain;
  const upstream = connect(server.address().port, "127.0.0.1", () => {
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on("error", () => socket.destroy()).on("close", () => socket.destroy());
  socket.on("close", () => upstream.destroy());
});

const servers = [plain, secure, proxy];
for (const server of servers) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
}
print({ authority, plain: plain.address().port, proxy: proxy.address().port });
