import { ownMember } from "../../http/json.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import { HOW_TO_SEND } from "../call/gateway-token.ts";
import type { Call } from "../call/call.ts";
import { isSecretHeader } from "../wire/header-hygiene.ts";
import { credentialValue } from "./known/provider.ts";
import { DEFAULT_ALIAS } from "../account/settings/declared-gateways.ts";
import { ECHO } from "./known/table.ts";
import type { KeyHolder, StoredProviders } from "../account/records/stored-providers.ts";
import type { CloudSecret } from "../account/settings/provider-options.ts";
import type { AccessKey } from "./clouds/bedrock.ts";
import type { AccessTokens } from "./clouds/access-tokens.ts";
import type { PlaceSettings } from "./clouds/cloud-place.ts";
import { cloudOf, holdsCredential, readCloudSecret } from "./clouds/cloud-settings.ts";
import type { ConfiguredTargets, ProviderTarget } from "./target.ts";

/** Whether provider keys of the operator's serve a call: a stranger would spend their money. */
export function mayUseKeys({ caller, settings }: Call): boolean {
  return caller !== null || settings.stored_keys_for_anonymous === true;
}

function tokenNeeded(slug: string, header: string): ApiError {
  return new ApiError("gateway_unauthorized", {
    message: `Unauthorized: this gateway uses its key for "${slug}" only for requests with a gateway token: ${HOW_TO_SEND}, or a key of your own in the header ${header}`,
  });
}

/** Throws `gateway_unauthorized` for a stranger who asks a server of the operator's own, which wants no key. */
export function checkStranger({ provider, slug }: ProviderTarget, call: Call): void {
  if (provider.local === true && !mayUseKeys(call))
    throw new ApiError("gateway_unauthorized", {
      message: `Unauthorized: this gateway asks "${slug}" only for requests with a gateway token: ${HOW_TO_SEND}`,
    });
}

/** A request's headers with its credential, or the key that signs it. */
export interface Credential {
  readonly headers: HeaderPair[];
  /** @default the request is not signed */
  readonly signer?: AccessKey;
}

export interface CredentialSources {
  readonly stored: Pick<StoredProviders, "key" | "hasKey">;
  /** @default no provider is a cloud */
  readonly tokens?: AccessTokens;
}

/**
 * Returns the headers of a request with the credential that it lacks: the stored key of its alias, else what the
 * configuration has for the provider. A gateway with `byok_only` uses no key of the operator's. Throws
 * `gateway_unauthorized` where one would be used for a stranger.
 */
export async function withCredential(
  headers: readonly HeaderPair[],
  target: ProviderTarget,
  call: Call,
  { stored: keys, tokens }: CredentialSources,
): Promise<Credential> {
  const { provider, slug, settings = {}, custom } = target;
  if (slug === ECHO) return { headers: [...headers] };
  const native = provider.credentials[0];
  const alias = call.controls.byokAlias;
  const isConfigured = holdsCredential(settings);
  if (!mayUseKeys(call)) {
    const isKept = isConfigured && call.settings.byok_only !== true;
    if (isKept || alias !== undefined || (await keys.hasKey(call.name, slug, alias)))
      throw tokenNeeded(slug, native);
    return { headers: [...headers] };
  }
  const stored = await storedKey({ slug, custom }, call, keys);
  if (stored !== null) return credentialFrom(secretOf(slug, stored), headers, target, tokens);
  if (custom?.headers.some(([name]) => provider.credentials.includes(name)) === true)
    return { headers: [...headers] };
  if (call.settings.byok_only === true && provider.local !== true) {
    throw invalidRequest(
      `This gateway takes customers' own keys only: send one for "${slug}" in the header ${native}, or store one`,
    );
  }
  if (!isConfigured) return { headers: [...headers] };
  return credentialFrom(settings, headers, target, tokens);
}

/** Reads a stored secret; that of a cloud can be settings. Throws `invalid_request` for one that is broken. */
function secretOf(slug: string, text: string): CloudSecret {
  if (cloudOf(slug) === undefined) return { apiKey: text };
  const secret = readCloudSecret(slug, text);
  if (typeof secret !== "string") return secret;
  throw invalidRequest(`The stored key of "${slug}": ${secret}`);
}

