import { joinBytes, pulledStream, type StreamRead } from "../../../http/stream.ts";
import { type Duplex, refusingDuplex } from "../../../net/duplex.ts";
import { type ApiError, invalidRequest } from "../../../http/api-error.ts";
import type { Call, Step } from "../../call/call.ts";
import { tokenSearch, type TokenSearch } from "./token-search.ts";

/**
 * Returns the step when its caller's gateway token stands nowhere but in a header or query parameter, from which it can be
 * taken out. Throws `invalid_request` when it stands in the path, in the bytes of the body, or in what a log row keeps. A
 * body that streams through breaks off before the token instead; then `refusal` says so.
 */
export function guardedStep(step: Step, call: Call, search: TokenSearch | null): Step {
  if (search === null) return step;
  if (isInPath(step.rest, search) || isInPath(step.slug, search)) throw held("path");
  const { metadata } = call.controls;
  if (metadata !== undefined && search.isInText(metadata)) throw held("header cf-aig-metadata");
  if (search.isInText(call.eventId)) throw held("header cf-aig-event-id");
  if (call.userAgent !== null && search.isInText(call.userAgent)) throw held("header user-agent");
  const { body } = step;
  if (body instanceof ReadableStream) {
    let error: ApiError | null = null;
    const passing = guardedStream(body, search, () => (error = held("body")));
    return { ...step, body: passing, refusal: () => error };
  }
  if (body !== null && search.isIn(body)) throw held("body");
  return step;
}

/** Whether a path holds the token, as it stands or decoded. */
export function isInPath(path: string, search: TokenSearch): boolean {
  if (search.isInText(path)) return true;
  if (!path.includes("%")) return false;
  try {
    return search.isInText(decodeURIComponent(path));
  } catch {
    return false;
  }
}

/** Makes the error for a token that stands where it cannot be taken out. */
export function held(place: string): ApiError {
  return invalidRequest(
    `The ${place} of the request holds the gateway token, which must not reach a provider: send it in the header cf-aig-authorization (or gw-aig-authorization) only`,
  );
}

/**
 * Returns the same bytes, broken off before the token with what `onFound` returns; what may be the beginning of the token
 * waits for the bytes behind it.
 */
export function guardedStream(
  source: ReadableStream<Uint8Array>,
  search: TokenSearch,
  onFound: () => ApiError,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let waiting: Uint8Array = new Uint8Array(0);
  const read = async (): Promise<StreamRead> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { done, value: waiting };
      const bytes = waiting.length === 0 ? value : joinBytes([waiting, value]);
      if (search.isIn(bytes)) {
        const error = onFound();
        await reader.cancel().catch(() => undefined);
        throw error;
      }
      const open = search.openEnd(bytes);
      waiting = bytes.slice(open);
      if (open > 0) return { done, value: bytes.subarray(0, open) };
    }
  };
  return pulledStream(read, (reason) => reader.cancel(reason));
}

/** Returns a client's end of a WebSocket that is closed with 1008 when a message holds the client's gateway token. */
export function guardedClient(client: Duplex, token: string | null): Duplex {
  const search = token === null ? null : tokenSearch(token);
  if (search === null) return client;
  return refusingDuplex(client, (message) => {
    const isHeld = typeof message === "string" ? search.isInText(message) : search.isIn(message);
    return isHeld ? "The message holds the gateway token" : null;
  });
}
