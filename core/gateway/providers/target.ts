import { ownMember } from "../../http/json.ts";
import { didYouMean } from "../../text/nearest.ts";
import { hasNeedlessEscapes } from "../../net/needless-escapes.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { CustomTarget } from "../account/records/stored-providers.ts";
import type { Place, Provider } from "./known/provider.ts";
import { plainPath } from "./reach/inferences.ts";
import { ECHO, isLocal, providerRow, providers } from "./known/table.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { ProviderOptions } from "../account/settings/provider-options.ts";
import type { Step } from "../call/call.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import type { HeaderPair } from "../../ports.ts";
import type { Forwarded } from "../call/forwarded.ts";
import type { RawTail } from "../wire/raw-path.ts";

/** A provider with its settings applied, and where a path of it leads. */
export interface ProviderTarget {
  readonly slug: string;
  readonly provider: Provider;
  /** Absolute URL of the request, query included. */
  readonly url: string;
  /** The rest of the URL behind the provider's base URL. */
  readonly path: string;
  /** The operator's settings for the provider. */
  readonly settings?: ProviderOptions | undefined;
  /** Set for a provider of the management API: its editor is a caller, so only public addresses are reached. */
  readonly custom?: CustomTarget | undefined;
}

/** The configured providers, as `resolveTarget` needs them. */
export interface ConfiguredTargets {
  readonly providers: Readonly<Record<string, ProviderOptions>>;
  readonly demo: boolean;
  /** Those of a gateway that has settings of its own; undefined for another one. @default no gateway has */
  readonly ofGateway?: ((name: GatewayName) => ConfiguredTargets | undefined) | undefined;
}

export function targetsOf(targets: ConfiguredTargets, name: GatewayName): ConfiguredTargets {
  return targets.ofGateway?.(name) ?? targets;
}

/** Whether a provider may lack one of the formats of chats, so that it has to be found out. */
export function mayLackFormats(slug: string): boolean {
  return isCustomSegment(slug) || isLocal(slug);
}

/** Returns the settings with another base URL for a provider that has no configured one. */
export function movedTo(
  options: ConfiguredTargets,
  slug: string,
  baseUrl: string,
): ConfiguredTargets {
  const configured = ownMember(options.providers, slug);
  const moved = { ...configured, baseUrl: configured?.baseUrl ?? baseUrl };
  return { demo: options.demo, providers: { ...options.providers, [slug]: moved } };
}

/** The rest of a request's address, and the account's own provider of that name. */
export interface TargetPath {
  readonly rest: string;
  readonly query: string;
  readonly custom?: CustomTarget | null | undefined;
}

/**
 * Finds where a request for `rest` (raw, not decoded) of a provider goes: base URL + `rest` + query.
 * Throws `provider_unknown` for an unknown or unconfigured provider and `invalid_request` for a path
 * that would leave the provider's base URL.
 */
export function resolveTarget(
  slug: string,
  options: ConfiguredTargets,
  { rest, query, custom = null }: TargetPath,
): ProviderTarget {
  const configured = ownMember(options.providers, slug);
  const settings: ProviderOptions | undefined = configured ?? custom ?? undefined;
  const provider = providerOf(slug, settings, options.demo);
  checkPath(rest, query);
  const base = settings?.baseUrl ?? provider.baseUrl;
  if (base === null) {
    throw new ApiError("provider_unknown", {
      message: `Provider "${slug}" has no public address: configure its baseUrl`,
    });
  }
  const { url, tail } =
    settings?.baseUrl === undefined ? expand(provider, base, rest) : { url: base, tail: rest };
  const root = url.endsWith("/") ? url.slice(0, -1) : url;
  const path = pathBehind(root, tail, provider);
  const defined = configured === undefined ? (custom ?? undefined) : undefined;
  const address = `${root}/${path}${query}`;
  return { slug, provider, url: address, path, settings: configured, custom: defined };
}

/**
 * Returns the path of a request behind the base URL of its provider, without a version in front; null where it leads
 * nowhere. One of a custom provider is as it stands.
 */
