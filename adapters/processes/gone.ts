import { ApiError } from "../../core/http/api-error.ts";

/** A call that was not begun: it is for the next holder. */
export class Moved extends Error {}

/** What becomes of a call whose holder ended before it answered. */
export function gone(): ApiError {
  return unavailable(
    "The process that held the data directory has ended: whether this took effect is not known",
  );
}

/** What becomes of a call that a holder which stands still has not answered. */
export function unanswered(): ApiError {
  return unavailable(
    "The process that holds the data directory does not answer: whether this took effect is not known",
  );
}

/** What becomes of a call while the holder stands still. */
export function still(): ApiError {
  return unavailable("The process that holds the data directory does not answer: try again later");
}

/** What becomes of a call that is one too many. */
export function overloaded(): ApiError {
  return unavailable(
    "Too many calls wait for the process that holds the data directory: try again later",
  );
}

/** What becomes of a call when no process has taken the directory over for long. */
export function unheld(): ApiError {
  return unavailable("No process holds the data directory: try again later");
}

function unavailable(message: string): ApiError {
  return new ApiError("unavailable", { message, headers: { "retry-after": "1" } });
}
