import { sha256Hex } from "../../crypto/digest.ts";
import type { IncomingEvent } from "../../entity/event.ts";
import { OUTBOUND_KIND } from "../../entity/outbound.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Platform } from "../../ports.ts";
import { filterProblem, payloadFilter } from "../../http/json/payload-filter.ts";
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

/** Returns how a source is forwarded; null if it is not. */
export function prepareForward(
  given: SourceOptions["forward"] = false,
  account: string,
): SourceForward | null {
  if (given === false) return null;
  const filter = given === true ? undefined : given.filter;
  return { account, filter: filter === undefined ? null : JSON.stringify(filter) };
}

/** Throws `TypeError` for a filter that is not one. A stored source is not asked again: a later version may refuse more. */
export function checkForward({ forward }: Pick<SourceOptions, "forward">, where: string): void {
  if (typeof forward !== "object" || forward.filter === undefined) return;
  const problem = filterProblem(forward.filter);
  if (problem !== null) throw new TypeError(`The ${where} has no valid forward.filter: ${problem}`);
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
