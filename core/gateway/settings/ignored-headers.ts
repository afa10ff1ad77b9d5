import * as v from "valibot";
import { isSecretHeader } from "../wire/header-hygiene.ts";
import { HEADER_NAME } from "./header-schema.ts";
import { credentialHeaders } from "../providers/table.ts";

/** Without these a client would get what it cannot read, or did not ask for. */
const framing = /^(?:accept-encoding|content-.*|range|if-.*)$/;

function isIgnorable(name: string): boolean {
  return !framing.test(name) && !credentialHeaders.has(name) && !isSecretHeader(name);
}

/** Checks the setting `cache_ignore_headers`; names are kept in lower case. */
export const ignoredHeaders: v.GenericSchema<unknown, string[]> = v.pipe(
  v.array(
    v.pipe(
      v.string(),
      v.regex(HEADER_NAME, "expected the name of a header"),
      v.toLowerCase(),
      v.check(
        isIgnorable,
        ({ input }) =>
          `"${input}" must stay in the cache key: it may hold a credential, or says what the body is`,
      ),
    ),
  ),
  v.maxLength(50, "at most 50 headers are allowed"),
);
