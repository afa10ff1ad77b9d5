import { ApiError } from "../http/api-error.ts";

/** Those that a policy's resource and the configuration can name. */
const ACCOUNT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws 400 for an account id that no account can have, so that none becomes part of a key or a log line. */
export function checkAccountId(id: string): void {
  if (ACCOUNT_ID.test(id)) return;
  throw new ApiError("invalid_request", {
    message: "account_id must be 1 to 64 of A-Z, a-z, 0-9, _ and -",
  });
}
