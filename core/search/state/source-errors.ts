import { ApiError, invalidRequest } from "../../http/api-error.ts";

export function invalid(field: string, why: string): ApiError {
  return invalidRequest(`${field}: ${why}`);
}

/** Makes the error for a setting that would have no effect. */
export function withoutEffect(setting: string, why: string): ApiError {
  return new ApiError("not_part", { message: `${setting} would have no effect: ${why}` });
}
