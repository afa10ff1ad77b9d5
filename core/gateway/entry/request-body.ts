import { withPrefix } from "../../http/stream.ts";
import type { BodyHold } from "../../body-budget.ts";
import {
  bodiesFull,
  brokenOff,
  inTime,
  READ_AT_ONCE,
  readArriving,
  UNCOUNTED,
  weightOf,
} from "../../http/arriving-body.ts";
import type { HeaderPair, ReceivedRequest, System } from "../../ports.ts";
import type { Step } from "../call/call.ts";
import { headerValue } from "../wire/header-hygiene.ts";

/** Bytes of a JSON body that are read into memory, once; larger ones stream through. */
const JSON_LIMIT = 10 * 1024 * 1024;
/** Bytes of any other body of known length that are read into memory, so that it can be sent again. */
const OTHER_LIMIT = 1024 * 1024;

/** What a body may take, and what may be done with one for which there is no room. */
export interface BodyRoom {
  readonly system: System;
  /** Called at most once, for a body that counts. */
  hold(): BodyHold;
  /** Whether nothing needs the bytes, so that they may stream through. */
  mayPass(): boolean;
}

/**
 * A request's body: bytes when it is small, else a stream that the provider pulls at its own pace. Throws
 * `bodies_full` when there is no room for what has to be held.
 */
export function requestBody(
  request: Request,
  headers: readonly HeaderPair[],
  received: ReceivedRequest | null,
  room: BodyRoom,
): Promise<Step["body"]> | Step["body"] {
  if (request.method === "GET" || request.method === "HEAD") return null;
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(
    headerValue(headers, "content-type") ?? "",
  );
  const declared = headerValue(headers, "content-length");
  const length = declared === null ? Number.NaN : Number(declared);
  const limit = isJson ? JSON_LIMIT : OTHER_LIMIT;
  // Read at once: a stream costs more than all the rest of a small request.
  if (length <= READ_AT_ONCE) {
    const whole =
      received === null
        ? request.arrayBuffer().then((bytes) => new Uint8Array(bytes), brokenOff)
        : received.bytes().catch(brokenOff);
    if (length <= UNCOUNTED) return whole;
    // Node's server has a deadline of its own.
    const arrived = received === null ? inTime(whole, room.system) : whole;
    return arrived.then((bytes) => counted(bytes, isJson, room));
  }
  if (request.body === null) return null;
  const isRead = length <= limit || (isJson && Number.isNaN(length));
  return isRead ? readOrPass(request.body, { limit, isJson, room }) : request.body;
}

function counted(bytes: Uint8Array, isJson: boolean, room: BodyRoom): Uint8Array {
  if (!room.hold().take(weightOf(bytes.length, isJson))) throw bodiesFull();
  return bytes;
}

/** How a body is read. */
interface Reading {
  readonly limit: number;
  readonly isJson: boolean;
  readonly room: BodyRoom;
}

/**
 * Reads up to `limit` bytes. When there are more, or no room for them where they may pass, what was read goes in front
 * of the rest.
 */
async function readOrPass(
  body: ReadableStream<Uint8Array>,
  { limit, isJson, room }: Reading,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const hold = room.hold();
  const { pieces, isWhole, isFull, reader } = await readArriving(body, limit, {
    system: room.system,
    take: (bytes) => hold.take(weightOf(bytes, isJson)),
    clear: () => hold.clear(),
    mayPass: () => room.mayPass(),
  });
  if (isWhole) return pieces.whole();
  if (!isFull) return withPrefix(pieces.list, reader);
  await reader.cancel().catch(() => undefined);
  throw bodiesFull();
}
