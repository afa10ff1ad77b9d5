import { ApiError } from "../../http/api-error.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { siteAddress } from "../state/check-site.ts";
import { invalid } from "../state/source-errors.ts";
import { openSecret, sealSecret, type SecretDeps } from "./token-secrets.ts";

/** The value that settings show of each header; a client may send it back to keep the header. */
const HIDDEN = "********";
const FIELD = "source_params.web_crawler.parse_options.include_headers";

type Headers = Readonly<Record<string, string>>;

/**
 * Takes the headers of a source out of new settings and seals them: they may be credentials. Values that a client sends back
 * hidden stay as they were. Throws for those that are not stored, or were given for another origin.
 */
export async function sealSourceHeaders(
  deps: SecretDeps,
  account: string,
  next: InstanceSettings,
  old: InstanceSettings | null,
): Promise<InstanceSettings> {
  const given = headersOf(next);
  const entries = Object.entries(given);
  if (entries.length === 0) return { ...next, sealed_headers: null };
  const hidden = entries.filter(([, value]) => value === HIDDEN).map(([name]) => name);
  if (hidden.length > 0) {
    checkKnown(hidden, headersOf(old));
    checkOrigin(next, old);
    const isSame = hidden.length === Object.keys(headersOf(old)).length;
    if (isSame && hidden.length === entries.length) return next;
  }
  const known =
    hidden.length === 0 || old === null ? {} : await openSourceHeaders(deps, account, old);
  const headers = entries.map(([name, value]) => [name, value === HIDDEN ? known[name] : value]);
  const secret = JSON.stringify(Object.fromEntries(headers));
  return {
    ...withHeaders(next, Object.fromEntries(entries.map(([name]) => [name, HIDDEN]))),
    sealed_headers: await sealSecret(deps, account, placeOf(next), secret),
  };
}

/** Returns the headers of an instance's source, for its use. Throws 503 when no master secret opens them. */
export async function openSourceHeaders(
  deps: SecretDeps,
  account: string,
  settings: InstanceSettings,
): Promise<Headers> {
  const { sealed_headers: sealed } = settings;
  // A former version stored headers as they were, and none that were credentials.
  if (sealed == null) return headersOf(settings);
  const text = await openSecret(deps, account, placeOf(settings), sealed);
  if (text !== null) return JSON.parse(text) as Headers;
  throw new ApiError("unavailable", {
    message: `${FIELD}: No configured master secret opens them: give them again`,
  });
}

/** Names what sealed headers belong to: they open for the same instance and origin only. */
function placeOf(settings: InstanceSettings): string {
  return `${settings.namespace}/${settings.id}/headers/${originOf(settings)}`;
}

function originOf({ source }: InstanceSettings): string {
  return siteAddress(source?.trim() ?? "")?.origin ?? "";
}

function headersOf(settings: InstanceSettings | null): Headers {
  return settings?.source_params?.web_crawler?.parse_options?.include_headers ?? {};
}

function withHeaders(settings: InstanceSettings, headers: Headers): InstanceSettings {
  const { source_params: params } = settings;
  const { web_crawler: web } = params ?? {};
  const parse = { ...web?.parse_options, include_headers: headers };
  return {
    ...settings,
    source_params: { ...params, web_crawler: { ...web, parse_options: parse } },
  };
}

function checkKnown(hidden: readonly string[], known: Headers): void {
  const unknown = hidden.find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  throw invalid(FIELD, `"${unknown}" has no stored value: give it`);
}

function checkOrigin(next: InstanceSettings, old: InstanceSettings | null): void {
  if (old === null || originOf(next) === originOf(old)) return;
  throw invalid("source", `Its headers would go to another origin: give ${FIELD}, too`);
}
