import { EVENT_JOB } from "../../entity/event.ts";
import { ApiError } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import type { Platform } from "../../ports.ts";
import { jsonElements } from "../../http/json/json-source.ts";
import type { Payload } from "../signing/pick.ts";
import { entityFor, type SecretOwner } from "./entity-of.ts";
import type { Delivery } from "./delivery.ts";
import { answerOne, outcomeOf, answerResponse } from "./answer.ts";
import { storeEvent, toEvent, type StoredEvent } from "./store-event.ts";

/** Most events of one request: HubSpot sends up to 100, SendGrid some thousands (768 KB). */
const BATCH_LIMIT = 5000;
/** Events that are stored at a time; between them other requests get their turn. */
const AT_A_TIME = 50;

/**
 * Takes a verified body that is a list of events. Each is stored on its own, as it was written, in the order of the list. When a request
 * is refused or cut off later, its stored events are duplicates in the sender's next attempt. An event that cannot be
 * placed is left out, and the answer says why; a list of such alone is refused. Throws 400, 413, and what storing throws.
 */
export async function receiveBatch(
  delivery: Delivery & { readonly owner: SecretOwner | null },
  { value, text }: Payload,
  now: number,
  platform: Platform,
): Promise<Response> {
  const { owner, source } = delivery;
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  if (list.length === 0)
    throw new ApiError("payload_invalid", { message: "The list of events is empty" });
  if (list.length > BATCH_LIMIT) {
    throw new ApiError("too_large", {
      message: `A request holds at most ${BATCH_LIMIT} events, this one ${list.length}`,
    });
  }
  const texts = jsonElements(text);
  const payloads = list.map((one, index): Payload => ({ value: one, text: texts[index] ?? "" }));
  const taken: Taken[] = [];
  for (let start = 0; start < payloads.length; start += AT_A_TIME) {
    const group = payloads.slice(start, start + AT_A_TIME).map(async (payload) => {
      try {
        const entity = await entityFor(delivery, owner, payload);
        const event = await toEvent(delivery, { entity, payload, now, system: platform.system });
        return await storeEvent(delivery, entity.name, event, platform);
      } catch (error) {
        return refusedEvent(error);
      }
    });
    taken.push(...(await Promise.all(group)));
  }
  const stored = taken.filter((one) => !(one instanceof ApiError));
  const refused = taken.filter((one) => one instanceof ApiError);
  const [refusal] = refused;
  if (refusal !== undefined && stored.length === 0) refuse(refusal, 0);
  for (const { kind } of refused) delivery.note(`refused.${kind}`);
  const outcomes = await Promise.all(stored.map((one) => outcomeOf(one, source, platform)));
  const [first] = stored;
  const [outcome] = outcomes;
  if (first !== undefined && outcome !== undefined && taken.length === 1)
    return answerOne(delivery, first, outcome);
  if (source.answer !== null) return answerResponse(source.answer);
  const statuses = outcomes.map(({ status }) => status);
  let next = 0;
  const events = taken.map((one) =>
    one instanceof ApiError
      ? { status: "refused", error: one.message }
      : { id: one.id, entity: one.entity, status: statuses[next++] },
  );
  const result = { agent: source.agentClass, events };
  return statuses.includes("queued")
    ? envelope({ ...result, status: "queued", job: EVENT_JOB }, { status: 202 })
    : envelope({ ...result, status: "processed" });
}

/** A stored event of a list, or why it was not stored. */
type Taken = StoredEvent | ApiError;

/** One that cannot be placed is left out, because the sender would repeat the whole list for ever. */
function refusedEvent(error: unknown): ApiError {
  if (error instanceof ApiError && error.status < 500) return error;
  throw error;
}

/** Says which event of the list it was. */
function refuse(error: ApiError, index: number): never {
  throw new ApiError(error.kind, { message: `[${index}]: ${error.message}`, cause: error.cause });
}
