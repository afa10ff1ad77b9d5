import type { Transport } from "../../core/ports.ts";
import { fetchTransport, type Send } from "../shared/http/fetch-transport.ts";

/** Whether workerd undoes an encoding before it hands over a body, as it spells it; it passes others on as they are. */
export function workerdDecodes(encoding: string): boolean {
  return encoding === "gzip" || encoding === "br";
}

/** Makes a transport over `fetch` (or a service binding). */
export function workerTransport(send: Send = (request) => fetch(request)): Transport {
  return fetchTransport({
    send,
    decodes: workerdDecodes,
    // Its words for every end of a connection, and for one that was never opened.
    isLost: (error) => error instanceof Error && error.message === "Network connection lost.",
    // workerd chunks every stream whose length it cannot know.
    framed: (body, length) => body.pipeThrough(new FixedLengthStream(length)),
  });
}
