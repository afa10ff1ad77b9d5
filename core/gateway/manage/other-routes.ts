import { ApiError } from "../../http/api-error.ts";
import { envelope } from "../../http/envelope.ts";
import { sseResponse } from "../../http/sse.ts";
import { parseLogQuery } from "../log/log-filters.ts";
import { tailEvents, tailPosition } from "../log/log-tail.ts";
import { getGateway } from "../manage-gateways.ts";
import { DEFAULT_GATEWAY } from "../settings.ts";
import {
  checkProvider,
  gatewayNameOf,
  guards,
  MANAGEMENT_ROOT,
  type ManagementRoutes,
} from "./context.ts";

/** The address that a client's base URL is set to, for a provider, `compat` or `universal`. */
export const gatewayUrlRoutes: ManagementRoutes = (app, deps) => {
  const { read } = guards(deps.auth);
  app.get(`${MANAGEMENT_ROOT}/gateways/:gateway_id/url/:provider`, read, async (c) => {
    const name = gatewayNameOf(c);
    const { account, gateway } = name;
    const provider = c.req.param("provider");
    // The default gateway is made by its first request, which needs this address.
    if (gateway !== DEFAULT_GATEWAY) await getGateway(name, deps.store);
    const { origin } = new URL(c.req.url);
    const base = `${origin}/v1/${encodeURIComponent(account)}/${encodeURIComponent(gateway)}`;
    if (provider === "universal") return envelope(base);
    if (provider !== "compat") await checkProvider(provider, account, deps);
    return envelope(`${base}/${provider}`);
  });
};

/** The live tail of a gateway's log. Register it before `logs/:id`. */
export const logTailRoutes: ManagementRoutes = (app, deps) => {
  const { read } = guards(deps.auth);
  app.get(`${MANAGEMENT_ROOT}/gateways/:gateway_id/logs/tail`, read, async (c) => {
    const name = gatewayNameOf(c);
    const query = parseLogQuery(new URL(c.req.url).search);
    const from = tailPosition(c.req.header("last-event-id"));
    await getGateway(name, deps.store);
    const next = (position: number, waitMs: number) =>
      deps.store.nextLogs(name, position, query, waitMs);
    // Before the answer begins, so that too many followers are a 429.
    await next(-1, 0);
    const { closing } = deps.platform.system;
    const left = c.req.raw.signal;
    const signal = closing === undefined ? left : AbortSignal.any([left, closing]);
    return sseResponse(tailEvents(next, from, signal));
  });
};

/** Billing belongs to the hosted service. */
export const billingRoutes: ManagementRoutes = (app, deps) => {
  const { read } = guards(deps.auth);
  app.all(`${MANAGEMENT_ROOT}/billing/*`, read, () => {
    throw new ApiError("not_part", {
      message:
        "Billing is not part of causey: providers bill you directly. See each gateway's log for costs",
    });
  });
};
