import { ApiError } from "../../../core/http/api-error.ts";

/** A call that was not begun: it is for the next holder. */
export class Moved extends Error {}

/** What becomes of a call whose holder ended before it answered. */
export function gone(): ApiError {
  return new ApiError("unavailable", {
    message:
      "The process that held the data directory has ended: whether this took effect is not known",
    headers: { "retry-after": "1" },
  });
}
