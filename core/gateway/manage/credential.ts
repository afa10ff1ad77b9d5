import { ApiError } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import type { Call, GatewayDeps } from "../call.ts";
import { credentialValue, ECHO } from "../providers.ts";
import type { Target } from "../target.ts";

/**
 * The headers of a request with the credential that it lacks: the stored key of its alias, else what the
 * configuration has for the provider. A gateway with `byok_only` uses no key of the operator's.
 */
export async function withCredential(
  headers: readonly HeaderPair[],
  target: Target,
  call: Call,
  deps: GatewayDeps,
): Promise<HeaderPair[]> {
  const { provider, slug, apiKey, custom } = target;
  if (slug === ECHO) return [...headers];
  const native = provider.credentials[0];
  const stored = await deps.stored.key(call.name, slug, call.controls.byokAlias);
  if (stored !== null) return [...headers, [native, credentialValue(provider, stored)]];
  if (custom?.headers.some(([name]) => provider.credentials.includes(name)) === true)
    return [...headers];
  if (call.settings.byok_only === true) {
    throw new ApiError("invalid_request", {
      message: `This gateway takes customers' own keys only: send one for "${slug}" in the header ${native}, or store one`,
    });
  }
  if (apiKey === undefined) return [...headers];
  return [...headers, [native, credentialValue(provider, apiKey)]];
}

/** The headers with those of a custom provider. A credential that the request brought stays. */
export function withProviderHeaders(
  headers: readonly HeaderPair[],
  { custom, provider }: Target,
): HeaderPair[] {
  if (custom === undefined || custom.headers.length === 0) return [...headers];
  const brought = new Set(
    headers.map(([name]) => name).filter((name) => provider.credentials.includes(name)),
  );
  const added = custom.headers.filter(([name]) => !brought.has(name));
  const names = new Set(added.map(([name]) => name));
  return [...headers.filter(([name]) => !names.has(name)), ...added];
}
