import * as v from "valibot";
import { ApiError } from "../http/api-error.ts";

/**
 * Kind of actor that holds the outbound webhooks of one account; its name is the account id. Its method `send` takes a
 * {@link SendBody}.
 */
export const OUTBOUND_KIND = "webhooks-outbound";

/** Longest payload that is sent, in characters of JSON. */
export const OUTBOUND_LIMIT: number = 256 * 1024;

/** A checked body of `POST …/send`. */
export type SendBody = {
  readonly type: string;
  readonly payload?: unknown;
  readonly entity?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly idempotency_key?: string | undefined;
};

/** Body of `POST …/send`. */
export const sendInput: v.GenericSchema<unknown, SendBody> = v.object({
  type: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  /** Becomes the body of the request as it is. */
  payload: v.unknown(),
  /** The entity that the event is about, for `ordered` endpoints. */
  entity: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(1024))),
  endpoint_id: v.optional(v.string()),
  idempotency_key: v.optional(v.pipe(v.string(), v.minLength(1), v.maxLength(256))),
});

/** The error of a message whose idempotency key another message has. */
export function keyConflict(): ApiError {
  return new ApiError("conflict", {
    message:
      "The idempotency key was used for a message of another type, payload or entity: use a key for each message",
  });
}
