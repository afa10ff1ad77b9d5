import type { Hono } from "hono";
import { type Auth, authorize } from "../../auth/authorize.ts";
import { ApiError } from "../../http/api-error.ts";
import type { GatewayDeps } from "../call.ts";
import { gatewayNameOf, MANAGEMENT_ROOT } from "../manage/context.ts";
import { acceptedFormat } from "./accepted-format.ts";
import { exposition, mediaTypes } from "./exposition.ts";

/** An account's metrics, for scrapers. */
export function metricsRoutes(app: Hono, auth: Auth, { metrics, platform }: GatewayDeps): void {
  app.get(`${MANAGEMENT_ROOT}/metrics`, authorize(auth, "AI Gateway Read"), async (c) => {
    if (metrics === undefined) {
      throw new ApiError("not_found", {
        message: 'The gateway\'s metrics are off: set its option "metrics" to true',
      });
    }
    const table = await metrics.read(gatewayNameOf(c).account);
    const format = acceptedFormat(c.req.header("accept"));
    return new Response(exposition(table, platform.runtime, format), {
      headers: {
        "content-type": mediaTypes[format],
        "cache-control": "no-store",
        vary: "accept",
      },
    });
  });
}
