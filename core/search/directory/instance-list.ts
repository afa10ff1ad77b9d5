import { ApiError } from "../../http/api-error.ts";
import type { ActorContext } from "../../ports.ts";
import { contains } from "../../sql/sql-text.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import { findNamespace } from "./namespace-store.ts";

/** Instances that one account can have. */
const MAX_INSTANCES = 1_000;

/** Which instances a list shows. */
export type InstanceQuery = {
  readonly namespace: string;
  readonly search: string | null;
  readonly direction: "asc" | "desc";
  readonly page: number;
  readonly perPage: number;
};

/** A page of instances, and how many there are in all. */
export type InstancePage = { readonly instances: InstanceSettings[]; readonly total: number };

/** Takes an id; throws 7022 when it is taken, 7013 when the account is full, 7063 without the namespace. */
export async function reserveInstance(
  context: ActorContext,
  settings: InstanceSettings,
): Promise<void> {
  const { name: actor, sql, system } = context;
  const { namespace, id } = settings;
  await findNamespace(context, namespace);
  const [count] = await sql.all("SELECT COUNT(*) AS n FROM search_directory WHERE actor = ?", [
    actor,
  ]);
  if (Number(count?.["n"] ?? 0) >= MAX_INSTANCES) {
    throw new ApiError("max_instances", {
      message: `max_instances_reached: an account has at most ${MAX_INSTANCES}`,
    });
  }
  const [result] = await sql.batch([
    {
      sql: `INSERT INTO search_directory (actor, namespace, id, settings, created_ms) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (actor, namespace, id) DO NOTHING`,
      params: [actor, namespace, id, JSON.stringify(settings), system.now()],
    },
  ]);
  if (result?.changes === 1) return;
  throw new ApiError("name_exists", {
    message: `name_already_exist: instance "${id}" exists in namespace "${namespace}": choose another id, or change it by PUT`,
  });
}

/** Lists an instance that exists, with its settings. */
export async function putInstance(
  { name: actor, sql, system }: ActorContext,
  settings: InstanceSettings,
): Promise<void> {
  const { namespace, id } = settings;
  await sql.batch([
    {
      sql: `INSERT INTO search_directory (actor, namespace, id, settings, created_ms) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (actor, namespace, id) DO UPDATE SET settings = excluded.settings`,
      params: [actor, namespace, id, JSON.stringify(settings), system.now()],
    },
  ]);
}

/** Gives the id of a deleted instance free, unless another one has it by now. */
export async function dropInstance(
  { name: actor, sql }: ActorContext,
  { namespace, id, created_at: createdAt }: InstanceSettings,
): Promise<void> {
  const [row] = await sql.all(
    "SELECT settings FROM search_directory WHERE actor = ? AND namespace = ? AND id = ?",
    [actor, namespace, id],
  );
  if (row === undefined) return;
  const listed = JSON.parse(String(row["settings"])) as InstanceSettings;
  if (listed.created_at !== createdAt) return;
  await sql.batch([
    {
      sql: "DELETE FROM search_directory WHERE actor = ? AND namespace = ? AND id = ?",
      params: [actor, namespace, id],
    },
  ]);
}

/** Returns the instances of a namespace, by the time of their creation; throws 7063. */
export async function listInstances(
  context: ActorContext,
  query: InstanceQuery,
): Promise<InstancePage> {
  const { name: actor, sql } = context;
  await findNamespace(context, query.namespace);
  const search = query.search ?? "";
  const where = `actor = ? AND namespace = ?${search === "" ? "" : ` AND ${contains("id")}`}`;
  const params = [actor, query.namespace, ...(search === "" ? [] : [search])];
  const [count] = await sql.all(
    `SELECT COUNT(*) AS n FROM search_directory WHERE ${where}`,
    params,
  );
  const rows = await sql.all(
    `SELECT settings FROM search_directory WHERE ${where}
      ORDER BY created_ms ${query.direction === "asc" ? "ASC" : "DESC"}, id LIMIT ? OFFSET ?`,
    [...params, query.perPage, (query.page - 1) * query.perPage],
  );
  const instances = rows.map((row) => JSON.parse(String(row["settings"])) as InstanceSettings);
  return { instances, total: Number(count?.["n"] ?? 0) };
}
