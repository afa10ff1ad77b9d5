import type { Context } from "hono";
import * as v from "valibot";
import { authorize, authorizeAgain, type Auth } from "../../auth/authorize.ts";
import type { Permission } from "../../auth/permissions.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Platform } from "../../ports.ts";
import { didYouMean } from "../../text/nearest.ts";
import { directoryAt } from "../directory/directory.ts";
import { parse } from "../../http/fields/body.ts";
import { checkQuery } from "../../http/fields/query.ts";
import { type Instance, type InstanceAddress, instanceAt } from "../actor/instance-client.ts";
import { instanceId } from "../state/instance-schema.ts";
import { DEFAULT_NAMESPACE } from "../directory/namespace-store.ts";
import type { SearchOptions } from "../models/search-deps.ts";

/** Dependencies that the route files of this folder share. */
export interface RouteContext {
  readonly options: SearchOptions;
  /** The guard of one route. */
  readonly may: (permission: Permission) => ReturnType<typeof authorize>;
  /** Asks the same again for an answer that lasts; throws 401 or 403. */
  readonly mayStill: (permission: Permission, c: Context) => Promise<void>;
  /** The instance that a path names; its methods throw 7002 when it does not exist. */
  readonly instance: (c: Context) => Instance;
}

/** The paths of an instance's collection: with a namespace, and the older form that means `default`. */
export const instanceRoots: readonly string[] = [
  "/accounts/:account_id/ai-search/instances",
  "/accounts/:account_id/ai-search/namespaces/:name/instances",
];

export function routeContext(options: SearchOptions, auth: Auth): RouteContext {
  return {
    options,
    may: (permission) => authorize(auth, permission),
    mayStill: (permission, c) => authorizeAgain(auth, permission, c),
    instance: (c) => instanceAt(options.platform, address(c)),
  };
}

/** Returns the account of a path, whose form {@link authorize} has checked. */
export function accountOf(c: Context): string {
  return c.req.param("account_id") ?? "";
}

/** Returns the namespace of a path; throws 7063 for an invalid name. */
export function namespaceOf(c: Context): string {
  const name = c.req.param("name") ?? DEFAULT_NAMESPACE;
  checkNamespace(name);
  return name;
}

/** Throws 7063 for a name that no namespace can have. */
export function checkNamespace(name: string): void {
  if (v.safeParse(instanceId, name).success) return;
  throw new ApiError("namespace_not_found", {
    message: `namespace_not_found: "${name.slice(0, 64)}"`,
  });
}

function address(c: Context): InstanceAddress {
  const id = c.req.param("id") ?? "";
  checkInstanceId(id);
  return { account: accountOf(c), namespace: namespaceOf(c), id };
}

/** Throws 7002 for an id that no instance can have. */
export function checkInstanceId(id: string): void {
  if (v.safeParse(instanceId, id).success) return;
  throw new ApiError("instance_not_found", {
    message: `ai_search_not_found: no instance "${id.slice(0, 64)}"`,
  });
}

/** Instances among which a near id is looked for. */
const NEAR = 200;

/** Returns the error for an instance that does not exist with the near id of another one; others as they are. */
export async function withNearInstance(
  error: unknown,
  c: Context,
  platform: Platform,
): Promise<unknown> {
  if (!(error instanceof ApiError) || error.kind !== "instance_not_found") return error;
  const query = { namespace: namespaceOf(c), search: null, direction: "desc" as const };
  try {
    const directory = directoryAt(platform, accountOf(c));
    const { instances } = await directory.list({ ...query, page: 1, perPage: NEAR });
    const ids = instances.map(({ id }) => id);
    const hint = didYouMean((c.req.param("id") ?? "").slice(0, 64), ids);
    const help = hint || ": make it by POST /accounts/{account_id}/ai-search/instances";
    return new ApiError(error.kind, { ...error.options, message: error.message + help });
  } catch {
    return error;
  }
}

const whole = (fallback: number, min: number, max: number) =>
  v.pipe(
    v.optional(v.string(), String(fallback)),
    v.digits(`expected a whole number from ${min} to ${max}`),
    v.transform(Number),
    v.minValue(min),
    v.maxValue(max),
  );

const pageSchema = v.object({ page: whole(1, 1, 1_000_000), per_page: whole(20, 1, 100) });

/** A page of a list. */
export interface PageQuery {
  readonly page: number;
  readonly perPage: number;
}

/** Returns the page that a query asks for, which has no other parameters than `others`. */
export function pageOf(c: Context, others: readonly string[] = []): PageQuery {
  checkQuery(c, [...Object.keys(pageSchema.entries), ...others]);
  const { page, per_page: perPage } = parse(pageSchema, c.req.query());
  return { page, perPage };
}

/** The bounds of a number in a query string, and its value without one. */
export interface NumberBounds {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

/** Reads a whole number of the query, within bounds. */
export function numberOf(c: Context, name: string, { fallback, min, max }: NumberBounds): number {
  return parse(v.object({ [name]: whole(fallback, min, max) }), c.req.query())[name] ?? fallback;
}

/** Returns the `result_info` of a page. */
export function pageInfo(
  { page, perPage }: PageQuery,
  count: number,
  total: number,
): Readonly<Record<string, number>> {
  return {
    page,
    per_page: perPage,
    count,
    total_count: total,
    total_pages: Math.ceil(total / perPage),
  };
}
