import { invalidRequest } from "../../../http/api-error.ts";
import type { Records } from "../../account/records/records.ts";
import type { Vault } from "../../account/records/vault.ts";
import type { OtelWrite, OtelEndpoint } from "../../account/settings/otel-settings.ts";

/** The content of {@link OtelEndpoint.sealed}. */
interface OtelSecrets {
  readonly headers: Readonly<Record<string, string>>;
  readonly authorization: string | null;
}

/** Stands for a stored value; written back, it leaves the value as it is. */
const MASK = "********";

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
  throw invalidRequest(
    `otel: "${MASK}" stands for a stored value, but none is stored for this url: write the value`,
  );
}

/** Opens an endpoint's credentials; throws `unavailable` when no master key does. */
export async function openOtel(
  { url, sealed }: OtelEndpoint,
  records: Records,
  vault: Vault,
): Promise<OtelSecrets> {
  return JSON.parse((await vault.open(records, contextOf(url), sealed)).text) as OtelSecrets;
}

/** Returns an endpoint as clients see it: names, never values. */
export function otelView({ url, names, authorized }: OtelEndpoint): Record<string, unknown> {
  return {
    url,
    headers: Object.fromEntries(names.map((name) => [name, MASK])),
    ...(authorized ? { authorization: MASK } : {}),
    content_type: "json",
  };
}

/** Binds a sealed value to its own address, so that it cannot be sent elsewhere. */
function contextOf(url: string): string {
  return `otel/${url}`;
}
