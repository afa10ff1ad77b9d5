import type { GatewayChanges, GatewaySettings } from "../core/gateway/account/settings/settings.ts";
import { change } from "./parts.tsx";

/** Changes settings of a gateway; those that a change has to name keep their values. */
export async function saveGateway(
  path: string,
  gateway: GatewaySettings,
  changes: GatewayChanges,
): Promise<void> {
  await change("PUT", path, {
    cache_invalidate_on_update: gateway.cache_invalidate_on_update,
    cache_ttl: gateway.cache_ttl,
    collect_logs: gateway.collect_logs,
    rate_limiting_interval: gateway.rate_limiting_interval,
    rate_limiting_limit: gateway.rate_limiting_limit,
    rate_limiting_technique: gateway.rate_limiting_technique ?? "sliding",
    ...changes,
  });
}
