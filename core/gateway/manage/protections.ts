import { ApiError } from "../../http/api-error.ts";
import { profileNames, type SafetyOptions, unknownProfiles } from "../checkers/policies.ts";
import type { Platform } from "../../ports.ts";
import type { GatewayName } from "../gateway-name.ts";
import type { GatewayChanges, GatewaySettings, GatewayWrite } from "../settings.ts";
import { otelView, sealOtel } from "../trace/otel-settings.ts";
import type { RecordStore } from "./records.ts";
import type { Vault } from "./vault.ts";

/** What makes a gateway's protections ready to be stored. */
export interface ProtectionDeps {
  readonly platform: Pick<Platform, "egress">;
  readonly records: RecordStore;
  readonly vault: Vault;
  readonly safety: SafetyOptions;
}

/**
 * Turns what a client wrote into what is stored: credentials of trace endpoints are sealed. Throws
 * `invalid_request` for a DLP profile that nobody provides, and for a trace endpoint that will not be reached: a policy that
 * finds nothing, and a collector that gets nothing, are false promises.
 */
export async function storedChanges(
  name: GatewayName,
  { otel, ...changes }: GatewayWrite,
  former: GatewaySettings | null,
  { platform, records, vault, safety }: ProtectionDeps,
): Promise<GatewayChanges> {
  const [unknown] = unknownProfiles(changes.dlp, safety);
  if (unknown !== undefined) {
    throw new ApiError("invalid_request", {
      message: `dlp: there is no profile "${unknown.slice(0, 64)}", only ${profileNames(safety).join(", ")}`,
    });
  }
  if (otel === undefined || otel === null) return { ...changes, otel };
  for (const [index, { url }] of otel.entries()) {
    const reason = platform.egress.refusal?.(url) ?? null;
    if (reason !== null) {
      throw new ApiError("invalid_request", {
        message: `otel.${index}.url: ${reason}. Name a collector of your own network in "webhooks.allowHosts" of the configuration`,
      });
    }
  }
  return {
    ...changes,
    otel: await sealOtel(otel, former?.otel ?? [], records.ofGateway(name), vault),
  };
}

/** A gateway's settings as clients see them: no credential, sealed or not, and nothing of the cache's own. */
export function settingsView(settings: GatewaySettings): Record<string, unknown> {
  const { cache_since: _, prices_version: __, ...shown } = settings;
  const { otel } = shown;
  return otel == null ? shown : { ...shown, otel: otel.map(otelView) };
}
