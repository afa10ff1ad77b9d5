import type { Duplex } from "../../net/duplex.ts";
import type { LentAccount } from "../call/outbound.ts";
import { beginsAsJson } from "../wire/readable-body.ts";

/** Returns a client's end of a WebSocket that is closed with 1008 when a message asks for what its caller may not have. */
export function withinAccount(client: Duplex, account: LentAccount): Duplex {
  return {
    protocol: client.protocol,
    closed: client.closed,
    send: (message) => client.send(message),
    close: (code, reason) => client.close(code, reason),
    async receive() {
      const message = await client.receive();
      if (message === null) return null;
      const text = textOf(message);
      const reason = text === null ? null : account.refused(text);
      if (reason === null) return message;
      client.close(1008, reason.slice(0, REASON_LIMIT));
      return null;
    },
  };
}

/** Bytes that a close frame holds beside its code (RFC 6455, section 5.5). */
const REASON_LIMIT = 123;
const decoder = new TextDecoder();

/** Returns the text of a message that can be JSON, whichever kind of frame it came in; null for sound. */
function textOf(message: string | Uint8Array): string | null {
  if (typeof message === "string") return message;
  return beginsAsJson(message) ? decoder.decode(message) : null;
}
