import type { Sql } from "../../../core/ports.ts";

/** Returns the secret in the database; the first node makes it. */
export async function clusterSecret(sql: Pick<Sql, "batch">): Promise<string> {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const made = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const [, kept] = await sql.batch([
    {
      sql: "INSERT INTO causey_cluster (id, secret) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
      params: [made],
    },
    { sql: "SELECT secret FROM causey_cluster WHERE id = 1" },
  ]);
  return String(kept?.rows[0]?.["secret"]);
}
