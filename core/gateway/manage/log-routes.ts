import type { Context, Hono, MiddlewareHandler } from "hono";
import { authorizeAgain } from "../../auth/authorize.ts";
import { whilePermitted } from "../../auth/while-permitted.ts";
import { readJson } from "../../http/fields/body.ts";
import { envelope, json } from "../../http/envelope.ts";
import { checkQuery, checkWholeQuery } from "../../http/fields/query.ts";
import { sseResponse } from "../../http/sse.ts";
import { isFilterPart, logParameters, parseLogQuery } from "../observe/log/log-filters.ts";
import { tailEvents, tailPosition } from "../observe/log/log-tail.ts";
import * as logs from "./manage-logs.ts";
import { getGateway } from "./manage-gateways.ts";
import {
  gatewayNameOf,
  guards,
  idOf,
  listAnswer,
  MANAGEMENT_ROOT,
  type GatewayManagementDeps,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";

const PATH = `${MANAGEMENT_ROOT}/gateways/:gateway_id/logs`;

/** Milliseconds that a reader waits for rows on their way. */
const SETTLE_MS = 1000;

/** A gateway's log and its live tail: `…/gateways/{id}/logs`. */
export const logRoutes: ManagementRoutes = (app, deps) => {
  const { store } = deps;
  const { read, edit } = guards(deps.auth);
  // Before `/:id`: it is not the id of a row.
  tailRoute(app, deps);
  // The rows of requests that have just ended are still queued.
  const settled: MiddlewareHandler = async (_, next) => {
    await deps.logs.settle(SETTLE_MS);
    await next();
  };
  app.get(PATH, read, settled, async (c) => {
    const page = pageOfQuery(c, parametersOf(c));
    const found = await logs.listLogs(gatewayNameOf(c), searchOf(c), page, store);
    return listAnswer(found.logs, page, found.total);
  });
  app.delete(PATH, edit, settled, async (c) => {
    checkWholeQuery(c, ["limit", ...parametersOf(c)]);
    await logs.deleteLogs(gatewayNameOf(c), searchOf(c), c.req.query("limit"), store);
    return json({ success: true, result: null, errors: [], messages: [] });
  });
  app.get(`${PATH}/:id`, read, settled, async (c) =>
    envelope(await logs.getLog(gatewayNameOf(c), idOf(c), store)),
  );
  app.patch(`${PATH}/:id`, edit, settled, async (c) => {
    const body = await readJson(c, logs.logPatch, { platform: deps.platform });
    return envelope(await logs.patchLog(gatewayNameOf(c), idOf(c), body, store));
  });
  for (const side of ["request", "response"] as const) {
    app.get(`${PATH}/:id/${side}`, read, settled, async (c) =>
      logs.logBody(gatewayNameOf(c), idOf(c), side, store),
    );
  }
};

function tailRoute(app: Hono, { auth, store, platform: { system } }: GatewayManagementDeps): void {
  app.get(`${PATH}/tail`, guards(auth).read, async (c) => {
    const name = gatewayNameOf(c);
    checkQuery(c, parametersOf(c));
    const query = parseLogQuery(searchOf(c));
    const from = tailPosition(c.req.header("last-event-id"));
    await getGateway(name, store);
    const next = (position: number, waitMs: number) =>
      store.at(name).nextLogs(position, query, waitMs);
    // Before the answer begins, so that too many followers are a 429.
    await next(-1, 0);
    const { closing } = system;
    const left = c.req.raw.signal;
    const signal = closing === undefined ? left : AbortSignal.any([left, closing]);
    const review = (): Promise<void> => authorizeAgain(auth, "AI Gateway Read", c);
    return sseResponse(whilePermitted(tailEvents(next, from, signal), review, system));
  });
}

/** The parameters that these routes read, filters in the spelling of the request. */
function parametersOf(c: Context): string[] {
  return [...logParameters, "meta_info", ...Object.keys(c.req.query()).filter(isFilterPart)];
}

/** Raw, because the order of the parameters counts (see `parseLogQuery`). */
function searchOf(c: Context): string {
  return new URL(c.req.url).search;
}
