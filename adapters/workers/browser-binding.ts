import { ApiError } from "../../core/http/api-error.ts";
import { boundedMessage } from "../../core/rendering/cdp/long-answer.ts";
import { wholeMessage } from "../../core/rendering/cdp/call-message.ts";
import { startFailure } from "../../core/rendering/cdp/start-failure.ts";
import type { Browser, ProxyLogin, System, Wire } from "../../core/ports.ts";
import type { FetchBinding } from "./env/worker-env.ts";

/** The reason why page rendering is off without the binding. */
export const NO_BROWSER: string =
  'No browser binding: add "browser": { "binding": "BROWSER" } to the Wrangler configuration';

/** The host does not matter to a binding; the paths are the service's. */
const SERVICE = "https://browser.internal/v1";

/** The platform without a browser. */
export const missingBrowser: Browser = {
  connect: () => Promise.reject(new ApiError("missing_capability", { message: NO_BROWSER })),
  close: () => Promise.resolve(),
};

/**
 * `Browser` over the Workers browser binding, speaking plain DevTools frames. Each connection is a browser
 * session of its own: a Worker cannot use one request's socket in another request.
 */
export function boundBrowser(binding: FetchBinding, system: System): Browser {
  let proxyLogin: ProxyLogin | null = null;
  const start = startFailure();
  return {
    proxyLogin: () => proxyLogin,
    trouble: () => ({ failure: start.failure(), lacks: null }),
    connect: (options = {}) => start.watch(() => connect(options), options.signal),
    close: () => Promise.resolve(),
  };

  async function connect(options: { readonly signal?: AbortSignal }): Promise<Wire> {
    const { sessionId: session, ...acquired } = await acquire(binding, options.signal);
    proxyLogin = acquired.proxyLogin ?? null;
    try {
      const socket = await upgrade(binding, session, options.signal);
      return wire(socket, () => {
        system.waitUntil(release(binding, session));
      });
    } catch (error) {
      await release(binding, session);
      throw error;
    }
  }
}

/** A binding's answer to the request for a session. */
interface Acquired {
  readonly sessionId: string;
  /** Set by `serve:workers`, whose browser loads everything through an egress proxy. @default null */
  readonly proxyLogin?: ProxyLogin | null;
}

async function acquire(binding: FetchBinding, signal: AbortSignal | undefined): Promise<Acquired> {
  const options = signal === undefined ? {} : { signal };
  const response = await binding
    .fetch(`${SERVICE}/acquire`, options)
    .catch((error: unknown) => throwNotStarted(error, signal));
  if (!response.ok) throw await noBrowser(response);
  return response.json();
}

async function upgrade(
  binding: FetchBinding,
  session: string,
  signal: AbortSignal | undefined,
): Promise<WebSocket> {
  const response = await binding
    .fetch(`${SERVICE}/devtools/browser/${encodeURIComponent(session)}`, {
      headers: { upgrade: "websocket" },
      ...(signal === undefined ? {} : { signal }),
    })
    .catch((error: unknown) => throwNotStarted(error, signal));
  const { webSocket } = response;
  if (webSocket === null) throw await noBrowser(response);
  webSocket.accept();
  return webSocket;
}

/** Ends the session at once instead of after its idle time; nothing is owed when it is gone already. */
async function release(binding: FetchBinding, session: string): Promise<void> {
  const url = `${SERVICE}/devtools/browser/${encodeURIComponent(session)}`;
  const response = await binding.fetch(url, { method: "DELETE" }).catch(() => null);
  await response?.body?.cancel();
}

/** Wrangler's binding fails where it cannot start or download its browser. */
function throwNotStarted(error: unknown, signal: AbortSignal | undefined): never {
  if (signal?.aborted === true) throw error;
  const reason = String(error instanceof Error ? error.message : error).replaceAll(/\s+/gu, " ");
  throw new ApiError("no_browser", {
    message: `The browser did not start: ${reason.slice(0, 300)}`,
    cause: error,
  });
}

async function noBrowser(response: Response): Promise<ApiError> {
  await response.body?.cancel();
  const message = `The browser did not start: its binding answered ${response.status}`;
  const retryAfter = response.headers.get("retry-after") ?? "10";
  return new ApiError("no_browser", { message, headers: { "retry-after": retryAfter } });
}

/** One DevTools connection; `end` runs once, when it is closed from this side. */
function wire(socket: WebSocket, end: () => void): Wire {
  let gone: string | undefined;
  let isClosed = false;
  const closeListeners: ((reason: string) => void)[] = [];
  const settle = (reason: string): void => {
    if (gone !== undefined) return;
    gone = reason;
    for (const listener of closeListeners) listener(reason);
  };
  socket.addEventListener("close", ({ code, reason }) => {
    settle(reason === "" ? `The browser closed the connection (${code})` : reason);
  });
  socket.addEventListener("error", () => {
    settle("The connection to the browser broke");
  });
  return {
    send(message) {
      if (gone === undefined) socket.send(wholeMessage(message));
    },
    onMessage(listener) {
      socket.addEventListener("message", ({ data }) => {
        const message = boundedMessage(
          typeof data === "string" ? data : new TextDecoder().decode(data),
        );
        if (message !== null) listener(message);
      });
    },
    onClose(listener) {
      if (gone === undefined) closeListeners.push(listener);
      else listener(gone);
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      settle("Closed");
      socket.close(1000);
      end();
    },
  };
}
