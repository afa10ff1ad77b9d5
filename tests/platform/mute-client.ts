// A client that vanishes without a word, for the test platforms of Node, Deno and Bun.
import { connect } from "node:net";
import type { FetchApp, Served, ServeOptions } from "../../adapters/shared/http/drain.ts";
import type { ActorRef } from "../../core/ports.ts";

/** See `open-platform.d.ts`. */
export type ConnectMute = (ref: ActorRef) => Promise<void>;

const HANDSHAKE = [
  "GET / HTTP/1.1",
  "Host: 127.0.0.1",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version: 13",
  "",
  "",
].join("\r\n");

/** `connectMute` over the server of a runtime: a bare connection that never sends a frame, not even a pong. */
export function muteConnector(
  serve: (app: FetchApp, options: ServeOptions) => Promise<Served>,
): ConnectMute {
  return async (ref) => {
    const app = { fetch: (request: Request) => ref.fetch(request) };
    const { url, close } = await serve(app, { port: 0, handleSignals: false, graceMs: 0 });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("close", () => void close());
    await new Promise<void>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("data", (bytes: Buffer) => {
        if (bytes.toString("latin1").startsWith("HTTP/1.1 101")) resolve();
      });
      socket.write(HANDSHAKE);
    });
  };
}
