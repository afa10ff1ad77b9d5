import { type Duplex, type DuplexEnd, isSendableCode } from "../../net/duplex.ts";
import type { System } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** The two ends of a connection through the gateway. */
export type Side = "client" | "provider";

/** How a connection through the gateway ended. */
export interface RelayEnd extends DuplexEnd {
  /** The side that ended it. */
  readonly by: Side;
}

export interface RelayOptions {
  readonly client: Duplex;
  readonly provider: Duplex;
  /** Sees each message on its way, and says whether it may go on; a promise holds up that direction. */
  readonly onMessage: (from: Side, message: string | Uint8Array) => Promise<boolean> | boolean;
  readonly system: System;
}

/** How long an end that still takes what the other one sent before it left may take for that, in ms. */
const DRAIN_MS = 5000;

/**
 * Passes messages both ways, one at a time, so that a slow reader slows the other side, until either end closes;
 * then the other one is closed alike. Resolves as soon as that is known; both are over soon after.
 */
export async function relay({
  client,
  provider,
  onMessage,
  system,
}: RelayOptions): Promise<RelayEnd> {
  const over = new AbortController();
  const oneWay = async (by: Side, from: Duplex, to: Duplex): Promise<RelayEnd> => {
    const passed = pass(from, to, (message) => onMessage(by, message));
    const end = await from.closed;
    // A client that vanished does not wait for answers.
    const patience = by === "client" && !isHandshake(end) ? 0 : DRAIN_MS;
    const late = system.sleep(patience, over.signal).catch(() => undefined);
    await Promise.race([passed, to.closed, late]);
    return { by, ...end };
  };
  const end = await Promise.race([
    oneWay("client", client, provider),
    oneWay("provider", provider, client),
  ]);
  over.abort(TIMER_OVER);
  const other = end.by === "client" ? provider : client;
  const { code, reason } = passedOn(end);
  other.close(code, reason);
  return end;
}

async function pass(
  from: Duplex,
  to: Duplex,
  onMessage: (message: string | Uint8Array) => Promise<boolean> | boolean,
): Promise<void> {
  for (let next = await from.receive(); next !== null; next = await from.receive()) {
    const mayPass = onMessage(next);
    if (mayPass !== true && !(await mayPass)) return;
    if (!(await to.send(next))) return;
  }
}

/** Whether an end was agreed upon: a close frame came, with a code or without. */
function isHandshake({ code }: DuplexEnd): boolean {
  return code !== 1006 && code !== 1015;
}

/**
 * Returns the close frame for the other end. A code that cannot be sent, or was missing, becomes its equivalent there; a
 * broken provider is 1011, because not every client knows 1014 (Deno's does not).
 */
function passedOn({ by, code, reason }: RelayEnd): DuplexEnd {
  if (code === 1005) return { code: 1000, reason: "" };
  if (isSendableCode(code)) return { code, reason };
  return by === "client"
    ? { code: 1001, reason: "The client went away" }
    : { code: 1011, reason: "The provider broke off the connection" };
}
