import { type Duplex, refusingDuplex } from "../../net/duplex.ts";
import type { LentAccount } from "../call/outbound.ts";
import { beginsAsJson } from "../wire/readable-body.ts";

/** Returns a client's end of a WebSocket that is closed with 1008 when a message asks for what its caller may not have. */
export function withinAccount(client: Duplex, account: LentAccount): Duplex {
  return refusingDuplex(client, (message) => {
    const text = textOf(message);
    return text === null ? null : account.refused(text);
  });
}

const decoder = new TextDecoder();

/** Returns the text of a message that can be JSON, whichever kind of frame it came in; null for sound. */
function textOf(message: string | Uint8Array): string | null {
  if (typeof message === "string") return message;
  return beginsAsJson(message) ? decoder.decode(message) : null;
}
