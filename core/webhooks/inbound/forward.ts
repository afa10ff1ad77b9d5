import { sha256Hex } from "../../crypto/digest.ts";
import type { IncomingEvent } from "../../entity/event.ts";
import { OUTBOUND_KIND } from "../../entity/outbound.ts";
import { ApiError } from "../../http/api-error.ts";
import { conditionProblem } from "../../http/json/condition.ts";
import type { Platform } from "../../ports.ts";
import { payloadFilter } from "../../http/json/payload-filter.ts";
import type { SourceOptions } from "./source-options.ts";

/** Longest type of a message. */
const TYPE_LIMIT = 256;

/** How the events of a source are sent on. */
export interface SourceForward {
  /** The account whose endpoints get them. */
  readonly account: string;
  /** The condition that payloads fulfil, as JSON text; null = every payload is sent on. */
  readonly filter: string | null;
}

/** Checks how a source is forwarded; null if it is not. Throws `TypeError`. */
export function prepareForward(
  given: SourceOptions["forward"] = false,
  account: string,
  where: string,
): SourceForward | null {
  if (given === false) return null;
  const filter = given === true ? undefined : given.filter;
  if (filter === undefined) return { account, filter: null };
  const problem = conditionProblem(filter);
  if (problem !== null) throw new TypeError(`The ${where} has no valid forward.filter: ${problem}`);
  return { account, filter: JSON.stringify(filter) };
}

/**
 * Sends a stored event on to the endpoints of the account that take its type, `source.type`. It happens before the sender
 * is answered: if the process dies in between, or the message cannot be stored, the sender repeats the event, and this
 * sends it on then. The event's id keeps it from being sent on twice.
 */
export async function forwardEvent(
  { account, filter }: SourceForward,
  { provider, record, trace }: IncomingEvent,
  entity: string,
  platform: Pick<Platform, "actors" | "log">,
): Promise<void> {
  const json = record.payload ?? "null";
  if (!payloadFilter(json)(filter)) return;
  const key = await sha256Hex(JSON.stringify([provider, entity, record.id]));
  const message = {
    type: `${provider}.${record.type}`.slice(0, TYPE_LIMIT),
    json,
    entity,
    idempotency_key: `event:${key}`,
    ...(trace === undefined ? {} : { trace }),
  };
  try {
    await platform.actors.get(OUTBOUND_KIND, account).call("send", message);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
    // Some senders repeat an event with another body; the first one was sent on.
    if (error.kind === "conflict") return;
    const facts = { source: provider, event: record.id, reason: error.message };
    platform.log("warn", "A webhook event was not forwarded", facts);
  }
}
