import { ApiError } from "../../http/api-error.ts";

/** What is wrong with a field. */
export function invalid(field: string, why: string): ApiError {
  return new ApiError("invalid_request", { message: `${field}: ${why}` });
}

/** What would be stored and do nothing. */
export function withoutEffect(setting: string, why: string): ApiError {
  return new ApiError("not_part", { message: `${setting} would have no effect: ${why}` });
}
