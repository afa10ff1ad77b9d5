import type { Context } from "hono";
import { readJson } from "../../http/fields/body.ts";
import { envelope, json } from "../../http/envelope.ts";
import type { ListPage } from "./list-page.ts";
import { guards, idOf, MANAGEMENT_ROOT, type ManagementRoutes, pageOfQuery } from "./context.ts";
import { recordScope, type RecordScope } from "./record-resource.ts";
import * as routes from "./dynamic-route.ts";

/** Dynamic routes with their versions and deployments: `…/gateways/{id}/routes`. */
export const dynamicRouteRoutes: ManagementRoutes = (app, deps) => {
  const { read, edit } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/gateways/:gateway_id/routes`;
  const own = (c: Context): Promise<RecordScope> => recordScope(c, deps);
  app.get(path, read, async (c) => {
    const page = pageOfQuery(c);
    return listing("routes", await routes.listRoutes(page, await own(c)), page);
  });
  app.post(path, edit, async (c) => {
    const body = await readJson(c, routes.routeCreate, { platform: deps.platform });
    return envelope(await routes.createRoute(body, await own(c)));
  });
  app.get(`${path}/:id`, read, async (c) => envelope(await routes.getRoute(idOf(c), await own(c))));
  app.patch(`${path}/:id`, edit, async (c) => {
    const { name } = await readJson(c, routes.routeRename, { platform: deps.platform });
    const route = await routes.renameRoute(idOf(c), name, await own(c));
    return json({ success: true, route, errors: [], messages: [] });
  });
  app.delete(`${path}/:id`, edit, async (c) =>
    envelope(await routes.deleteRoute(idOf(c), await own(c))),
  );
  app.post(`${path}/:id/versions`, edit, async (c) => {
    const { elements } = await readJson(c, routes.versionCreate, { platform: deps.platform });
    return envelope(await routes.createVersion(idOf(c), elements, await own(c)));
  });
  app.get(`${path}/:id/versions/:version_id`, read, async (c) =>
    envelope(await routes.getVersion(idOf(c), c.req.param("version_id"), await own(c))),
  );
  app.post(`${path}/:id/deployments`, edit, async (c) => {
    const body = await readJson(c, routes.deploymentCreate, { platform: deps.platform });
    return envelope(await routes.createDeployment(idOf(c), body.version_id, await own(c)));
  });
  for (const kind of ["version", "deployment"] as const) {
    app.get(`${path}/:id/${kind}s`, read, async (c) => {
      const page = pageOfQuery(c);
      return listing(`${kind}s`, await routes.listOfRoute(idOf(c), kind, page, await own(c)), page);
    });
  }
};

/** The listings of this resource carry `data` instead of `result`: the client does not unwrap them. */
function listing(member: string, items: readonly unknown[], page: ListPage): Response {
  const paging = { page: page.page, per_page: page.perPage };
  const order = { order_by: "created_at", order_by_direction: "desc" };
  return json({
    success: true,
    data: { [member]: items, ...paging, ...order },
    errors: [],
    messages: [],
  });
}
