import * as v from "valibot";
import { ApiError } from "../../http/api-error.ts";
import { holds } from "../../http/fields/schema-fields.ts";
import type { System } from "../../ports.ts";
import { elementsSchema } from "../routing/dynamic/element.ts";
import { readGraph } from "../routing/dynamic/graph.ts";
import type { ListPage } from "./list-page.ts";
import type { RecordScope } from "./record-resource.ts";
import {
  newRecord,
  recordLimits,
  recordTimes,
  type StoredRecord,
} from "../account/records/record.ts";
import type { Value } from "../../http/json.ts";

/** Bytes of a route's elements as JSON: a listing shows the elements of every route. */
const ELEMENTS_LIMIT = 65_536;

const name = v.pipe(
  v.string(),
  v.regex(
    /^[\w.-](?:[\w. -]{0,62}[\w.-])?$/,
    'expected 1 to 64 letters, digits, "-", "_", "." or, between them, spaces',
  ),
);
export const elementList: v.GenericSchema<unknown, Value> = v.pipe(
  v.custom<Value>((value) => Array.isArray(value), "expected a list of elements"),
  v.check(
    (value) => JSON.stringify(value).length <= ELEMENTS_LIMIT,
    `expected at most ${ELEMENTS_LIMIT} characters as JSON`,
  ),
  holds(elementsSchema),
);

export const routeCreate: v.GenericSchema<unknown, { name: string; elements: Value }> = v.object({
  name,
  elements: elementList,
});
export const routeRename: v.GenericSchema<unknown, { name: string }> = v.object({ name });
export const versionCreate: v.GenericSchema<unknown, { elements: Value }> = v.object({
  elements: elementList,
});
export const deploymentCreate: v.GenericSchema<unknown, { version_id: string }> = v.object({
  version_id: v.pipe(v.string(), v.maxLength(64)),
});

type RouteView = Record<string, unknown>;

/** Creates a route; its first version is deployed at once. Throws `conflict` when its name is taken. */
export async function createRoute(
  body: { readonly name: string; readonly elements: Value },
  scope: RecordScope,
): Promise<RouteView> {
  readGraph(body.elements);
  const { records, system } = scope;
  const id = system.id();
  const version = versionOf(id, body.elements, system);
  const deployment = deploymentOf(id, version.id, system);
  const runs = { name: body.name, ...deployed(version, deployment) };
  const route = newRecord({ collection: "route", id, key: body.name, body: runs }, system);
  await records.write({ creates: [route, version, deployment] });
  return routeView(route, scope);
}

export async function listRoutes(page: ListPage, scope: RecordScope): Promise<RouteView[]> {
  const query = { collection: "route" } as const;
  const { records } = await scope.records.list(query, page.offset, page.perPage);
  return records.map((route) => ({ ...routeView(route, scope), account_tag: scope.account }));
}

/** Shows a route; throws `not_found`. */
export async function getRoute(id: string, scope: RecordScope): Promise<RouteView> {
  return routeView(await scope.records.get({ collection: "route", id }), scope);
}

/** Renames a route; requests name it by its new name from then on. */
export async function renameRoute(
  id: string,
  renamed: string,
  scope: RecordScope,
): Promise<RouteView> {
  const old = await scope.records.get({ collection: "route", id });
  const body = { ...old.body, name: renamed };
  const route = { ...old, key: renamed, body, modifiedAt: scope.system.now() };
  await scope.records.write({ replaces: [route] });
  return { ...routeView(route, scope), account_tag: scope.account };
}

/** Deletes a route with its versions and deployments. */
export async function deleteRoute(id: string, scope: RecordScope): Promise<RouteView> {
  const route = await scope.records.get({ collection: "route", id });
  await scope.records.remove(route);
  return summaryView(route, route.body["elements"], scope);
}

/** Adds a version, which serves nothing until it is deployed. The oldest idle one goes when there are too many. */
export async function createVersion(
  id: string,
  elements: Value,
  scope: RecordScope,
): Promise<RouteView> {
  readGraph(elements);
  const { records, system } = scope;
  const route = await records.get({ collection: "route", id });
  const version = versionOf(id, elements, system);
  const versions = await records.group("version", id);
  const idle = versions.filter((one) => one.id !== activeVersion(route));
  const removes = versions.length >= recordLimits.version - 1 ? idle.slice(0, 1) : [];
  await records.write({ creates: [version], removes });
  return { ...summaryView(route, elements, scope), ...versionView(version, route) };
}

