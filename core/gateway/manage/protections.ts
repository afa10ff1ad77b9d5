import { invalidRequest } from "../../http/api-error.ts";
import { dlpProblem } from "../guard/checkers/policies.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { noSuchProvider, spendProviders } from "../metering/spend/spend-providers.ts";
import type {
  GatewayChanges,
  GatewaySettings,
  GatewayWrite,
} from "../account/settings/settings.ts";
import { otelView, sealOtel } from "../observe/trace/sealed-otel.ts";
import { type GatewayManagementDeps, isProvider } from "./context.ts";

/**
 * Turns what a client wrote into what is stored: credentials of trace endpoints are sealed. Throws `invalid_request`
 * for a DLP profile that does not exist, and for a trace endpoint that cannot be reached. Stored, they would be
 * settings that do nothing.
 */
export async function storedChanges(
  name: GatewayName,
  { otel, ...changes }: GatewayWrite,
  former: GatewaySettings | null,
  deps: GatewayManagementDeps,
): Promise<GatewayChanges> {
  const { platform, records, vault, safety } = deps;
  const problem = dlpProblem(changes.dlp, safety);
  if (problem !== null) throw invalidRequest(`dlp: ${problem}`);
  await checkSpendProviders(name, changes.spend_limits, former?.spend_limits, deps);
  if (otel === undefined || otel === null) return { ...changes, otel };
  for (const [index, { url }] of otel.entries()) {
    const reason = platform.egress.refusal?.(url) ?? null;
    if (reason !== null) {
      throw invalidRequest(
        `otel.${index}.url: ${reason}. Name a collector of your own network in "webhooks.allowHosts" of the configuration`,
      );
    }
  }
  return {
    ...changes,
    otel: await sealOtel(otel, former?.otel ?? [], records.ofGateway(name), vault),
  };
}

/** Throws `invalid_request` for a spend limit of a provider that does not exist: it would never apply. */
async function checkSpendProviders(
  { account }: GatewayName,
  limits: GatewayWrite["spend_limits"],
  former: GatewayWrite["spend_limits"],
  deps: GatewayManagementDeps,
): Promise<void> {
  // A provider of before may have been deleted, and clients send back what they have read.
  const known = new Set(spendProviders(former).map(({ segment }) => segment));
  for (const name of Object.keys(deps.configured)) known.add(name.toLowerCase());
  for (const named of spendProviders(limits)) {
    if (known.has(named.segment) || (await isProvider(named.segment, account, deps))) continue;
    const message = noSuchProvider(named, Object.keys(deps.configured));
    throw invalidRequest(message);
  }
}

/** A gateway's settings as clients see them: no credential, sealed or not, and nothing of the cache's own. */
export function settingsView(settings: GatewaySettings): Record<string, unknown> {
  const { cache_since: _, prices_version: __, ...shown } = settings;
  const { otel } = shown;
  return otel == null ? shown : { ...shown, otel: otel.map(otelView) };
}
