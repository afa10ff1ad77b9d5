import { ApiError } from "../http/api-error.ts";
import type { CustomTarget } from "./manage/stored-providers.ts";
import { ECHO, type Provider, providers } from "./providers.ts";

/** What an operator may set for a provider. */
export interface ProviderOptions {
  /** What the provider's own SDK calls its base URL, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined;
  /** Sent in the provider's native header when a request carries no credential of its own. */
  readonly apiKey?: string | undefined;
}

/** A provider with its settings applied, and where a path of it leads. */
export interface Target {
  readonly slug: string;
  readonly provider: Provider;
  /** Absolute URL of the request, query included. */
  readonly url: string;
  readonly apiKey?: string | undefined;
  /** Set for a provider of the management API: its editor is a caller, so only public addresses are reached. */
  readonly custom?: CustomTarget | undefined;
}

/** What tells `resolveTarget` about the configured providers. */
export interface TargetOptions {
  readonly providers: Readonly<Record<string, ProviderOptions>>;
  readonly demo: boolean;
}

/**
 * Finds where a request for `rest` (raw, not decoded) of a provider goes: base URL + `rest` + query.
 * Throws `provider_unknown` for an unknown or unconfigured provider and `invalid_request` for a path
 * that would leave the provider's base URL.
 */
export function resolveTarget(
  slug: string,
  rest: string,
  query: string,
  options: TargetOptions,
  custom: CustomTarget | null = null,
): Target {
  const configured = own(options.providers, slug);
  const settings: ProviderOptions | undefined = configured ?? custom ?? undefined;
  const provider = providerOf(slug, settings, options.demo);
  // A URL parser reads "%2e%2e" and "..\\" as "../": such a path could leave the configured base.
  if (/(?:^|[\\/])(?:\.|%2e){1,2}(?:[\\/]|$)/i.test(rest)) {
    throw new ApiError("invalid_request", {
      message: "The provider path must not contain dot segments",
    });
  }
  const base = settings?.baseUrl ?? provider.baseUrl;
  if (base === null) {
    throw new ApiError("provider_unknown", {
      message: `Provider "${slug}" has no public address: configure its baseUrl`,
    });
  }
  const { url, tail } =
    settings?.baseUrl === undefined ? expand(provider, base, rest) : { url: base, tail: rest };
  const address = join(url, tail, provider) + query;
  const defined = configured === undefined ? (custom ?? undefined) : undefined;
  return { slug, provider, url: address, apiKey: configured?.apiKey, custom: defined };
}

function providerOf(slug: string, settings: ProviderOptions | undefined, demo: boolean): Provider {
  if (slug === ECHO && demo) return { baseUrl: "echo:", credentials: ["authorization"] };
  const known = own(providers, slug);
  if (known !== undefined) return known;
  if (/^custom-[\w.-]{1,64}$/.test(slug) && settings?.baseUrl !== undefined) {
    return { baseUrl: settings.baseUrl, credentials: ["authorization"] };
  }
  throw new ApiError("provider_unknown", { message: `Invalid provider "${slug.slice(0, 64)}"` });
}

/** A caller names the key, so inherited members such as "constructor" must not be found. */
function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Fills the placeholders of a base URL from the leading segments of the path. */
function expand(provider: Provider, base: string, rest: string): { url: string; tail: string } {
  if (base === "https://aiplatform.googleapis.com") {
    // Vertex AI serves each region from its own host; "global" has none.
    const region = /(?:^|\/)locations\/([a-z]+-[a-z]+\d+)\//.exec(rest)?.[1];
    return { url: region === undefined ? base : base.replace("//", `//${region}-`), tail: rest };
  }
  if (provider.path === undefined) return { url: base, tail: rest };
  const names = provider.path.split("/");
  const segments = rest.split("/");
  let url = base;
  for (const [index, name] of names.entries()) {
    const segment = segments[index] ?? "";
    const fits = name.startsWith("{") ? placeable(base, name).test(segment) : segment === name;
    if (!fits) {
      throw new ApiError("invalid_request", {
        message: `The path of this provider starts with "${provider.path}"`,
      });
    }
    url = url.replace(name, segment);
  }
  return { url, tail: segments.slice(names.length).join("/") };
}

/** What may fill a placeholder: a dot in a host name would lead to another host; in a path it stands in names of models. */
function placeable(base: string, name: string): RegExp {
  const [, , host = ""] = base.split("/", 3);
  return host.includes(name) ? /^[\w-]{1,64}$/ : /^[\w.-]{1,64}$/;
}

/**
 * Appends a path to a base URL so that `v1`, or another version, appears once: clients differ in whether their base
 * URL or their path carries it (reference, section 1.2, the openai `v1/` rule).
 */
function join(base: string, rest: string, provider: Provider): string {
  const url = base.endsWith("/") ? base.slice(0, -1) : base;
  const last = url.slice(url.lastIndexOf("/") + 1);
  const isAgain = /^v\d\w*$/.test(last) && (rest === last || rest.startsWith(`${last}/`));
  if (isAgain) return `${url}/${rest.slice(last.length + 1)}`;
  const wanted =
    provider.version === "always" || (provider.version === "chat" && rest === "chat/completions");
  const given = last === "v1" || rest === "v1" || rest.startsWith("v1/");
  return `${url}/${wanted && !given ? "v1/" : ""}${rest}`;
}
