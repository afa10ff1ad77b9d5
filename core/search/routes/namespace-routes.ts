import type { Hono } from "hono";
import * as v from "valibot";
import { readJson } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import type { Plain } from "../../ports.ts";
import { directoryAt } from "../directory/directory.ts";
import { instanceId } from "../state/instance-schema.ts";
import type { NamespaceChanges } from "../directory/namespace-store.ts";
import { accountOf, namespaceOf, pageInfo, pageOf, type RouteContext } from "./route-context.ts";

const changes = {
  description: v.nullish(v.pipe(v.string(), v.maxLength(256))),
  public_endpoint_params: v.nullish(
    v.pipe(
      v.unknown(),
      v.check(
        (value) => value === null,
        "There are no public endpoints; give callers a token with the permission AI Search Run",
      ),
    ),
  ),
};
/** The fields of a namespace that a request may change. */
export interface NamespaceInput {
  readonly description?: string | null | undefined;
  readonly public_endpoint_params?: unknown;
}

/** Body of `POST …/namespaces`. */
export const namespaceCreate: v.GenericSchema<unknown, NamespaceInput & { readonly name: string }> =
  v.object({ name: instanceId, ...changes });
/** Body of `PUT …/namespaces/:name`. */
export const namespaceUpdate: v.GenericSchema<unknown, NamespaceInput> = v.object(changes);

/** Registers the namespaces of an account. */
export function namespaceRoutes(app: Hono, { options, may }: RouteContext): void {
  const root = "/accounts/:account_id/ai-search/namespaces";
  const directory = (account: string): ReturnType<typeof directoryAt> =>
    directoryAt(options.platform, account);
  app.post(root, may("AI Search Edit"), async (c) => {
    const { name, ...rest } = await readJson(c, namespaceCreate, {
      error: "namespace_invalid",
      platform: options.platform,
    });
    return envelope(await directory(accountOf(c)).createNamespace(name, toChanges(rest)));
  });
  app.get(root, may("AI Search Read"), async (c) => {
    const page = pageOf(c, ["search"]);
    const all = await directory(accountOf(c)).namespaces(c.req.query("search") ?? null);
    const shown = all.slice((page.page - 1) * page.perPage, page.page * page.perPage);
    return envelope(shown, { resultInfo: pageInfo(page, shown.length, all.length) });
  });
  app.get(`${root}/:name`, may("AI Search Read"), async (c) =>
    envelope(await directory(accountOf(c)).namespace(namespaceOf(c))),
  );
  app.put(`${root}/:name`, may("AI Search Edit"), async (c) => {
    const body = await readJson(c, namespaceUpdate, { platform: options.platform });
    return envelope(await directory(accountOf(c)).changeNamespace(namespaceOf(c), toChanges(body)));
  });
  app.delete(`${root}/:name`, may("AI Search Edit"), async (c) =>
    envelope(await directory(accountOf(c)).dropNamespace(namespaceOf(c))),
  );
}

/** Parsed JSON is plain data. */
function toChanges(body: NamespaceInput): NamespaceChanges {
  return {
    description: body.description,
    public_endpoint_params: body.public_endpoint_params as Plain,
  };
}
