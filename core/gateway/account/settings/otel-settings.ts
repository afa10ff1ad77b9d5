import { notArray } from "../../../http/fields/schema-fields.ts";
import * as v from "valibot";
import { HEADER_NAME, headerCredential } from "../../../http/fields/header-schema.ts";

const headerName = v.pipe(
  v.string(),
  v.regex(HEADER_NAME, "expected a header name"),
  v.check((name) => !reserved.includes(name.toLowerCase()), "this header is set by the exporter"),
);

const reserved = [
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "transfer-encoding",
];

const address = v.pipe(
  v.string(),
  v.maxLength(2048),
  v.check(isAddress, "expected an http(s) URL without user name and fragment"),
);

const endpoint = v.object({
  url: address,
  headers: v.optional(
    v.pipe(notArray, v.record(headerName, headerCredential), v.maxEntries(20)),
    {},
  ),
  authorization: v.nullish(headerCredential),
  content_type: v.nullish(
    v.literal("json", '"protobuf" is not available in this version: spans are sent as JSON'),
  ),
});

/** One element of the setting `otel` as a client writes it. */
export interface OtelWrite {
  url: string;
  headers: Record<string, string>;
  authorization?: string | null | undefined;
  content_type?: "json" | null | undefined;
}

/** An endpoint as it is stored: everything that could be a credential is sealed. */
export type OtelEndpoint = {
  url: string;
  /** Names of the sealed headers. */
  names: string[];
  authorized: boolean;
  sealed: string;
};

/** Checks the setting `otel`. */
export const otelWrite: v.GenericSchema<unknown, OtelWrite[]> = v.pipe(
  v.array(endpoint),
  v.maxLength(5, "at most 5 endpoints are allowed"),
);

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb && username === "" && password === "" && hash === "";
}
