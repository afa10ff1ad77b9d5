import type { ActorContext, ActorKind, SqlValue } from "../../../ports.ts";
import { contains } from "../../../sql/sql-text.ts";
import type { GatewaySettings } from "../settings/settings.ts";

/** A page of an account's gateways with the count of all that fit. */
export type GatewayPage = { gateways: GatewaySettings[]; total: number };

export interface AccountMethods {
  put(settings: GatewaySettings): Promise<void>;
  remove(id: string): Promise<void>;
  /** Gateways whose id contains `search`, by id. */
  list(search: string, offset: number, limit: number): Promise<GatewayPage>;
}

/**
 * The gateways of one account, named by the account: a copy of the settings that each gateway's own
 * actor holds, so that a listing asks one actor.
 */
export const accountActor: ActorKind = {
  name: "gateway-account",
  schema: [
    `CREATE TABLE gateway_index (
      actor TEXT NOT NULL, id TEXT NOT NULL, settings TEXT NOT NULL, PRIMARY KEY (actor, id))`,
  ],
  start: (context) => ({ methods: { ...accountMethods(context) } }),
};

function accountMethods({ name: actor, sql }: ActorContext): AccountMethods {
  return {
    async put(settings) {
      await sql.batch([
        {
          sql: `INSERT INTO gateway_index (actor, id, settings) VALUES (?, ?, ?)
                ON CONFLICT (actor, id) DO UPDATE SET settings = excluded.settings`,
          params: [actor, settings.id, JSON.stringify(settings)],
        },
      ]);
    },
    async remove(id) {
      await sql.batch([
        { sql: "DELETE FROM gateway_index WHERE actor = ? AND id = ?", params: [actor, id] },
      ]);
    },
    async list(search, offset, limit) {
      const where = search === "" ? "actor = ?" : `actor = ? AND ${contains("id")}`;
      const params: SqlValue[] = search === "" ? [actor] : [actor, search];
      const rows = await sql.all(
        `SELECT settings FROM gateway_index WHERE ${where} ORDER BY id LIMIT ? OFFSET ?`,
        [...params, limit, offset],
      );
      const gateways = rows.map((row) => JSON.parse(String(row["settings"])) as GatewaySettings);
      // A page with room left is the last one and says how many there are; most accounts have one page.
      const isLast = rows.length < limit && (rows.length > 0 || offset === 0);
      if (isLast) return { gateways, total: offset + rows.length };
      const [total] = await sql.all(
        `SELECT COUNT(*) AS n FROM gateway_index WHERE ${where}`,
        params,
      );
      return { gateways, total: Number(total?.["n"] ?? 0) };
    },
  };
}
