import { ApiError } from "../../http/api-error.ts";
import { formatInstant } from "../../http/fields/instant.ts";
import type { ActorContext, Plain, SqlRow } from "../../ports.ts";

const MAX_NAMESPACES = 100;

/** The namespace that every account has; the paths without one mean it. */
export const DEFAULT_NAMESPACE: string = "default";

/** A namespace as the API shows it. */
export type Namespace = {
  readonly name: string;
  readonly created_at: string | null;
  readonly description: string | null;
  readonly public_endpoint_id: null;
  readonly public_endpoint_params: Plain;
};

/** The fields of a namespace that a client may change. */
export type NamespaceChanges = {
  readonly description?: string | null | undefined;
  readonly public_endpoint_params?: Plain;
};

/** One namespace; throws 7063. `default` is there without a row. */
export async function findNamespace(
  { name: actor, sql }: ActorContext,
  name: string,
): Promise<Namespace> {
  const [row] = await sql.all("SELECT * FROM search_namespaces WHERE actor = ? AND name = ?", [
    actor,
    name,
  ]);
  if (row !== undefined) return toNamespace(row);
  if (name === DEFAULT_NAMESPACE) return emptyNamespace(name, null);
  throw new ApiError("namespace_not_found", {
    message: `namespace_not_found: "${name.slice(0, 64)}"`,
  });
}

/** Lists all namespaces whose name or description holds `search`, `default` first. */
export async function listNamespaces(
  { name: actor, sql }: ActorContext,
  search: string | null,
): Promise<Namespace[]> {
  const rows = await sql.all(
    "SELECT * FROM search_namespaces WHERE actor = ? ORDER BY created_ms, name",
    [actor],
  );
  const stored = rows.map(toNamespace);
  const implied = stored.some((one) => one.name === DEFAULT_NAMESPACE)
    ? []
    : [emptyNamespace(DEFAULT_NAMESPACE, null)];
  const wanted = search?.toLowerCase() ?? "";
  return [...implied, ...stored].filter((one) =>
    `${one.name}\n${one.description ?? ""}`.toLowerCase().includes(wanted),
  );
}

/** Creates a namespace; throws 7064 when it exists and 7065 when there are too many. */
export async function createNamespace(
  context: ActorContext,
  name: string,
  changes: NamespaceChanges,
): Promise<Namespace> {
  const { name: actor, sql, system } = context;
  const rows = await sql.all("SELECT name FROM search_namespaces WHERE actor = ?", [actor]);
  if (name === DEFAULT_NAMESPACE || rows.some((row) => row["name"] === name)) {
    throw new ApiError("namespace_exists", { message: `namespace_already_exist: "${name}"` });
  }
  if (rows.length >= MAX_NAMESPACES) {
    throw new ApiError("namespace_invalid", {
      message: `namespace_invalid: an account has at most ${MAX_NAMESPACES} namespaces`,
    });
  }
  return store(context, changed(emptyNamespace(name, formatInstant(system.now())), changes));
}

/** Changes a namespace; throws 7063. */
export async function changeNamespace(
  context: ActorContext,
  name: string,
  changes: NamespaceChanges,
): Promise<Namespace> {
  return store(context, changed(await findNamespace(context, name), changes));
}

/** Deletes a namespace; throws 7066 while it holds instances, and for `default`. */
export async function dropNamespace(context: ActorContext, name: string): Promise<Namespace> {
  const { name: actor, sql } = context;
  const namespace = await findNamespace(context, name);
  const [used] = await sql.all(
    "SELECT COUNT(*) AS n FROM search_directory WHERE actor = ? AND namespace = ?",
    [actor, name],
  );
  if (name === DEFAULT_NAMESPACE || Number(used?.["n"] ?? 0) > 0) {
    const why =
      name === DEFAULT_NAMESPACE ? "the default namespace stays" : "delete its instances first";
    throw new ApiError("namespace_in_use", { message: `namespace_in_use: ${why}` });
  }
  await sql.batch([
    { sql: "DELETE FROM search_namespaces WHERE actor = ? AND name = ?", params: [actor, name] },
  ]);
  return namespace;
}

async function store(
  { name: actor, sql, system }: ActorContext,
  namespace: Namespace,
): Promise<Namespace> {
  await sql.batch([
    {
      sql: `INSERT INTO search_namespaces (actor, name, record, created_ms) VALUES (?, ?, ?, ?)
        ON CONFLICT (actor, name) DO UPDATE SET record = excluded.record`,
      params: [actor, namespace.name, JSON.stringify(namespace), system.now()],
    },
  ]);
  return namespace;
}

function toNamespace(row: SqlRow): Namespace {
  return JSON.parse(String(row["record"])) as Namespace;
}

function emptyNamespace(name: string, createdAt: string | null): Namespace {
  return {
    name,
    created_at: createdAt,
    description: null,
    public_endpoint_id: null,
    public_endpoint_params: null,
  };
}

function changed(
  old: Namespace,
  { description, public_endpoint_params: endpoint }: NamespaceChanges,
): Namespace {
  return {
    ...old,
    ...(description === undefined ? {} : { description }),
    ...(endpoint === undefined ? {} : { public_endpoint_params: endpoint }),
  };
}
