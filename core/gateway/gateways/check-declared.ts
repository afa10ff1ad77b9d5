import * as v from "valibot";
import { ApiError } from "../../http/api-error.ts";
import { didYouMean } from "../../http/nearest.ts";
import { profileNames, type SafetyOptions, unknownProfiles } from "../guard/checkers/policies.ts";
import { noSuchProvider, spendProviders } from "../observe/spend/spend-providers.ts";
import type { DeclaredGateway } from "../settings/declared-gateways.ts";
import { readGraph } from "../choose/dynamic/graph.ts";
import { providers } from "../providers/table.ts";
import { gatewayDeclared } from "../settings/settings.ts";

/** Throws `invalid_options` for a declared gateway that cannot be meant; nothing is found out by a request. */
export function checkDeclared(
  gateways: Readonly<Record<string, DeclaredGateway>>,
  safety: SafetyOptions,
): void {
  for (const [id, declaration] of Object.entries(gateways)) {
    const misfit = misfitOf(declaration, safety);
    if (misfit !== null)
      throw new ApiError("invalid_options", { message: `gateways.${id}.${misfit}` });
  }
}

/** Providers of the management API are not known yet. */
function mayExist(segment: string): boolean {
  return Object.hasOwn(providers, segment) || /^custom-[\w.-]{1,64}$/.test(segment);
}

function misfitOf(declaration: DeclaredGateway, safety: SafetyOptions): string | null {
  const { settings = {}, keys = {}, routes = {} } = declaration;
  const { success, issues } = v.safeParse(gatewayDeclared, settings);
  if (!success) return `settings.${v.getDotPath(issues[0]) ?? ""}: ${issues[0].message}`;
  const [profile] = unknownProfiles(settings.dlp, safety);
  if (profile !== undefined)
    return `settings.dlp: there is no profile "${profile.slice(0, 64)}", only ${profileNames(safety).join(", ")}`;
  for (const named of spendProviders(settings.spend_limits))
    if (!mayExist(named.segment)) return `settings.${noSuchProvider(named)}`;
  for (const slug of Object.keys(keys)) {
    if (mayExist(slug)) continue;
    return `keys.${slug.slice(0, 64)}: no such provider${didYouMean(slug, Object.keys(providers))}`;
  }
  for (const [name, elements] of Object.entries(routes)) {
    try {
      readGraph(elements);
    } catch (error) {
      return `routes.${name.slice(0, 64)}: ${error instanceof Error ? error.message : ""}`;
    }
  }
  return null;
}
