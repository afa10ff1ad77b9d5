import { ApiError } from "../../http/api-error.ts";
import { acceptedFormat, mediaTypes } from "../../http/metrics-format.ts";
import { gatewayNameOf, guards, MANAGEMENT_ROOT, type ManagementRoutes } from "./context.ts";
import { exposition } from "../observe/metrics/exposition.ts";

/** An account's metrics, for scrapers. */
export const metricsRoutes: ManagementRoutes = (app, { auth, metrics, platform }) => {
  app.get(`${MANAGEMENT_ROOT}/metrics`, guards(auth).read, async (c) => {
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
};
