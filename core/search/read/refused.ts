import { ApiError } from "../../http/api-error.ts";

/** Returns the error for a document that cannot be read, 7060. */
export function refused(why: string): ApiError {
  return new ApiError("unsupported_file", { message: `unsupported_file_type: ${why}` });
}