async function credentialFrom(
  secret: CloudSecret,
  headers: readonly HeaderPair[],
  { provider }: ProviderTarget,
  tokens: AccessTokens | undefined,
): Promise<Credential> {
  const { apiKey, accessKeyId, secretAccessKey } = secret;
  const native = provider.credentials[0];
  if (apiKey !== undefined)
    return { headers: [...headers, [native, credentialValue(provider, apiKey)]] };
  if (accessKeyId !== undefined && secretAccessKey !== undefined)
    return { headers: [...headers], signer: { ...secret, accessKeyId, secretAccessKey } };
  if (tokens === undefined || !holdsCredential(secret)) return { headers: [...headers] };
  return { headers: [...headers, ["authorization", `Bearer ${await tokens(secret)}`]] };
}

/**
 * Returns the settings of a cloud for a call: what its stored key says outranks what is configured. Only callers who may
 * use a key learn where it belongs.
 */
export async function cloudSettings(
  slug: string,
  call: Call,
  targets: ConfiguredTargets,
  stored: Pick<StoredProviders, "peek" | "hasKey">,
): Promise<PlaceSettings> {
  const configured = ownMember(targets.providers, slug);
  if (!mayUseKeys(call)) return configured ?? {};
  const found = await storedKey({ slug }, call, { key: stored.peek, hasKey: stored.hasKey });
  return found === null ? (configured ?? {}) : { ...configured, ...secretOf(slug, found) };
}

/** Whether {@link withCredential} has a key for a provider with these settings. */
export async function servesWithKey(
  slug: string,
  call: Call,
  {
    settings = {},
    keys,
  }: { readonly settings: CloudSecret | undefined; readonly keys: Pick<StoredProviders, "hasKey"> },
): Promise<boolean> {
  if (!mayUseKeys(call)) return false;
  if (holdsCredential(settings) && call.settings.byok_only !== true) return true;
  const has = aliasesOf(call).map((alias) => keys.hasKey(call.name, slug, alias));
  return (await Promise.all(has)).includes(true);
}

/** Returns the stored key of a call's alias; of a virtual key's aliases, the first that is stored. */
async function storedKey(
  holder: KeyHolder,
  call: Call,
  keys: Pick<StoredProviders, "key" | "hasKey">,
): Promise<string | null> {
  const [first, ...others] = aliasesOf(call);
  let alias = first;
  for (const next of others) {
    // The default one may also stand in the configuration.
    if (alias === undefined || (await keys.hasKey(call.name, holder.slug, alias))) break;
    alias = next;
  }
  return keys.key(call.name, holder, alias);
}

/** Returns the aliases by which a call's stored key is looked for; undefined = the default one. Throws `forbidden`. */
function aliasesOf({ caller, controls: { byokAlias: asked } }: Call): (string | undefined)[] {
  const own = caller?.grant?.aliases;
  if (own === undefined) return [asked];
  if (asked !== undefined && !own.includes(asked) && !own.includes("*")) {
    throw new ApiError("forbidden", {
      message: `The virtual key may not use the stored key "${asked}": its "aliases" are ${own.map((one) => `"${one}"`).join(", ")}. Leave out the header cf-aig-byok-alias, or add the alias to the key`,
    });
  }
  const wanted = asked === undefined ? own : [asked];
  return wanted.map((alias) => (alias === DEFAULT_ALIAS || alias === "*" ? undefined : alias));
}

/** Whether a provider's own headers hold a secret of the operator's. */
export function addsSecret({ custom }: ProviderTarget): boolean {
  return custom?.headers.some(([name]) => isSecretHeader(name)) === true;
}

/**
 * Returns the headers with those of a custom provider. A credential that the request brought stays. Throws
 * `gateway_unauthorized` where a stranger would get one of the operator's.
 */
export function withProviderHeaders(
  headers: readonly HeaderPair[],
  { custom, provider, slug }: ProviderTarget,
  call: Call,
): HeaderPair[] {
  if (custom === undefined || custom.headers.length === 0) return [...headers];
  const brought = new Set(
    headers.map(([name]) => name).filter((name) => provider.credentials.includes(name)),
  );
  const added = custom.headers.filter(([name]) => !brought.has(name));
  if (!mayUseKeys(call) && added.some(([name]) => isSecretHeader(name)))
    throw tokenNeeded(slug, provider.credentials[0]);
  const names = new Set(added.map(([name]) => name));
  return [...headers.filter(([name]) => !names.has(name)), ...added];
}
