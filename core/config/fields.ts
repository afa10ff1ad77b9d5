import {
  between,
  LARGEST_COUNT,
  LONGEST_DAYS,
  LONGEST_TIMER_MS,
  whole,
} from "../http/fields/bounded-number.ts";
import * as v from "valibot";

/** A schema for each member of a part's type, so that the type and the schema have the same keys. */
export type Members<Part> = { readonly [Name in keyof Part]-?: v.GenericSchema };

/** An address to send requests to. */
export const url: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.url("expected an absolute URL"),
  v.regex(/^https?:/i, "expected an http or https URL"),
);
/** Origins of pages, as a browser sends them. */
export const origins: v.GenericSchema<string[]> = v.array(
  v.pipe(
    v.string(),
    v.check((text) => URL.parse(text)?.origin === text, "expected an origin: https://app.example"),
  ),
);
/** A name that can stand in a path. */
export const id: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9_-]{1,64}$/, "expected 1 to 64 of A-Z, a-z, 0-9, _ and -"),
);
/** Texts that are not empty. */
export const strings: v.GenericSchema<string[]> = v.array(v.pipe(v.string(), v.minLength(1)));
/** A count of at least one. */
export const positiveInteger: v.GenericSchema<number> = whole(1, LARGEST_COUNT);
export const anyCount: v.GenericSchema<number> = whole(0, LARGEST_COUNT);
/** A timeout in ms. */
export const milliseconds: v.GenericSchema<number> = whole(1, LONGEST_TIMER_MS);
export const pauseMs: v.GenericSchema<number> = whole(0, LONGEST_TIMER_MS);
/** A number of days for which rows are kept. */
export const days: v.GenericSchema<number> = whole(1, LONGEST_DAYS);
/** A number of bytes of at least one MiB, so that an answer fits. */
export const mebibyteOrMore: v.GenericSchema<number> = whole(1024 * 1024, LARGEST_COUNT);
/** An empty host would be every network, an empty folder the current one. */
export const nonEmpty: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.minLength(1, "expected a name, got an empty string"),
);
/** Any text that is not empty. */
export const secretText: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.minLength(1, "expected a secret, got an empty string"),
);

/** A number above 0, such as one of seconds or bytes. */
export const positive: v.GenericSchema<number> = v.pipe(
  between(0, LARGEST_COUNT),
  v.gtValue(0, "expected a number above 0"),
);
