import { ApiError } from "../../core/http/api-error.ts";

/** The call was not started: it goes to the next lock owner. */
export class NotStarted extends Error {}

/** For a call whose lock owner ended before it answered. */
export function ownerEnded(): ApiError {
  return unavailable(
    "The process that held the data directory has ended: whether this took effect is not known",
  );
}

/** For a call under way when the lock owner became unresponsive. */
export function ownerDidNotAnswer(): ApiError {
  return unavailable(
    "The process that holds the data directory does not answer: whether this took effect is not known",
  );
}

/** For a new call while the lock owner is unresponsive. */
export function ownerUnresponsive(): ApiError {
  return unavailable("The process that holds the data directory does not answer: try again later");
}

/** For a call beyond the limit of waiting calls. */
export function overloaded(): ApiError {
  return unavailable(
    "Too many calls wait for the process that holds the data directory: try again later",
  );
}

/** For a call that has waited too long for a process to take the directory over. */
export function noOwner(): ApiError {
  return unavailable("No process holds the data directory: try again later");
}

function unavailable(message: string): ApiError {
  return new ApiError("unavailable", { message, headers: { "retry-after": "1" } });
}
