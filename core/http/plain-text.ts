import * as v from "valibot";

/**
 * Checks a name or an id that is stored: 1 to `maximum` characters. Line breaks, other control characters and halves of
 * surrogate pairs are refused, because neither headers nor log lines can hold them.
 */
export function plainText(maximum: number): v.GenericSchema<string, string> {
  return v.pipe(
    v.string(),
    v.minLength(1, "expected a text, got an empty one"),
    v.maxLength(maximum, `expected at most ${maximum} characters`),
    v.check((text) => !/[\p{Cc}\p{Cs}]/u.test(text), "expected no control characters"),
  );
}
