import type { Wire } from "../../../core/ports.ts";
import { boundedMessage } from "../../../core/rendering/cdp/long-answer.ts";
import { wholeMessage } from "../../../core/rendering/cdp/call-message.ts";
import { ApiError } from "../../../core/http/api-error.ts";

/**
 * Opens a DevTools connection to a browser that runs elsewhere, at a `ws://` or `wss://` address, or at the
 * `http://` address of its DevTools port.
 *
 * @throws ApiError `no_browser` when it does not answer
 */
export async function connectRemote(endpoint: string, signal?: AbortSignal): Promise<Wire> {
  const url = /^https?:/iu.test(endpoint) ? await discover(endpoint, signal) : endpoint;
  const socket = new WebSocket(url);
  const messages = new Set<(message: string) => void>();
  const closes = new Set<(reason: string) => void>();
  let closed: string | null = null;
  const end = (reason: string): void => {
    if (closed !== null) return;
    closed = reason;
    for (const listener of closes) listener(reason);
  };
  socket.addEventListener("message", (event) => {
    if (typeof event.data !== "string") return;
    const message = boundedMessage(event.data);
    if (message !== null) for (const listener of messages) listener(message);
  });
  socket.addEventListener("close", () => end("The connection to the remote browser ended"));
  await opened(socket, signal);
  return {
    send: (message) => {
      if (closed === null) socket.send(wholeMessage(message));
    },
    onMessage: (listener) => messages.add(listener),
    onClose: (listener) => {
      if (closed === null) closes.add(listener);
      else listener(closed);
    },
    close: () => {
      socket.close();
      end("The connection was closed");
    },
  };
}

async function discover(endpoint: string, signal?: AbortSignal): Promise<string> {
  try {
    const answer = await fetch(new URL("/json/version", endpoint), { signal: signal ?? null });
    const facts: unknown = await answer.json();
    if (facts !== null && typeof facts === "object" && "webSocketDebuggerUrl" in facts) {
      const found = new URL(String(facts.webSocketDebuggerUrl));
      // The browser names the host that it listens on; the operator's address is the one that works.
      found.host = new URL(endpoint).host;
      return found.href;
    }
  } catch (error) {
    throw unreachable(error);
  }
  throw unreachable(undefined);
}

function opened(socket: WebSocket, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      socket.close();
      reject(unreachable(signal?.reason));
    };
    if (signal?.aborted === true) return abort();
    const settle = (): void => signal?.removeEventListener("abort", abort);
    signal?.addEventListener("abort", abort, { once: true });
    socket.addEventListener("open", () => {
      settle();
      resolve();
    });
    socket.addEventListener("error", () => {
      settle();
      reject(unreachable(undefined));
    });
  });
}

function unreachable(cause: unknown): ApiError {
  return new ApiError("no_browser", { message: "The remote browser does not answer", cause });
}
