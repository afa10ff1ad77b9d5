import { STATUS_CODES, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { FetchApp } from "../shared/http/drain.ts";
import { rememberUpgrade } from "./received.ts";
import { offerUpgrade, type NodeUpgrade } from "./sockets.ts";
import { headersOf, writeBody } from "./write-response.ts";

/**
 * Lets an app accept WebSockets on a server of the host's own (`@hono/node-server`, `node:http`).
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { getRequestListener } from "@hono/node-server";
 * import { platformApi } from "causey";
 * import { acceptWebSockets, nodePlatform } from "causey/node";
 *
 * const platform = await nodePlatform();
 * const app = platformApi({ platform });
 * const server = createServer(getRequestListener(app.fetch)).listen(8787);
 * server.on("upgrade", acceptWebSockets(app));
 * ```
 */
export function acceptWebSockets(
  app: FetchApp,
): (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void {
  return (incoming, socket, head) => void handleUpgrade(app, incoming, socket, head);
}

/** Sends an upgrade request the way of every request; what the app does not accept is answered and closed. */
export async function handleUpgrade(
  app: FetchApp,
  incoming: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  const gone = new AbortController();
  socket.on("error", () => undefined);
  socket.once("close", () => {
    gone.abort();
  });
  // Until the connection is taken over nothing reads from it, so that a client's leaving would go unnoticed.
  const notice = (): void => {
    socket.read(0);
  };
  const release = (): void => {
    socket.off("readable", notice);
  };
  socket.on("readable", notice).once("end", () => {
    gone.abort();
  });
  let request: Request;
  try {
    request = toRequest(incoming, gone.signal);
  } catch {
    await refuse(socket, new Response("Bad Request", { status: 400 }));
    return;
  }
  const offer: NodeUpgrade = { incoming, socket, head, release, upgraded: false };
  offerUpgrade(request, offer);
  rememberUpgrade(request, incoming);
  const response = await answer(app, request, incoming);
  release();
  if (!offer.upgraded) await refuse(socket, response);
  // Accepted and then failed: the frames already sent are all that the client gets.
  else if (response.status >= 400) socket.destroy();
}

async function answer(
  app: FetchApp,
  request: Request,
  incoming: IncomingMessage,
): Promise<Response> {
  try {
    return await app.fetch(request, { incoming });
  } catch {
    return new Response("Internal Server Error", { status: 500 });
  }
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? "", incoming.rawHeaders[at + 1] ?? "");
  }
  const host = incoming.headers.host ?? "localhost";
  const url = new URL(incoming.url ?? "/", `http://${host}`);
  return new Request(url, { method: incoming.method ?? "GET", headers, signal });
}

/** Answers as HTTP, at the reader's pace, and closes: the parser let go of this connection. */
async function refuse(socket: Duplex, response: Response): Promise<void> {
  // Nothing else reads from it, so that a client's leaving would go unnoticed.
  socket.resume().once("end", () => socket.destroy());
  const headers = { ...headersOf(response.headers), connection: "close" };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}: ${one}\r\n`),
  );
  if (!socket.destroyed) {
    socket.write(
      `HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}\r\n${lines.join("")}\r\n`,
    );
  }
  await writeBody(response.body, socket);
}
