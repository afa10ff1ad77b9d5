import * as v from "valibot";

/** The name of a header (RFC 9110, section 5.1), at most 128 characters. */
export const HEADER_NAME: RegExp = /^[\w!#$%&'*+.^`|~-]{1,128}$/;

/**
 * Checks a credential that is to be stored and sent in a header. A value that could break out of a header's line, or
 * that no header can hold, is refused at once.
 */
export const headerCredential: v.GenericSchema<unknown, string> = v.pipe(
  v.string(),
  v.regex(
    /^[\x21-\x7E](?:[\x20-\x7E]{0,4094}[\x21-\x7E])?$/,
    "expected 1 to 4096 printable ASCII characters",
  ),
);
