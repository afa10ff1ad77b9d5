import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { failureWords } from "../../../core/net/network-failure.ts";
import { TransportError } from "../../../core/net/transport-error.ts";
import { readHead } from "./egress-head.ts";
import { inboxOf } from "./inbox.ts";

/**
 * Opens a connection to the host of a `ws:` or `wss:` URL through an HTTP proxy (RFC 9110 section 9.3.6), with the TLS that
 * the URL asks for. The proxy has `timeoutMs` for its answer; `signal` gives it up, as long as nothing is handed over.
 *
 * @throws TransportError when the proxy does not open the way; it does not show the proxy's address, which may hold a
 *   password
 */
export async function proxyTunnel(
  proxy: URL,
  url: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Socket> {
  if (!/^https?:$/.test(proxy.protocol)) {
    const message = "WebSockets can pass HTTP proxies only: except their hosts by NO_PROXY";
    throw new TransportError("unreachable", message, { failure: "proxy" });
  }
  const { protocol, hostname, port } = new URL(url);
  const isSecure = protocol === "wss:";
  const target = `${hostname}:${port === "" ? (isSecure ? 443 : 80) : port}`;
  const socket = await connected(proxy, signal);
  const giveUp = (): void => {
    socket.destroy();
  };
  signal.addEventListener("abort", giveUp, { once: true });
  // The layer built on this socket reports its errors; until then its end does.
  socket.on("error", () => undefined);
  try {
    socket.write(connectHead(target, proxy));
    const inbox = inboxOf(socket);
    const head = await readHead(inbox, timeoutMs);
    const rest = inbox.release();
    if (signal.aborted) throw new TransportError("aborted", "The request was aborted");
    const [version = "", status = ""] = head?.first.split(" ") ?? [];
    // The server of a tunnel speaks second, so that no bytes can have come from it yet.
    if (!version.startsWith("HTTP/1.") || !/^2\d\d$/.test(status) || rest.length !== 0)
      throw new TransportError("unreachable", refusal(status), { failure: "proxy" });
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
  // Nothing can be lost by it: the other side waits for a request.
  return isSecure ? secured(socket, bare(hostname)) : socket.resume();
}

function connected(proxy: URL, signal: AbortSignal): Promise<Socket> {
  const isSecure = proxy.protocol === "https:";
  const host = bare(proxy.hostname);
  const port = proxy.port === "" ? (isSecure ? 443 : 80) : Number(proxy.port);
  return new Promise((resolve, reject) => {
    const socket = isSecure
      ? connectTls({ port, ALPNProtocols: ["http/1.1"], ...named(host) })
      : connect({ host, port, noDelay: true });
    const fail = (error: unknown): void => {
      signal.removeEventListener("abort", onAbort);
      socket.destroy();
      reject(error instanceof TransportError ? error : TransportError.unreachable(error, "proxy"));
    };
    const onAbort = (): void => {
      fail(new TransportError("aborted", "The request was aborted"));
    };
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    socket.once("error", fail);
    socket.once(isSecure ? "secureConnect" : "connect", () => {
      signal.removeEventListener("abort", onAbort);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

function secured(socket: Socket, host: string): Socket {
  return connectTls({ socket, ALPNProtocols: ["http/1.1"], ...named(host) });
}

/** Addresses have no name that could be shown (RFC 6066 section 3). */
function named(host: string): { host: string; servername?: string } {
  return isIP(host) === 0 ? { host, servername: host } : { host };
}

/** Without the brackets of an IPv6 address. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

function connectHead(target: string, { username, password }: URL): string {
  const credential = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const lines = [`CONNECT ${target} HTTP/1.1`, `Host: ${target}`];
  if (username !== "" || password !== "") {
    const encoded = Buffer.from(credential, "utf8").toString("base64");
    lines.push(`Proxy-Authorization: Basic ${encoded}`);
  }
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function refusal(status: string): string {
  const said = /^\d{3}$/.test(status) ? ` (${status})` : "";
  return `${failureWords.proxy.detail}${said}`;
}
