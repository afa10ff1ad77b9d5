import { buildConnector } from "undici";

/** Milliseconds for a connection to open. */
const CONNECT_MS = 10_000;

/**
 * Connects as undici does, and ends a connection on which nothing moved for `ms`. undici's own timeouts make a timer for
 * each request, which stays for half a second: under load that is most of what the old generation collects.
 */
export function endingSilence(ms: number): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, timeout: CONNECT_MS });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      socket.setTimeout(ms, () => socket.destroy(new Error("The upstream was silent")));
      callback(null, socket);
    });
  };
}