/** Shows a version of a route; throws `not_found`. */
export async function getVersion(
  id: string,
  versionId: string,
  scope: RecordScope,
): Promise<RouteView> {
  const route = await scope.records.get({ collection: "route", id });
  const version = await versionFor(route, versionId, scope);
  const elements = version.body["elements"];
  return { ...summaryView(route, elements, scope), ...versionView(version, route) };
}

/** Deploys a version: the route runs it from then on. */
export async function createDeployment(
  id: string,
  versionId: string,
  scope: RecordScope,
): Promise<RouteView> {
  const { records, system } = scope;
  const route = await records.get({ collection: "route", id });
  const version = await versionFor(route, versionId, scope);
  const deployment = deploymentOf(id, version.id, system);
  const former = await records.group("deployment", id);
  const removes = former.length >= recordLimits.deployment - 1 ? former.slice(0, 1) : [];
  const body = { ...route.body, ...deployed(version, deployment) };
  const changed = { ...route, body, modifiedAt: system.now() };
  await records.write({ creates: [deployment], replaces: [changed], removes });
  return routeView(changed, scope);
}

/** Lists the versions or deployments of a route, newest first. */
export async function listOfRoute(
  id: string,
  collection: "version" | "deployment",
  page: ListPage,
  scope: RecordScope,
): Promise<RouteView[]> {
  const route = await scope.records.get({ collection: "route", id });
  const query = { collection, parent: id };
  const { records } = await scope.records.list(query, page.offset, page.perPage);
  return records.map((one) =>
    collection === "version" ? versionView(one, route) : deploymentView(one),
  );
}

async function versionFor(
  route: StoredRecord,
  id: string,
  scope: RecordScope,
): Promise<StoredRecord> {
  const version = await scope.records.get({ collection: "version", id });
  if (version.parent === route.id) return version;
  throw new ApiError("not_found", { message: `This route has no version "${id.slice(0, 64)}"` });
}

function versionOf(route: string, elements: Value, system: System): StoredRecord {
  return newRecord({ collection: "version", parent: route, body: { elements } }, system);
}

function deploymentOf(route: string, version: string, system: System): StoredRecord {
  const body = { version_id: version };
  return newRecord({ collection: "deployment", parent: route, body }, system);
}

/** The members of a route that say what runs: a copy, so that a request reads one record. */
function deployed(version: StoredRecord, deployment: StoredRecord): { [member: string]: Value } {
  return {
    elements: version.body["elements"],
    deployment: deploymentView(deployment) as { [member: string]: Value },
    version_created_at: isoTime(version.createdAt),
  };
}

function activeVersion({ body }: StoredRecord): Value {
  return (body["deployment"] as { readonly version_id: string }).version_id;
}

function summaryView(route: StoredRecord, elements: Value, { gateway }: RecordScope): RouteView {
  return {
    id: route.id,
    name: route.key,
    gateway_id: gateway,
    elements,
    ...recordTimes(route),
  };
}

function routeView(route: StoredRecord, scope: RecordScope): RouteView {
  const { elements, deployment, version_created_at: createdAt } = route.body;
  const version = {
    version_id: activeVersion(route),
    active: "true",
    created_at: createdAt,
    data: JSON.stringify(elements),
    is_valid: true,
  };
  return { ...summaryView(route, elements, scope), deployment, version };
}

/** `active` is a text: so the official client declares it. */
function versionView(version: StoredRecord, route: StoredRecord): RouteView {
  return {
    version_id: version.id,
    active: String(activeVersion(route) === version.id),
    created_at: isoTime(version.createdAt),
    data: JSON.stringify(version.body["elements"]),
    is_valid: true,
  };
}

function deploymentView({ id, body, createdAt }: StoredRecord): RouteView {
  return { deployment_id: id, version_id: body["version_id"], created_at: isoTime(createdAt) };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
