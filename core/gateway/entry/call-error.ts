import { ApiError } from "../../http/api-error.ts";
import type { Call } from "../call/call.ts";
import { ownHeaders } from "../wire/own-headers.ts";

/**
 * Returns the error that answers an admitted call. The call's trace hears of it, and the answer has the event id under
 * which the rows of the call's attempts are found.
 */
export function callError(call: Call | undefined, error: unknown): unknown {
  tracedError(call, error);
  if (call === undefined || !(error instanceof ApiError)) return error;
  const { eventId, token } = call;
  // An event id that was refused because it holds the token must not be repeated.
  if (token !== null && eventId.includes(token)) return error;
  const { options, kind, message } = error;
  const own = Object.fromEntries(ownHeaders("event-id", eventId));
  const headers = { ...options.headers, ...own };
  return new ApiError(kind, { ...options, message, headers });
}

/** Takes note of the error that is a request's answer, and returns it. */
export function tracedError(call: Call | undefined, error: unknown): unknown {
  call?.traced?.fail(error);
  return error;
}
