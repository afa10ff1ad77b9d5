import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { startTarget, type Target } from "./target.ts";

const token = inject("token");
const account = inject("accountId");

const seen = new Set<string>();
const credentials: unknown[] = [];
let connections = 0;
let site: Server;
let target: Target;
let folder: string;
let origin = "";

const images = Array.from({ length: 24 }, (_, n) => `<img src="/picture-${n}">`).join("");
const worker = 'fetch("/by-worker").then(() => postMessage("fetched"))';
const elsewhere = (): string => `fetch("${origin}/by-blob-worker", { mode: "no-cors" })`;

beforeAll(async () => {
  site = createServer((request, response) => {
    const path = request.url ?? "";
    seen.add(path);
    credentials.push(request.headers["proxy-authorization"]);
    if (path === "/page") {
      response.writeHead(200, { "content-type": "text/html" });
      return void response.end(`<p>page${images}<script>new Worker("/worker.js")</script>`);
    }
    if (path === "/challenge")
      return void response.writeHead(407, { "proxy-authenticate": "Basic realm=x" }).end("pay");
    if (path === "/worker.js")
      return void response.writeHead(200, { "content-type": "text/javascript" }).end(worker);
    response.writeHead(200, { "content-type": "image/gif" }).end("GIF89a");
  });
  site.on("connection", () => (connections += 1));
  site.on("upgrade", ({ headers }, socket) => {
    seen.add("websocket");
    const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash("sha1").update(key).digest("base64");
    const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    socket.write(`${[...head, `Sec-WebSocket-Accept: ${accept}`].join("\r\n")}\r\n\r\n`);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), "causey-proxy-"));
  const config = join(folder, "causey.json");
  writeFileSync(config, JSON.stringify({ rendering: { allowHosts: [new URL(origin).host] } }));
  const args = ["--account-id", account, "--config", config];
  target = await startTarget({ args, env: { CAUSEY_TOKEN: token } });
});

afterAll(async () => {
  await target?.stop();
  site?.closeAllConnections();
  site?.close();
  rmSync(folder, { recursive: true, force: true });
});

const content = async (body: object): Promise<{ status: number; text: string }> => {
  const path = `/client/v4/accounts/${account}/browser-rendering/content`;
  const answer = await fetch(target.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
};

const idle = { gotoOptions: { waitUntil: "networkidle0", timeout: 60_000 } };

it("a plain-http page's requests share connections", async () => {
  const { status, text } = await content({ url: `${origin}/page`, ...idle });
  expect([status, text]).toEqual([200, expect.stringContaining("page")]);
  expect(seen).toContain("/picture-23");
  expect(seen).toContain("/by-worker");
  // A browser opens six at most for each host; one more is for the worker.
  expect(connections).toBeLessThanOrEqual(8);
});

it("workers and WebSockets of markup without an address pass the proxy too", async () => {
  const socket = `new WebSocket("${origin.replace("http", "ws")}/socket")`;
  const done = `document.body.append(" ready")`;
  const script = `
    const blob = new Blob([${JSON.stringify(`${elsewhere()}.then(() => postMessage(1))`)}]);
    const worker = new Worker(URL.createObjectURL(blob));
    const fetched = new Promise((resolve) => (worker.onmessage = resolve));
    const opened = new Promise((resolve) => (${socket}.onopen = resolve));
    Promise.all([fetched, opened]).then(() => { const p = document.createElement("p"); p.id = "ready"; document.body.append(p); ${done}; });`;
  const { status } = await content({
    html: `<body><script>${script}</script>`,
    waitForSelector: { selector: "#ready" },
  });
  expect(status).toBe(200);
  expect([...seen]).toEqual(expect.arrayContaining(["/by-blob-worker", "websocket"]));
});

it("no site learns what the proxy asks for, nor asks for it itself", async () => {
  const { status } = await content({ url: `${origin}/challenge` });
  expect(status).toBe(422);
  expect(new Set(credentials)).toEqual(new Set([undefined]));
});
