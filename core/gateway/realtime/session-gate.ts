import { closeReason, untilRefused } from "../../auth/while-permitted.ts";
import type { Duplex } from "../../net/duplex.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Log, System } from "../../ports.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";
import type { RelayOptions } from "./relay.ts";
import type { SpendingSession } from "./spending-session.ts";

export interface SessionGateParts {
  readonly client: Duplex;
  readonly provider: Duplex;
  readonly session: SpendingSession;
  readonly system: System;
  readonly log: Log;
}

/** Lets the messages of a connection pass while its session may go on. */
export interface SessionGate {
  readonly mayPass: RelayOptions["onMessage"];
  /** The connection is over. */
  end(): void;
}

/** Closes both ends with 1008 and the reason when a session refuses a message, or its caller. */
export function sessionGate(parts: SessionGateParts): SessionGate {
  const { client, provider, session, log } = parts;
  const over = new AbortController();
  const refuse = (error: unknown): false => {
    const reason = reasonOf(error, log);
    client.close(1008, reason);
    provider.close(1008, reason);
    return false;
  };
  void untilRefused(() => session.review(), parts, over.signal).catch(refuse);
  return {
    mayPass(from, message) {
      try {
        const seen = from === "client" ? session.onClient(message) : session.onProvider(message);
        return seen === undefined ? true : seen.then(() => true, refuse);
      } catch (error) {
        return refuse(error);
      }
    },
    end() {
      over.abort(TIMER_OVER);
      session.end();
    },
  };
}

function reasonOf(error: unknown, log: Log): string {
  if (!(error instanceof ApiError)) {
    log("error", "A realtime message could not be checked", { error: String(error) });
    return "The limits of this connection could not be checked";
  }
  return closeReason(error);
}
