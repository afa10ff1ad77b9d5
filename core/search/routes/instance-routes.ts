import type { Hono } from "hono";
import * as v from "valibot";
import { parse, readJson } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import { createInstance, deleteInstance, updateInstance } from "./manage-instances.ts";
import { directoryAt } from "../directory/directory.ts";
import { createSchema, updateSchema } from "../state/instance-schema.ts";
import { shownSettings } from "../state/instance-settings.ts";
import {
  accountOf,
  instanceRoots,
  namespaceOf,
  pageInfo,
  pageOf,
  type RouteContext,
} from "./route-context.ts";
import { modelNames } from "../models/models.ts";

const listSchema = v.object({
  namespace: v.optional(v.string()),
  search: v.optional(v.pipe(v.string(), v.maxLength(64))),
  order_by: v.optional(v.literal("created_at")),
  order_by_direction: v.optional(v.picklist(["asc", "desc"]), "desc"),
});

/** Registers creating, reading, changing, listing and deleting instances, and their statistics. */
export function instanceRoutes(app: Hono, { options, may, instance }: RouteContext): void {
  const names = modelNames(options);
  for (const root of instanceRoots) {
    app.post(root, may("AI Search Edit"), async (c) => {
      const body = await readJson(c, createSchema, { platform: options.platform });
      const settings = await createInstance(accountOf(c), namespaceOf(c), body, options);
      return envelope(shownSettings(settings, names));
    });
    app.get(root, may("AI Search Read"), async (c) => {
      const page = pageOf(c, Object.keys(listSchema.entries));
      const query = parse(listSchema, c.req.query());
      const namespace =
        c.req.param("name") === undefined ? (query.namespace ?? namespaceOf(c)) : namespaceOf(c);
      const { instances, total } = await directoryAt(options.platform, accountOf(c)).list({
        ...page,
        namespace,
        search: query.search ?? null,
        direction: query.order_by_direction,
      });
      const shown = instances.map((one) => shownSettings(one, names));
      return envelope(shown, { resultInfo: pageInfo(page, shown.length, total) });
    });
    app.get(`${root}/:id`, may("AI Search Read"), async (c) =>
      envelope(shownSettings(await instance(c).read(), names)),
    );
    app.put(`${root}/:id`, may("AI Search Edit"), async (c) => {
      const changes = await readJson(c, updateSchema, { platform: options.platform });
      return envelope(
        shownSettings(await updateInstance(accountOf(c), instance(c), changes, options), names),
      );
    });
    app.delete(`${root}/:id`, may("AI Search Edit"), async (c) =>
      envelope(shownSettings(await deleteInstance(accountOf(c), instance(c), options), names)),
    );
    app.get(`${root}/:id/stats`, may("AI Search Read"), async (c) =>
      envelope(await instance(c).stats()),
    );
  }
}
