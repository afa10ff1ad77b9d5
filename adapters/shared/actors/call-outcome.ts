import { ApiError, type ApiErrorData } from "../../../core/http/api-error.ts";
import { SqlError, type SqlErrorReason } from "../../../core/sql/sql-error.ts";
import type { Log, Plain } from "../../../core/ports.ts";

/** A throw as it travels between a Durable Object and its caller. */
type Thrown =
  | { readonly api: ApiErrorData }
  | { readonly sql: SqlErrorReason; readonly message: string }
  | { readonly other: string; readonly message: string };

export type CallOutcome = { readonly value: Plain } | { readonly thrown: Thrown };

/** Carries a {@link Thrown} on a response between the object and its caller, never further. */
const ERROR_HEADER = "x-causey-actor-error";

/** Runs a call; what it throws becomes data, and is logged here when it is nothing that a caller expects. */
export async function settledCall(
  work: () => Promise<Plain>,
  log: Log,
  what: string,
): Promise<CallOutcome> {
  try {
    return { value: await work() };
  } catch (error) {
    return { thrown: toThrown(error, log, what) };
  }
}

/** Returns the value of an outcome; throws what the call threw. */
export function valueOf(outcome: CallOutcome): Plain {
  if ("thrown" in outcome) throw fromThrown(outcome.thrown);
  return outcome.value;
}

/** Returns the failure of `fetch` as a response that {@link responseOf} turns back into a throw. */
export function errorAsResponse(error: unknown, log: Log, what: string): Response {
  // A header holds Latin-1 of one line: percent-encoding carries the rest.
  const data = encodeURIComponent(JSON.stringify(toThrown(error, log, what)).toWellFormed());
  return new Response(null, { status: 500, headers: { [ERROR_HEADER]: data } });
}

/** Returns the response of an actor as its caller gets it; throws what {@link errorAsResponse} carried. */
export function responseOf(response: Response): Response {
  const data = response.headers.get(ERROR_HEADER);
  if (data === null) return response;
  throw fromThrown(JSON.parse(decodeURIComponent(data)) as Thrown);
}

/** Keeps an actor from speaking in the adapter's name. */
export function withoutErrorHeader(response: Response): Response {
  if (!response.headers.has(ERROR_HEADER)) return response;
  const clean = new Response(response.body, response);
  clean.headers.delete(ERROR_HEADER);
  return clean;
}

function toThrown(error: unknown, log: Log, what: string): Thrown {
  if (error instanceof ApiError) return { api: error.toData() };
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  // The stack stays here: the caller sees its own.
  if (!(error instanceof SqlError && error.isReported))
    log("error", "Actor failed", { what, error: `${name}: ${message}`, stack });
  return error instanceof SqlError ? { sql: error.reason, message } : { other: name, message };
}

/** Rebuilds the thrown error: the same class where core knows it, else an `Error` that is answered as a generic 500. */
function fromThrown(thrown: Thrown): Error {
  if ("api" in thrown) return ApiError.from(thrown.api);
  if ("sql" in thrown) {
    const error = new SqlError(thrown.sql, thrown.message);
    error.isReported = true;
    return error;
  }
  const error = new Error(thrown.message);
  error.name = thrown.other;
  return error;
}
