import type { Context, Hono } from "hono";
import type * as v from "valibot";
import { readJson } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import {
  type Collection,
  newRecord,
  type RecordDraft,
  type RecordQuery,
  recordView,
  type StoredRecord,
} from "../account/records/record.ts";
import type { Records } from "../account/records/records.ts";
import type { System } from "../../ports.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { ListPage } from "./list-page.ts";
import { getGateway } from "./manage-gateways.ts";
import {
  flagOf,
  gatewayNameOf,
  guards,
  idOf,
  listAnswer,
  MANAGEMENT_ROOT,
  type GatewayManagementDeps,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";

/** The records of a request's account or gateway, and the parts that their resource uses. */
export interface RecordScope extends GatewayName {
  readonly records: Records;
  readonly system: System;
  readonly deps: GatewayManagementDeps;
}

interface RecordListing {
  /** Members that the parameter `search` looks at. @default none: `search` is not a parameter */
  readonly searchIn?: readonly string[];
  /** Members that are `true` or `false`, each a parameter. @default none */
  readonly flags?: readonly string[];
  /** Members that are texts, each a parameter. @default none */
  readonly texts?: readonly string[];
  /** @default newest first */
  readonly orderBy?: readonly string[];
}

/** A resource that is kept as records: where it is, how a body becomes a record, how a record is shown. */
interface RecordSpec<Create extends v.GenericSchema, Change extends v.GenericSchema> {
  /** Below the management API's root. A path with `:gateway_id` is of a gateway, any other of the account. */
  readonly path: string;
  readonly collection: Collection;
  readonly listing?: RecordListing;
  /** A flag that only one record of a parent can have: setting it takes it from the one before. @default none */
  readonly sole?: string;
  /** Shows a record. @default all of its body */
  readonly view?: (record: StoredRecord, scope: RecordScope) => Record<string, unknown>;
  readonly create: Create;
  readonly draft: (
    body: v.InferOutput<Create>,
    scope: RecordScope,
  ) => Promise<Omit<RecordDraft, "collection">> | Omit<RecordDraft, "collection">;
  /** @default records cannot be changed */
  readonly change?: {
    readonly methods: readonly ("PUT" | "PATCH")[];
    readonly schema: Change;
    readonly apply: (
      old: StoredRecord,
      body: v.InferOutput<Change>,
      scope: RecordScope,
    ) => Promise<RecordContent> | RecordContent;
  };
}

type RecordContent = Pick<StoredRecord, "key" | "body">;

/** A resource's routes, and the schemas of the bodies that they take. */
export interface RecordResource {
  readonly routes: ManagementRoutes;
  readonly create: v.GenericSchema;
  /** The same as `create` where a change gives all of a record, or there is none. */
  readonly change: v.GenericSchema;
}

/** A resource whose records can be listed, created, shown and deleted, and changed where `spec` says how. */
export function recordResource<Create extends v.GenericSchema, Change extends v.GenericSchema>(
  spec: RecordSpec<Create, Change>,
): RecordResource {
  const { create, change } = spec;
  const routes: ManagementRoutes = (app, deps) => register(spec, app, deps);
  return { routes, create, change: change?.schema ?? create };
}

function register<Create extends v.GenericSchema, Change extends v.GenericSchema>(
  spec: RecordSpec<Create, Change>,
  app: Hono,
  deps: GatewayManagementDeps,
): void {
  const { collection, create, change, listing = {}, sole = null } = spec;
  const { view = (record, { gateway }) => recordView(gateway, record) } = spec;
  const { read, edit } = guards(deps.auth);
  const { platform } = deps;
  const path = `${MANAGEMENT_ROOT}${spec.path}`;
  const shown = (record: StoredRecord, scope: RecordScope): Response =>
    envelope(view(record, scope));
  const named = (c: Context, { records }: RecordScope): Promise<StoredRecord> =>
    records.get({ collection, id: idOf(c) });
  app.get(path, read, async (c) => {
    const { page, query } = asked(c, collection, listing);
    const scope = await recordScope(c, deps);
    const { records, total } = await scope.records.list(query, page.offset, page.perPage);
    return listAnswer(
      records.map((record) => view(record, scope)),
      page,
      total,
    );
  });
  app.post(path, edit, async (c) => {
    const body = await readJson(c, create, { platform });
    const scope = await recordScope(c, deps);
    const record = newRecord({ collection, ...(await spec.draft(body, scope)) }, platform.system);
    await scope.records.write({ creates: [record], sole });
    return shown(record, scope);
  });
  app.get(`${path}/:id`, read, async (c) => {
    const scope = await recordScope(c, deps);
    return shown(await named(c, scope), scope);
  });
  app.delete(`${path}/:id`, edit, async (c) => {
    const scope = await recordScope(c, deps);
    const record = await named(c, scope);
    await scope.records.remove(record);
    return shown(record, scope);
  });
  if (change === undefined) return;
  app.on([...change.methods], `${path}/:id`, edit, async (c) => {
    const body = await readJson(c, change.schema, { platform });
    const scope = await recordScope(c, deps);
    const old = await named(c, scope);
    const content = await change.apply(old, body, scope);
    // Strictly later, whatever the clock's grain: cached answers tell versions apart by it.
    const modifiedAt = Math.max(platform.system.now(), old.modifiedAt + 1);
    const record = { ...old, ...content, modifiedAt };
    await scope.records.write({ replaces: [record], sole });
    return shown(record, scope);
  });
}

/** The records that a path means. Throws `not_found` where it names a gateway that there is not. */
export async function recordScope(c: Context, deps: GatewayManagementDeps): Promise<RecordScope> {
  const name = gatewayNameOf(c);
  const isOfGateway = c.req.param("gateway_id") !== undefined;
  if (isOfGateway) await getGateway(name, deps.store);
  const records = isOfGateway ? deps.records.ofGateway(name) : deps.records.ofAccount(name.account);
  return { ...name, records, system: deps.platform.system, deps };
}

/** The page and the records that a listing's parameters ask for. */
function asked(
  c: Context,
  collection: Collection,
  { searchIn, flags = [], texts = [], orderBy }: RecordListing,
): { readonly page: ListPage; readonly query: RecordQuery } {
  const page = pageOfQuery(c, [...texts, ...(searchIn === undefined ? [] : ["search"]), ...flags]);
  const where: Record<string, string | boolean> = {};
  for (const name of flags) {
    const flag = flagOf(c, name);
    if (flag !== undefined) where[name] = flag;
  }
  for (const name of texts) {
    const text = c.req.query(name);
    if (text !== undefined && text !== "") where[name] = text;
  }
  const search = searchIn === undefined ? "" : (c.req.query("search") ?? "").slice(0, 128);
  return { page, query: { collection, search, searchIn, where, orderBy } };
}