export function providerPath(
  { slug, rest }: Pick<Step, "slug" | "rest">,
  options: ConfiguredTargets,
): string | null {
  if (isCustomSegment(slug) && ownMember(options.providers, slug) === undefined)
    return plainPath(rest);
  try {
    return plainPath(resolveTarget(slug, options, { rest, query: "" }).path);
  } catch {
    return null;
  }
}

/** Characters that URL parsers leave out, or at which they end a path. */
const CHANGED = /[\p{Cc}#]|^ | $/u;

/** Refuses a path that could leave the configured base, or be another one to its provider than to the checks of a gateway. */
function checkPath(rest: string, query: string): void {
  const refusal = (what: string): ApiError =>
    invalidRequest(`The provider path must not contain ${what}`);
  // A URL parser reads "%2e%2e" as "..".
  if (/(?:^|[\\/])(?:\.|%2e){1,2}(?:[\\/]|$)/i.test(rest)) throw refusal("dot segments");
  if (CHANGED.test(rest + query)) throw refusal('"#", control characters, or a space at its ends');
  // A URL parser takes it for a slash.
  if (rest.includes("\\")) throw refusal('"\\"');
  if (hasNeedlessEscapes(rest)) throw refusal('escapes of letters, digits, "-", "." or "_"');
}

/** Whether a path segment can be that of a custom provider. */
export function isCustomSegment(segment: string): boolean {
  return /^custom-[\w.-]{1,64}$/.test(segment);
}

function providerOf(slug: string, settings: ProviderOptions | undefined, demo: boolean): Provider {
  if (slug === ECHO && demo) return { baseUrl: "echo:", credentials: ["authorization"] };
  const known = providerRow(slug);
  // A caller may reach only those servers of this machine that the operator has named.
  if (known?.local === true && settings === undefined) {
    throw new ApiError("provider_unknown", {
      message: `"${slug}" is not configured. To use your own server, set providers.${slug} of the configuration: {} means ${known.baseUrl}`,
    });
  }
  if (known !== undefined) return known;
  if (isCustomSegment(slug) && settings?.baseUrl !== undefined) {
    return { baseUrl: null, credentials: ["authorization"] };
  }
  throw unknownProvider(slug);
}

/** The refusal of a name that is not a provider's. */
export function unknownProvider(slug: string): ApiError {
  const shown = slug.slice(0, 64);
  const hint = didYouMean(shown, Object.keys(providers));
  return new ApiError("provider_unknown", { message: `Invalid provider "${shown}"${hint}` });
}

/** Fills the placeholders of a base URL from the leading segments of the path. */
function expand(provider: Provider, base: string, rest: string): { url: string; tail: string } {
  const { path, places = [], hostOf } = provider;
  if (hostOf !== undefined) return { url: hostOf(rest), tail: rest };
  if (path === undefined) return { url: base, tail: rest };
  for (const place of [...places, { path, baseUrl: base }]) {
    const found = placed(place, rest);
    if (found !== null) return found;
  }
  const paths = [{ path }, ...places].map((place) => `"${place.path}"`).join(" or ");
  throw invalidRequest(`The path of this provider starts with ${paths}`);
}

/** Null for a path that does not lead to this place. */
function placed(place: Place, rest: string): { url: string; tail: string } | null {
  const names = place.path.split("/");
  const segments = rest.split("/");
  let url = place.baseUrl;
  for (const [index, name] of names.entries()) {
    const segment = segments[index] ?? "";
    const isNamed = name.startsWith("{");
    const fits = isNamed ? placeable(place.baseUrl, name).test(segment) : segment === name;
    if (!fits) return null;
    url = url.replace(name, segment);
  }
  const tail = segments.slice(names.length).join("/");
  return place.unless?.test(tail) === true ? null : { url, tail };
}

/**
 * Matches the values for a placeholder: a dot in a host name would lead to another host; in a path it stands in names of
 * models.
 */
function placeable(base: string, name: string): RegExp {
  const [, , host = ""] = base.split("/", 3);
  return host.includes(name) ? /^[\w-]{1,64}$/ : /^[\w.-]{1,64}$/;
}

/**
 * Returns the path behind a base URL in which `v1`, or another version, appears once: clients differ in whether their base
 * URL, their path or both carry it (docs/compatibility.md).
 */
function pathBehind(url: string, path: string, provider: Provider): string {
  const rest = withoutRepeated(url, path, provider);
  const last = url.slice(url.lastIndexOf("/") + 1);
  const isAgain = /^v\d\w*$/.test(last) && (rest === last || rest.startsWith(`${last}/`));
  if (isAgain) return rest.slice(last.length + 1);
  if (last === "v1" || VERSION.test(rest)) return rest;
  const { versioned = false } = provider;
  return versioned === true || (versioned !== false && versioned.test(rest)) ? `v1/${rest}` : rest;
}

/** How a path begins that names a version. */
const VERSION = /^(?:v\d\w*|alpha|beta)(?:\/|$)/;

/** Returns a path without what it says twice, or says again behind the provider's base URL, as `groq-sdk` does. */
function withoutRepeated(url: string, path: string, { baseUrl }: Provider): string {
  if (baseUrl === null) return path;
  const rest = path.replace(/^(v\d\w*)\/(?=\1(?:\/|$))/, "");
  const end = /^https:\/\/[^/]+(\/[^{]+)$/.exec(baseUrl)?.[1];
  if (end === undefined || !url.endsWith(end)) return rest;
  return `/${rest}/`.startsWith(`${end}/`) ? rest.slice(end.length) : rest;
}

/** The prefix of every custom provider's path segment. */
export const CUSTOM_PREFIX = "custom-";

/**
 * Returns the step with the path, query and host that its provider's header names, if it has one (`addressIn` of its row).
 * Throws `invalid_request` for an address that is not one of the provider's.
 */
export function withNamedAddress(step: Step): Step {
  const row = providerRow(step.slug)?.addressIn;
  const address = row === undefined ? null : headerValue(step.headers, row.header);
  if (row === undefined || address === null) return step;
  // Not parsed as a URL: the path goes on as it was written, and no form of a host but the plain one is taken.
  const [, host = "", rest = "", query = ""] =
    /^https:\/\/([^/?#]{1,253})(?:\/([^?#]*))?(\?[^#]*)?$/i.exec(address) ?? [];
  if (!row.hosts.test(host.toLowerCase())) {
    throw invalidRequest(`Header ${row.header}: expected an https address of this provider`);
  }
  const headers = step.headers.filter(([name]) => name !== row.header);
  return { ...step, origin: `https://${host.toLowerCase()}`, rest, query, headers };
}

interface UploadRequest {
  readonly url: string;
  readonly slug: string;
  readonly tail: RawTail;
}

/**
 * Puts the gateway's own address into an answer that names where an upload continues (`uploadAddress` of the provider's
 * row). Google's SDK keeps the path of that address, and takes the host from its base URL.
 */
export function withUploadAddress(
  forwarded: Forwarded,
  { url, slug, tail }: UploadRequest,
  targets: ConfiguredTargets,
): Forwarded {
  const row = providerRow(slug);
  const { uploadAddress: header, baseUrl } = row ?? {};
  if (header === undefined || !tail.rest.startsWith("upload/")) return forwarded;
  const ours = url.slice(0, url.lastIndexOf(`/${tail.rest}`) + 1);
  const configured = resolveTarget(slug, targets, { rest: "", query: "" }).url;
  const theirs = [configured, `${baseUrl}/`];
  const rewritten = ([name, value]: HeaderPair): HeaderPair => {
    const base = name === header ? theirs.find((one) => value.startsWith(one)) : undefined;
    return base === undefined ? [name, value] : [name, ours + value.slice(base.length)];
  };
  const { reply } = forwarded;
  return { ...forwarded, reply: { ...reply, headers: reply.headers.map(rewritten) } };
}
