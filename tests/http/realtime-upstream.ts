import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";

/** What the realtime server saw of one connection; fetch it from `{upstreamUrl}/__sockets/{test}`. */
export interface SocketSeen {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes of the messages that arrived in the mode `echo`. */
  bytes: number;
  /** Bytes that were handed over to a connection of the mode `flood`. */
  sent: number;
  gone: boolean;
  code?: number;
  reason?: string;
}

type Mode = (socket: WebSocket, seen: SocketSeen, request: IncomingMessage) => void;

/** How a connection behaves: its query parameter `mode`. */
const modes: Readonly<Record<string, Mode>> = {
  echo: (socket, seen) => {
    socket.on("message", (data: Buffer, binary) => {
      seen.bytes += data.byteLength;
      socket.send(data, { binary });
    });
  },
  /** Closes as the first message says. */
  close: (socket) => {
    socket.on("message", (data: Buffer) => {
      const { code, reason } = JSON.parse(data.toString()) as { code: number; reason: string };
      for (let i = 0; i < 5; i++) socket.send(`last ${i}`);
      socket.close(code, reason);
    });
  },
  /** Sends the bytes of the query parameter `hex` as they are, whatever they mean. */
  raw: (_socket, _seen, request) => {
    const { searchParams } = new URL(request.url ?? "/", "http://upstream");
    request.socket.write(Buffer.from(searchParams.get("hex") ?? "", "hex"));
  },
  /** Reads nothing. */
  deaf: (_socket, _seen, request) => {
    request.socket.pause();
  },
  die: (socket, _seen, request) => {
    socket.on("message", () => request.socket.destroy());
  },
  /** 256 MiB as fast as they are taken. */
  flood: (socket, seen) => {
    const chunk = Buffer.alloc(64 * 1024, "x");
    const more = (): void => {
      while (seen.sent < 256 * 1024 * 1024 && socket.readyState === WebSocket.OPEN) {
        seen.sent += chunk.length;
        socket.send(chunk, () => undefined);
        if (socket.bufferedAmount > 1024 * 1024) return void setTimeout(more, 2);
      }
    };
    more();
  },
  /** Two responses as OpenAI reports them. */
  usage: (socket) => {
    const usage = { input_tokens: 10, output_tokens: 4, total_tokens: 14 };
    for (let i = 0; i < 2; i++)
      socket.send(JSON.stringify({ type: "response.done", response: { usage } }));
  },
};

/** A WebSocket server on the model server's port. */
export interface RealtimeUpstream {
  seenBy(test: string): SocketSeen[];
  open(): number;
}

/** Answers the upgrade requests of a server. */
export function realtimeUpstream(server: Server): RealtimeUpstream {
  const seen = new Map<string, SocketSeen[]>();
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has("realtime") ? "realtime" : false),
  });
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const url = request.url ?? "/";
    const query = new URL(url, "http://upstream").searchParams;
    const test = query.get("test") ?? "";
    const record: SocketSeen = {
      url,
      headers: request.headers as Record<string, string>,
      bytes: 0,
      sent: 0,
      gone: false,
    };
    seen.set(test, [...(seen.get(test) ?? []), record]);
    socket.on("error", () => undefined);
    socket.once("close", () => (record.gone = true));
    const mode = query.get("mode") ?? "echo";
    // Never answers; sees only by reading that the other side leaves.
    if (mode === "silent") return void socket.resume().once("end", () => socket.destroy());
    if (mode === "refuse") {
      const body = '{"error":{"message":"no such key"}}';
      socket.end(
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nx-kept: yes\r\n" +
          `content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (open) => {
      open.on("close", (code, reason) => {
        record.code = code;
        record.reason = reason.toString();
      });
      open.on("error", () => undefined);
      modes[mode]?.(open, record, request);
    });
  });
  return {
    seenBy: (test) => seen.get(test) ?? [],
    open: () => [...seen.values()].flat().filter(({ gone }) => !gone).length,
  };
}
