import { ApiError } from "../../http/api-error.ts";
import { errorKind } from "../../http/codes.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import type { SearchNote } from "../retrieve/search-input.ts";

type Hiding = Pick<SearchOptions, "hidesFailures">;

/** Returns a failure as its caller may read it: a provider's text may name an organisation or parts of a key. The log keeps it. */
export function shownFailure(error: Error, { hidesFailures = false }: Hiding): Error {
  if (!hidesFailures || !(error instanceof ApiError) || error.status < 500) return error;
  const { kind, status, message, options } = error;
  const { headers = {}, reason = message } = options;
  return new ApiError(kind, { status, headers, reason, cause: error });
}

/** Returns the note of a search as its caller may read it. */
export function shownNote(note: SearchNote, { hidesFailures = false }: Hiding): SearchNote {
  const { status, message } = errorKind(note.name);
  return hidesFailures && status >= 500 ? { ...note, message } : note;
}
