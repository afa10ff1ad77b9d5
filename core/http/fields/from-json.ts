import { ApiError } from "../api-error.ts";
import type { ErrorName } from "../codes.ts";
import { jsonFault } from "../json/json-fault.ts";

/** Reads JSON text; `what` names it in the error, which quotes none of the text: that may hold secrets. */
export function fromJson(
  text: string,
  what: string,
  error: ErrorName = "invalid_request",
): unknown {
  // Editors on Windows begin a file with a byte order mark.
  const json = text.replace(/^\uFEFF/u, "");
  try {
    return JSON.parse(json);
  } catch {
    const fault = jsonFault(json);
    throw new ApiError(error, {
      message: `${what} is not valid JSON${fault === null ? "" : `: ${fault}`}`,
    });
  }
}
