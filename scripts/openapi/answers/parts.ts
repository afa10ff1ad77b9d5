import * as v from "valibot";

/** A point in time, RFC 3339. */
export const instant: v.GenericSchema<string> = v.pipe(v.string(), v.isoTimestamp());

/** An entry of `messages`, and of `errors`. */
export const note: v.GenericSchema<unknown, unknown> = v.object({
  code: v.pipe(v.number(), v.integer()),
  message: v.string(),
  type: v.exactOptional(v.null()),
});
