import { ApiError } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import { HOW_TO_SEND } from "../call/gateway-token.ts";
import type { Call } from "../call/call.ts";
import { isSecretHeader } from "../wire/header-hygiene.ts";
import { credentialValue } from "./known/provider.ts";
import { DEFAULT_ALIAS } from "../account/settings/declared-gateways.ts";
import { ECHO } from "./known/table.ts";
import type { StoredProviders } from "../account/records/stored-providers.ts";
import type { ProviderTarget } from "./target.ts";

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

/**
 * Returns the headers of a request with the credential that it lacks: the stored key of its alias, else what the
 * configuration has for the provider. A gateway with `byok_only` uses no key of the operator's. Throws
 * `gateway_unauthorized` where one would be used for a stranger.
 */
export async function withCredential(
  headers: readonly HeaderPair[],
  target: ProviderTarget,
  call: Call,
  keys: Pick<StoredProviders, "key" | "hasKey">,
): Promise<HeaderPair[]> {
  const { provider, slug, apiKey, custom } = target;
  if (slug === ECHO) return [...headers];
  const native = provider.credentials[0];
  const alias = call.controls.byokAlias;
  if (!mayUseKeys(call)) {
    const isKept = apiKey !== undefined && call.settings.byok_only !== true;
    if (isKept || alias !== undefined || (await keys.hasKey(call.name, slug, alias)))
      throw tokenNeeded(slug, native);
    return [...headers];
  }
  const stored = await storedKey(slug, call, keys);
  if (stored !== null) return [...headers, [native, credentialValue(provider, stored)]];
  if (custom?.headers.some(([name]) => provider.credentials.includes(name)) === true)
    return [...headers];
  if (call.settings.byok_only === true && provider.local !== true) {
    throw new ApiError("invalid_request", {
      message: `This gateway takes customers' own keys only: send one for "${slug}" in the header ${native}, or store one`,
    });
  }
  if (apiKey === undefined) return [...headers];
  return [...headers, [native, credentialValue(provider, apiKey)]];
}

/** Whether {@link withCredential} has a key for a provider; `apiKey` is the configured one. */
export async function servesWithKey(
  slug: string,
  call: Call,
  {
    apiKey,
    keys,
  }: { readonly apiKey: string | undefined; readonly keys: Pick<StoredProviders, "hasKey"> },
): Promise<boolean> {
  if (!mayUseKeys(call)) return false;
  if (apiKey !== undefined && call.settings.byok_only !== true) return true;
  const has = aliasesOf(call).map((alias) => keys.hasKey(call.name, slug, alias));
  return (await Promise.all(has)).includes(true);
}

/** Returns the stored key of a call's alias; of a virtual key's aliases, the first that is stored. */
async function storedKey(
  slug: string,
  call: Call,
  keys: Pick<StoredProviders, "key" | "hasKey">,
): Promise<string | null> {
  const [first, ...others] = aliasesOf(call);
  let alias = first;
  for (const next of others) {
    // The default one may also stand in the configuration.
    if (alias === undefined || (await keys.hasKey(call.name, slug, alias))) break;
    alias = next;
  }
  return keys.key(call.name, slug, alias);
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
