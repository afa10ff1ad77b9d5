import type { WebSockets } from "../../core/net/duplex.ts";

/** WebSockets that cannot be dialled and, when accepted, tell with which code they are closed. */
export function watchedSockets(closed: (code: number | undefined) => void): WebSockets {
  return {
    accept: () => ({
      response: new Response(),
      duplex: {
        protocol: "",
        send: () => Promise.resolve(false),
        receive: () => Promise.resolve(null),
        close: closed,
        closed: Promise.resolve({ code: 1006, reason: "" }),
      },
    }),
    dial: () => Promise.reject(new Error("Nothing is dialled here")),
  };
}
