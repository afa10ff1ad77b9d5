import { ownMember } from "../../../http/json.ts";
import type { DeclaredGateway } from "../../account/settings/declared-gateways.ts";
import { isLocal } from "../known/table.ts";
import type { ProviderOptions } from "../../account/settings/provider-options.ts";
import type { ConfiguredTargets } from "../target.ts";

interface ConfiguredProviders {
  readonly providers?: Readonly<Record<string, ProviderOptions>> | undefined;
  readonly gateways?: Readonly<Record<string, DeclaredGateway>> | undefined;
}

/** Lists the configured providers whose models cost nothing. */
export function freeProviders({
  providers: all = {},
  gateways = {},
}: ConfiguredProviders): string[] {
  const ofGateways = Object.values(gateways).flatMap((one) => Object.keys(one.providers ?? {}));
  const slugs = new Set([...Object.keys(all), ...ofGateways]);
  return [...slugs].filter((slug) => {
    const told = ownMember(all, slug)?.free;
    return told ?? isLocal(slug);
  });
}

/** Returns the targets of configured providers, with those of gateways that have their own. */
export function configuredTargets(
  {
    providers: all = {},
    gateways = {},
    demo = true,
  }: ConfiguredProviders & { readonly demo?: boolean | undefined },
  accountId: string | undefined,
): ConfiguredTargets {
  const own = new Map(
    Object.entries(gateways).flatMap(([id, { providers: more }]) =>
      more === undefined ? [] : [[id, { demo, providers: { ...all, ...more } }] as const],
    ),
  );
  const targets = { providers: all, demo };
  if (own.size === 0) return targets;
  return {
    ...targets,
    ofGateway: ({ account, gateway }) =>
      accountId === undefined || accountId === account ? own.get(gateway) : undefined,
  };
}
