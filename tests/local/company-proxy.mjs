// A proxy as companies have them, and two sites that only it can name. It runs in a Node of its own, prints first where
// it is, then a line for every request that it is asked for, and ends with SIGTERM.
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect } from "node:net";
import { WebSocketServer } from "ws";

// Made for these tests; the certificate is for site.test.
const authority = `-----BEGIN CERTIFICATE-----
MIIBhTCCASugAwIBAgIUL3rJxLUiEbMZijatU+Qsa5ClssowCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMY2F1c2V5LXRlc3RzMCAXDTI2MTEyMTA2MzQ1OVoYDzIxMjYx
MDI4MDYzNDU5WjAXMRUwEwYDVQQDDAxjYXVzZXktdGVzdHMwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAASiCQYX6ufrM7lnHW0hQgZ6JelTecmgGg1YO5jewSy/aq7L
kZLjLCmaKD9F/DuO+dKP/WSszsu48QqAxc/27Uvjo1MwUTAdBgNVHQ4EFgQUROn+
w/SrAf/0dJSap+ip8vnkrzEwHwYDVR0jBBgwFoAUROn+w/SrAf/0dJSap+ip8vnk
rzEwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAkNmrgtpt6Sh1
beeKGkfYkEPf7VaeL8MVuunxRLTOw8cCIAMtZrcaCHlfRxEojzyEBjBXe5QFAUs8
iRkGBiKiGnBL
-----END CERTIFICATE-----
`;
const certificate = `-----BEGIN CERTIFICATE-----
MIIBkjCCATigAwIBAgIUMNIxyXjv3GQci/yGvW0mHAk0rP4wCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMY2F1c2V5LXRlc3RzMCAXDTI2MTEyMTA2MzQ1OVoYDzIxMjYx
MDI4MDYzNDU5WjAUMRIwEAYDVQQDDAlzaXRlLnRlc3QwWTATBgcqhkjOPQIBBggq
hkjOPQMBBwNCAAQvpLuAXsFz0gVKrqiT901pTpqb5w0iwCJMg60P6n1/ZbuRNxHl
bo0IWiaf2lGsvuy14IpNZwRJnfVSp1re1Xzvo2MwYTAUBgNVHREEDTALgglzaXRl
LnRlc3QwCQYDVR0TBAIwADAdBgNVHQ4EFgQUmPX/PggWVDBe6Ar7fF7MqXasvT0w
HwYDVR0jBBgwFoAUROn+w/SrAf/0dJSap+ip8vnkrzEwCgYIKoZIzj0EAwIDSAAw
RQIgENo09AjQ8wUjam5YCdnqU2HYKst8Lz/d4aIk5TLc20gCIQDmNvgezOtDVk/p
NErWOat1x9Hc8LDdtKIcids/HqYzyQ==
-----END CERTIFICATE-----
`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgE9hZPmpmH0Y6LPPL
txHdcmh0T1AcRNoXKyTlhneCKP+hRANCAAQvpLuAXsFz0gVKrqiT901pTpqb5w0i
wCJMg60P6n1/ZbuRNxHlbo0IWiaf2lGsvuy14IpNZwRJnfVSp1re1Xzv
-----END PRIVATE KEY-----
`;

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
