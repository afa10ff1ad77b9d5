import * as v from "valibot";
import { ApiError } from "../../../http/api-error.ts";
import { HEADER_NAME, headerCredential } from "../../manage/header-schema.ts";
import type { Records } from "../../manage/records/records.ts";
import type { Vault } from "../../manage/records/vault.ts";

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
  headers: v.optional(v.pipe(v.record(headerName, headerCredential), v.maxEntries(20)), {}),
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

/** What {@link OtelEndpoint.sealed} holds. */
interface OtelSecrets {
  readonly headers: Readonly<Record<string, string>>;
  readonly authorization: string | null;
}

/** Stands for a stored value; written back, it leaves the value as it is. */
const MASK = "********";

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

/** Seals what a client wrote; masked values are taken from the former endpoint of the same address. */
export async function sealOtel(
  written: readonly OtelWrite[],
  former: readonly OtelEndpoint[],
  records: Records,
  vault: Vault,
): Promise<OtelEndpoint[]> {
  return Promise.all(
    written.map(async ({ url, headers, authorization }) => {
      const masked = authorization === MASK || Object.values(headers).includes(MASK);
      const before = masked ? await openOtel(formerOf(former, url), records, vault) : null;
      const secrets: OtelSecrets = {
        headers: Object.fromEntries(
          Object.entries(headers).map(([name, value]) => {
            const key = name.toLowerCase();
            return [key, value === MASK ? (before?.headers[key] ?? MASK) : value];
          }),
        ),
        authorization:
          authorization === MASK ? (before?.authorization ?? null) : (authorization ?? null),
      };
      return {
        url,
        names: Object.keys(secrets.headers),
        authorized: secrets.authorization !== null,
        sealed: await vault.seal(records, contextOf(url), JSON.stringify(secrets)),
      };
    }),
  );
}

function formerOf(former: readonly OtelEndpoint[], url: string): OtelEndpoint {
  const found = former.find((one) => one.url === url);
  if (found !== undefined) return found;
  throw new ApiError("invalid_request", {
    message: `otel: "${MASK}" stands for a stored value, but none is stored for this url: write the value`,
  });
}

/** Opens an endpoint's credentials; throws `unavailable` when no master key does. */
export async function openOtel(
  { url, sealed }: OtelEndpoint,
  records: Records,
  vault: Vault,
): Promise<OtelSecrets> {
  return JSON.parse((await vault.open(records, contextOf(url), sealed)).text) as OtelSecrets;
}

/** An endpoint as clients see it: names, never values. */
export function otelView({ url, names, authorized }: OtelEndpoint): Record<string, unknown> {
  return {
    url,
    headers: Object.fromEntries(names.map((name) => [name, MASK])),
    ...(authorized ? { authorization: MASK } : {}),
    content_type: "json",
  };
}

/** A sealed value opens for its own address only, so nobody can have it sent elsewhere. */
function contextOf(url: string): string {
  return `otel/${url}`;
}
