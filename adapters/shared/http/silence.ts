import { buildConnector } from "undici";
import { SilentAnswer } from "./answer-silence.ts";

/** Milliseconds for a connection to open. */
const CONNECT_MS = 10_000;

/**
 * Connects as undici does, and ends a connection on which nothing moved for as many ms as `patience` says. undici's own timeouts make a timer for
 * each request, which stays for half a second: under load that is most of what the old generation collects.
 */
export function endingSilence(patience: () => number): buildConnector.connector {
  const connect = buildConnector({ allowH2: false, timeout: CONNECT_MS });
  return (options, callback) => {
    connect(options, (...[error, socket]) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      const ms = patience();
      socket.setTimeout(ms, () => {
        const more = patience() - ms;
        // Somebody asked for more since the connection opened.
        if (more > 0 && socket.timeout === ms) socket.setTimeout(more);
        else socket.destroy(new SilentAnswer());
      });
      callback(null, socket);
    });
  };
}
